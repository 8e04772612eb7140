"""How a worker starts: AWS's own runtime client, with the mounts at the paths they have in Lambda."""

from __future__ import annotations

import io
import json
import os
import shlex
import shutil
import subprocess
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from fanout_cli.local.paths import LocalPaths

MOUNT_ROOT = "/mnt"
PROBE_SECONDS = 20
ZIP_TIME = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True)
class DataEndpoint:
    """An S3 server that holds the data, where that is not the emulator."""

    url: str
    access_key_id: str
    secret_access_key: str


class Side(Enum):
    """Which mount a worker sees: as in Lambda the first, the second, or none."""

    FIRST = "first"
    SECOND = "second"
    NONE = "none"

    def seen_of(self, mounts: Mapping[str, Path]) -> dict[str, Path]:
        """Those of the mounts that such a worker sees."""
        places = {Side.FIRST: slice(0, 1), Side.SECOND: slice(1, 2), Side.NONE: slice(0, 0)}
        return dict(list(mounts.items())[places[self]])


def function_zip(folder: Path, start: Path, side: Side) -> bytes:
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


def write_start(paths: LocalPaths, python: Path, mounts: Mapping[str, Path], data: DataEndpoint | None = None) -> bool:
    """Write the script that starts a worker of a side; say whether the mounts appear under /mnt.

    A worker knows the paths of the mounts that it sees; one that sees none knows the names of all.
    """
    sandbox = _sandbox(mounts, paths)
    isolated = sandbox is not None and _works([*sandbox, str(python), "-c", "import awslambdaric"])
    exports = {
        "PYTHONPATH": str(paths.layer),
        "TMPDIR": str(paths.temporary),
        # A directory stands for the file system: there is nothing to measure, and the forecast says what it assumes.
        "FANOUT_FILE_SYSTEMS": "{}",
        # There is no X-Ray daemon here, and its client is the slowest import of all.
    }
    if data is not None:
        exports["FANOUT_DATA_ENDPOINT_URL"] = data.url
        exports["FANOUT_DATA_ACCESS_KEY_ID"] = data.access_key_id
        exports["FANOUT_DATA_SECRET_ACCESS_KEY"] = data.secret_access_key
    lines = [f"export {name}={shlex.quote(value)}" for name, value in exports.items()]
    lines.append('case "$1" in')
    for side in Side:
        seen = side.seen_of(mounts)
        known = {name: f"{MOUNT_ROOT}/{name}" if isolated else str(path) for name, path in (seen or mounts).items()}
        known = {} if side is Side.SECOND and not seen else known
        prefix = shlex.join(_sandbox(seen, paths) or []) + " " if isolated else ""
        lines.append(f"{side.value}) export FANOUT_MOUNTS={shlex.quote(json.dumps(known))}")
        lines.append(f'exec {prefix}{shlex.quote(str(python))} -m awslambdaric "$_HANDLER" ;;')
    lines.append("esac")
    paths.worker.parent.mkdir(parents=True, exist_ok=True)
    # It may hold a secret, so nobody else may read it, from the first byte on.
    paths.worker.unlink(missing_ok=True)
    descriptor = os.open(paths.worker, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as script:
        script.write("\n".join(lines) + "\n")
    return isolated


def _sandbox(mounts: Mapping[str, Path], paths: LocalPaths) -> list[str] | None:
    """All of this machine read-only, but for the mounts and the temporary files."""
    program = shutil.which("bwrap")
    if program is None:
        return None
    command = [program, "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
    command += ["--bind", str(paths.temporary), str(paths.temporary), "--tmpfs", MOUNT_ROOT]
    for name, directory in mounts.items():
        command += ["--bind", str(directory), f"{MOUNT_ROOT}/{name}"]
    # A worker that overruns its time is ended through bwrap, and must not outlive it.
    return [*command, "--die-with-parent", "--"]


def _works(command: list[str]) -> bool:
    try:
        result = subprocess.run(command, capture_output=True, timeout=PROBE_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return result.returncode == 0
