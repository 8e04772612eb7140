"""The process that keeps the local stack up between commands: ``fanout up`` starts it, ``fanout down`` ends it.

Run as ``python -m fanout_cli.local.keeper STATE MOUNTS DATA``, the last two as JSON; it ends with SIGTERM.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec.structs import asdict

from fanout.runtime.settings import DataEndpoint
from fanout_cli.local.errors import LocalRunError, tail
from fanout_cli.local.loopback import healthy
from fanout_cli.local.paths import LocalPaths
from fanout_cli.local.stack import LocalStack
from fanout_cli.local.toolchain import find_toolchain

UP_SECONDS = 300.0
DOWN_SECONDS = 30.0
POLL_SECONDS = 0.1


def bring_up(paths: LocalPaths, mounts: Mapping[str, Path], data: DataEndpoint | None) -> Any:
    """Start the keeper and wait until the stack is up; returns what up.json says. Raises ``LocalRunError``."""
    if (up := read_up(paths)) is not None:
        raise LocalRunError(f"the local stack is up already at {up['endpoint']}; `fanout down` ends it")
    paths.keep_private()
    paths.up.unlink(missing_ok=True)
    log = paths.log("keeper")
    log.parent.mkdir(parents=True, exist_ok=True)
    arguments = [str(paths.state), json.dumps({name: str(path) for name, path in mounts.items()})]
    # The endpoint may hold a secret, which has no business among the arguments of a process.
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "fanout_cli.local.keeper", *arguments],
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    assert process.stdin is not None
    process.stdin.write(json.dumps(asdict(data) if data else None).encode())
    process.stdin.close()
    deadline = time.monotonic() + UP_SECONDS
    while (up := read_up(paths)) is None:
        if process.poll() is not None or time.monotonic() > deadline:
            process.terminate()
            raise LocalRunError(f"the local stack did not come up:\n{tail(log)}")
        time.sleep(POLL_SECONDS)
    return up


def bring_down(paths: LocalPaths) -> bool:
    """End the keeper that up.json names; returns whether there was one. Raises ``LocalRunError`` if it does not end."""
    up = read_up(paths)
    if up is None:
        return False
    os.kill(up["pid"], signal.SIGTERM)
    deadline = time.monotonic() + DOWN_SECONDS
    while paths.up.exists():
        if time.monotonic() > deadline:
            raise LocalRunError(f"the local stack (process {up['pid']}) does not end; see {paths.log('keeper')}")
        time.sleep(POLL_SECONDS)
    return True


def read_up(paths: LocalPaths) -> Any:
    """The keeper's record of the stack; ``None`` unless the emulator there answers."""
    try:
        up = json.loads(paths.up.read_bytes())
    except (FileNotFoundError, ValueError):
        return None
    return up if healthy(up["endpoint"], Path(up.get("ca_bundle", ""))) else None


def keep(paths: LocalPaths, mounts: Mapping[str, Path], data: DataEndpoint | None) -> None:
    """Keep the stack up until SIGTERM."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        with LocalStack(paths, find_toolchain(paths.repo), mounts, data=data, tell=_tell) as stack:
            up = {
                "pid": os.getpid(),
                "endpoint": stack.endpoint,
                "ca_bundle": stack.clients.access.ca_bundle,
                "environment": str(paths.access),
                "outputs": dict(stack.outputs),
                "unenforced": list(stack.isolation.unenforced),
            }
            written = paths.up.with_suffix(".new")
            written.write_text(json.dumps(up), encoding="utf-8")
            written.replace(paths.up)
            while True:
                signal.pause()
    finally:
        paths.up.unlink(missing_ok=True)


def _tell(phase: str) -> None:
    sys.stdout.write(f"{phase}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    _state, _mounts = sys.argv[1:]
    _data = json.load(sys.stdin)
    try:
        keep(
            LocalPaths.find(state=Path(_state)),
            {name: Path(path) for name, path in json.loads(_mounts).items()},
            DataEndpoint(**_data) if _data else None,
        )
    except LocalRunError as error:
        sys.exit(str(error))  # the log's last lines are for people
