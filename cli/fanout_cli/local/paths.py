"""Where the parts of the local run are."""

from __future__ import annotations

import os
import re
import shlex
import stat
from dataclasses import dataclass
from pathlib import Path

from fanout_cli.local.checkout import find_checkout, is_unpacked
from fanout_cli.local.errors import LocalRunError

MOUNT_NAME = re.compile("[a-z][a-z0-9-]{0,31}")


def default_state(root: Path) -> Path:
    """Where a local stack keeps runs, buckets and mounts: in the checkout; of an installed wheel the user's state.

    A cache, where the wheel is unpacked, may be emptied at any time.
    """
    if not is_unpacked(root):
        return root / ".fanout"
    above = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local/state"
    return Path(above) / "fanout-transfer"


@dataclass(frozen=True)
class LocalPaths:
    """The checkout that is deployed, and the directory that holds everything the local run leaves behind."""

    repo: Path
    state: Path

    @classmethod
    def find(cls, repo: Path | None = None, state: Path | None = None) -> LocalPaths:
        """Take this file's checkout (``find_checkout``) and ``default_state``, unless others are given."""
        root = repo.resolve() if repo is not None else find_checkout()
        if not (root / "template.yaml").is_file():
            raise LocalRunError(f"{root} holds no template.yaml: name a checkout of the project")
        return cls(root, (state or default_state(root)).resolve())

    @property
    def samconfig(self) -> Path:
        """The parameters of stacks: in the checkout; of an installed wheel, in the working directory."""
        return (Path.cwd() if is_unpacked(self.repo) else self.repo) / "samconfig.toml"

    @property
    def template(self) -> Path:
        """The template that AWS would get."""
        return self.repo / "template.yaml"

    @property
    def functions(self) -> Path:
        """One folder a function."""
        return self.repo / "functions"

    @property
    def lock(self) -> Path:
        """Held while an emulator uses the state."""
        return self.state / "lock"

    @property
    def build(self) -> Path:
        """Output of ``sam build``."""
        return self.state / "build"

    @property
    def layer(self) -> Path:
        """The layer as built, which the workers import from."""
        return self.build / "CoreLayer" / "python"

    @property
    def deployed(self) -> Path:
        """The record of the stack in the emulator's saved state."""
        return self.state / "deployed.json"

    @property
    def emulator(self) -> Path:
        """The emulator's own state: resources, objects, temporary files, log."""
        return self.state / "emulator"

    @property
    def objects(self) -> Path:
        """The emulator's S3: a directory an account, in it one a bucket."""
        return self.emulator / "s3"

    @property
    def temporary(self) -> Path:
        """Temporary files of emulator and workers; emptied at every start."""
        return self.emulator / "tmp"

    @property
    def worker(self) -> Path:
        """The script that starts a worker; written at every start."""
        return self.state / "worker" / "start"

    @property
    def trusted(self) -> Path:
        """The certificates of the authorities that the functions trust; written at every start."""
        return self.state / "worker" / "trusted.pem"

    @property
    def up(self) -> Path:
        """The record of the local stack while ``fanout up`` keeps it running."""
        return self.state / "up.json"

    @property
    def access(self) -> Path:
        """The file that a shell sources to reach the local stack; there while it runs, and only for its owner."""
        return self.state / "aws.env"

    def keep_private(self) -> None:
        """Make the state, and let no other user into it: it holds keys, and code that runs.

        Raises ``LocalRunError`` for a directory that is another's, or that others write to: it is not this one's alone.
        """
        self.state.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = self.state.stat()
        if found.st_uid != os.geteuid():
            raise LocalRunError(f"{self.state} belongs to another user; name another directory with --state")
        if found.st_mode & stat.S_IWOTH and any(self.state.iterdir()):
            raise LocalRunError(f"every user may write to {self.state}; name another directory with --state")
        for one in self.state.iterdir():  # a group may have been let in
            if one.lstat().st_uid != found.st_uid:
                raise LocalRunError(f"{one} belongs to another user; name another directory with --state")
        if found.st_mode & _OTHERS:  # nobody else can have entered a closed one
            self._refuse_written_by_others()
        self.state.chmod(0o700)

    def _refuse_written_by_others(self) -> None:
        """Raise ``LocalRunError`` for what others may have written in the state, with the command that ends that."""
        open_below = [one for one in sorted(self.state.iterdir()) if _may_hold_what_others_wrote(one)]
        commands = [f"chmod -R go-w {shlex.join(map(str, open_below))}"] if open_below else []
        if self.state.stat().st_mode & _WRITE and any(self.state.iterdir()):
            commands.insert(0, f"chmod go-w {shlex.quote(str(self.state))}")
        if commands:
            problem = f"others than you may write to {self.state}, or to what is in it, and code in it runs as you"
            remedy = (
                f"remove it with `rm -r {shlex.quote(str(self.state))}`, or if you trust them: {' && '.join(commands)}"
            )
            raise LocalRunError(f"{problem}; {remedy}")

    def log(self, name: str) -> Path:
        """The log of a tool."""
        return self.state / "logs" / f"{name}.log"


_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_WRITE = stat.S_IWGRP | stat.S_IWOTH


def _may_hold_what_others_wrote(path: Path) -> bool:
    """Whether others may write to a file or a directory, or to anything in it; a file without a byte aside."""
    if _is_open(path):
        return True
    walk = os.walk(path) if path.is_dir() and not path.is_symlink() else ()
    return any(_is_open(Path(above, name)) for above, below, names in walk for name in (*below, *names))


def _is_open(path: Path) -> bool:
    found = path.lstat()
    is_empty = stat.S_ISREG(found.st_mode) and not found.st_size
    return bool(found.st_mode & _WRITE) and not stat.S_ISLNK(found.st_mode) and not is_empty
