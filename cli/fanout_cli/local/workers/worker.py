"""How a worker starts: AWS's own runtime client, with the mounts at the paths they have in Lambda."""

from __future__ import annotations

import io
import json
import os
import shlex
import shutil
import subprocess
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from fanout.runtime.settings import DataEndpoint
from fanout_cli.local.paths import LocalPaths
from fanout_cli.local.serving.peers import is_told

MOUNT_ROOT = "/mnt"
TEMPORARY = "/tmp"
# https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html
DESCRIPTORS = 1_024
TEMPORARY_BYTES = 512 * 1024 * 1024
DEVICES = ("full", "null", "random", "urandom", "zero")
SIZE = "SIZE-OF-TMP"
PROBE_SECONDS = 20
ZIP_TIME = (1980, 1, 1, 0, 0, 0)


class SeenMount(Enum):
    """Which mount a worker sees: as in Lambda the first, the second, or none."""

    FIRST = "first"
    SECOND = "second"
    NONE = "none"

    def seen_of(self, mounts: Mapping[str, Path]) -> dict[str, Path]:
        """The mounts that such a worker sees."""
        places = {SeenMount.FIRST: slice(0, 1), SeenMount.SECOND: slice(1, 2), SeenMount.NONE: slice(0, 0)}
        return dict(list(mounts.items())[places[self]])


