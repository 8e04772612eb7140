"""Where the parts of the local run are."""

from __future__ import annotations

import os
import re
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
        self.state.chmod(0o700)

    def log(self, name: str) -> Path:
        """The log of a tool."""
        return self.state / "logs" / f"{name}.log"
