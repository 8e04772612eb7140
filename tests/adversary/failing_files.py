"""A file system that refuses: the operations of ``os`` pass the conductor, and times are the script's."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any
from unittest.mock import patch

from tests.adversary.clock import LabClock
from tests.adversary.conductor import Conductor

# The functions of ``os`` that the adapters use; a line each.
OPERATIONS = (
    "open",
    "close",
    "pread",
    "pwrite",
    "rename",
    "link",
    "unlink",
    "mkdir",
    "rmdir",
    "scandir",
    "listdir",
    "stat",
    "fstat",
    "fchmod",
    "fchown",
    "chown",
    "utime",
    "ftruncate",
    "symlink",
    "readlink",
)
# After these the destination may show something that it did not before.
SHOWING = frozenset({"create", "rename", "link", "mkdir", "fchmod", "fchown"})


@contextmanager
def failing_files(conductor: Conductor, clock: LabClock, base: str) -> Iterator[None]:
    """Let what happens to files below ``base`` pass the conductor."""
    plain = {name: getattr(os, name) for name in OPERATIONS}

    def concerns(name: str, arguments: tuple[Any, ...], more: dict[str, Any]) -> bool:
        if conductor.current is None:
            return False
        first = arguments[0]
        return isinstance(first, int) or "dir_fd" in more or "src_dir_fd" in more or str(first).startswith(base)

    def hooked(name: str) -> Callable[..., Any]:
        original = plain[name]

        def call(*arguments: Any, **more: Any) -> Any:
            if not concerns(name, arguments, more):
                return original(*arguments, **more)
            kind = "create" if name == "open" and len(arguments) > 1 and arguments[1] & os.O_CREAT else name
            if name == "close":
                return _closed(conductor, original, arguments[0])
            about = partial(_about, arguments, more)
            passed = conductor.before(f"os:{kind}", about)
            result = original(*arguments, **more)
            if name == "open" and passed:
                passed[0].opened.add(result)
            if kind in SHOWING:
                conductor.watch()
            try:
                conductor.after(passed, f"os:{kind}", about)
            except OSError:
                if name == "open" and passed:  # an open whose answer is an error leaves nothing open
                    passed[0].opened.discard(result)
                    plain["close"](result)
                raise
            return _at(clock, result) if name in ("stat", "fstat") else result

        return call

    replaced = {name: hooked(name) for name in OPERATIONS}
    with patch.dict(vars(os), replaced):
        yield


def _about(arguments: tuple[Any, ...], more: dict[str, Any]) -> str:
    """The path that an operation is about."""
    first = arguments[0]
    if isinstance(first, int):
        return _path_of(first)
    above = more.get("dir_fd", more.get("src_dir_fd"))
    return os.path.join(_path_of(above) if isinstance(above, int) else "", os.fsdecode(first))


def _path_of(descriptor: int) -> str:
    try:
        return os.readlink(f"/proc/self/fd/{descriptor}")
    except OSError:
        return ""


def _closed(conductor: Conductor, original: Callable[[int], None], descriptor: int) -> None:
    """Closing happens in any case, so that a function that was killed leaves no descriptors; of a file that was
    written it may fail."""
    mine = conductor.current
    if mine is not None:
        mine.opened.discard(descriptor)
    written = fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE == os.O_WRONLY
    original(descriptor)
    if mine is not None and not mine.dead and written:
        conductor.after(conductor.before("os:close"))


def _at(clock: LabClock, found: os.stat_result) -> os.stat_result:
    """What was found with its ctime in the script's time."""
    reduced: Any = found.__reduce__()[1]
    row, more = reduced
    changed_ns = clock.virtual_ns(found.st_ctime_ns)
    more = {**more, "st_ctime_ns": changed_ns, "st_ctime": changed_ns / 1e9}
    return os.stat_result(row, more)