def function_zip(folder: Path, start: Path, side: SeenMount) -> bytes:
    """A function's folder, with a bootstrap that runs ``start``; the same input makes the same bytes.

    The script itself stays outside, so that mounts change without another deployment.
    """
    files = {p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*.py"))}
    files["bootstrap"] = f"#!/bin/sh\nexec /bin/sh {shlex.quote(str(start))} {side.value}\n".encode()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            info = zipfile.ZipInfo(name, ZIP_TIME)
            info.external_attr = (0o755 if name == "bootstrap" else 0o644) << 16
            archive.writestr(info, content)
    return buffer.getvalue()


@dataclass(frozen=True)
class Isolation:
    """The limits of the workers of this machine."""

    mounted: bool
    """Whether they see the mounts under /mnt, and everything else but /tmp read-only."""
    unenforced: tuple[str, ...] = ()
    """Limits of a function that do not hold here, and why."""


def write_start(
    paths: LocalPaths, python: Path, mounts: Mapping[str, Path], data: DataEndpoint | None = None
) -> Isolation:
    """Write the script that starts a worker of a side.

    A worker knows the paths of the mounts that it sees; one that sees none knows the names of all.
    """
    sandbox = _choose_sandbox(paths, python)
    exports = {
        "PYTHONPATH": str(paths.layer),
        "TMPDIR": TEMPORARY if sandbox else str(paths.temporary),
        # A directory is the file system here: there is nothing to measure, and the forecast says what it assumes.
        "FANOUT_FILE_SYSTEMS": "{}",
        # There is no X-Ray daemon here, and its client is the slowest import of all.
    }
    if data is not None:
        exports["FANOUT_DATA_ENDPOINT_URL"] = data.url
        exports["FANOUT_DATA_ACCESS_KEY_ID"] = data.access_key_id
        exports["FANOUT_DATA_SECRET_ACCESS_KEY"] = data.secret_access_key
    lines = [f"export {name}={shlex.quote(value)}" for name, value in exports.items()]
    # The emulator's own files are for its user alone; a function's umask is Lambda's.
    lines.append("umask 022")
    lines += [f"ulimit -n {DESCRIPTORS}", 'case "$1" in']
    for side in SeenMount:
        seen = side.seen_of(mounts)
        known = {name: f"{MOUNT_ROOT}/{name}" if sandbox else str(path) for name, path in (seen or mounts).items()}
        known = {} if side is SeenMount.SECOND and not seen else known
        prefix = sandbox.command(seen) if sandbox else ""
        lines.append(f"{side.value}) export FANOUT_MOUNTS={shlex.quote(json.dumps(known))}")
        lines.append(f'exec {prefix} {shlex.quote(str(python))} -m awslambdaric "$_HANDLER" ;;')
    lines.append("esac")
    paths.worker.parent.mkdir(parents=True, exist_ok=True)
    # It may hold a secret, so no other user may read it, from the first byte on.
    paths.worker.unlink(missing_ok=True)
    descriptor = os.open(paths.worker, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as script:
        script.write("\n".join(lines) + "\n")
    return Isolation(sandbox is not None, tuple(_unenforced(sandbox)))


@dataclass(frozen=True)
class _Sandbox:
    """The command of bubblewrap: all is read-only but for the mounts and a /tmp of the function's size."""

    program: str
    sized: bool
    """Whether this bubblewrap can limit the size of /tmp."""
    needed: tuple[Path, ...]
    """Directories that a worker reads, some of which may lie below /tmp."""

    def command(self, mounts: Mapping[str, Path]) -> str:
        """As words of a shell, which fills in the size of /tmp."""
        words = [self.program, "--ro-bind", "/", "/", "--proc", "/proc", "--unshare-pid"]
        # Lambda has no /dev/shm, and the /dev that bubblewrap makes by itself has one.
        words += ["--tmpfs", "/dev"]
        for device in DEVICES:
            words += ["--dev-bind", f"/dev/{device}", f"/dev/{device}"]
        words += ["--symlink", "/proc/self/fd", "/dev/fd", "--remount-ro", "/dev"]
        if self.sized:
            words += ["--size", SIZE]
        words += ["--perms", "1777", "--tmpfs", TEMPORARY]
        for directory in self.needed:
            if Path(TEMPORARY) in directory.parents:
                words += ["--ro-bind", str(directory), str(directory)]
        words += ["--tmpfs", MOUNT_ROOT]
        for name, directory in mounts.items():
            words += ["--bind", str(directory), f"{MOUNT_ROOT}/{name}"]
        words += ["--remount-ro", MOUNT_ROOT, "--unsetenv", "FANOUT_LOCAL_TMP_BYTES"]
        # Root could raise its limits and mount what is read-only.
        words += ["--cap-drop", "CAP_SYS_RESOURCE", "--cap-drop", "CAP_SYS_ADMIN"]
        # A worker that overruns its time is ended through bwrap, and must not outlive it.
        words += ["--die-with-parent", "--"]
        return shlex.join(words).replace(SIZE, f"${{FANOUT_LOCAL_TMP_BYTES:-{TEMPORARY_BYTES}}}")


def _choose_sandbox(paths: LocalPaths, python: Path) -> _Sandbox | None:
    """The strictest that works here."""
    program = shutil.which("bwrap")
    if program is None:
        return None
    paths.state.mkdir(parents=True, exist_ok=True)
    needed = (python.parents[1], python.resolve().parents[1], paths.state)
    candidates = [_Sandbox(program, sized, needed) for sized in (True, False)]
    runs = f"{shlex.quote(str(python))} -c 'import awslambdaric'"
    return next((one for one in candidates if _works(["/bin/sh", "-c", f"{one.command({})} {runs}"])), None)


def _unenforced(sandbox: _Sandbox | None) -> Iterator[str]:
    if sandbox is None:
        yield "file system read-only but for /tmp, size of /tmp, no /dev/shm (bubblewrap is missing or may not run)"
    elif not sandbox.sized:
        yield "size of /tmp (bubblewrap is older than 0.7)"
    if not is_told():
        yield "other users of this machine reach the stack's port (no sock_diag); only its keys keep them out"
    if not Path("/proc/self/task").is_dir():
        yield "memory, number of processes (this machine has no /proc)"


def _works(command: list[str]) -> bool:
    try:
        result = subprocess.run(command, capture_output=True, timeout=PROBE_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return result.returncode == 0
