"""The engine is killed at each write of its ledger; a retry ends with what one run without a kill would have made."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from fanout.adapters.aws.credentials import credentials_from_environment
from fanout.adapters.aws.endpoint import Endpoint
from fanout.adapters.directory.store import DirectoryWorkStore
from fanout.ledger.keys import PLAN
from fanout.ledger.ledger import Ledger
from fanout.ledger.objects import START_AGAIN
from fanout.request.course import RESUMABLE, Mode
from fanout.runtime.embedded.engine import Ended, Engine
from fanout.runtime.embedded.machine import S3Here, ledger_in_directory, parts_of_machine
from fanout.runtime.embedded.parts import Parts
from tests.support.long import drawn

FILES = {"a": b"one", "d/b": b"two", "d/e/c": b"", "changed": b"new"}
REQUESTS: dict[str, dict[str, Any]] = {
    "copy": {"verify": "copied"},
    "sync": {"mode": "sync", "verify": "all", "delete_guard": {"max_percent": 100.0}},
    "move": {"mode": "move"},
    "publish": {"publish": {"link": "current"}},
}
# More than the writes of any of these runs.
MOST = 90
KILLED = 9
# How a refusal to resume a run ends that has not begun its version, or has published it.
_ANEW = (START_AGAIN, "start it under another name")


class KillingStore(DirectoryWorkStore):
    """Ends its process before or after the write of that number."""

    def __init__(self, root: str, number: int, *, after: bool) -> None:
        super().__init__(root)
        self._left, self._after = number, after

    def put(self, key: str, data: bytes) -> None:
        self._left -= 1
        if not self._left and not self._after:
            os._exit(KILLED)
        super().put(key, data)
        if not self._left:
            os._exit(KILLED)

    def put_new(self, key: str, data: bytes) -> bool:
        self._left -= 1
        if not self._left and not self._after:
            os._exit(KILLED)
        written = super().put_new(key, data)
        if not self._left:
            os._exit(KILLED)
        return written


def parts_in(home: Path) -> Parts:
    return parts_of_machine(
        ledger_in_directory(home / "ledger"), S3Here(Endpoint("us-east-1"), credentials_from_environment)
    )


def fill(home: Path) -> None:
    """The source, and a destination that holds an older file and one that the source lacks."""
    shutil.rmtree(home, ignore_errors=True)
    for path, data in FILES.items():
        file = home / "in" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    (home / "out").mkdir()
    (home / "out/changed").write_bytes(b"older")
    (home / "out/extra").write_bytes(b"x")
    os.utime(home / "out/changed", (1, 1))


def files_in(root: Path) -> dict[str, bytes]:
    return {one.relative_to(root).as_posix(): one.read_bytes() for one in root.rglob("*") if one.is_file()}


def killed_run(home: Path, request: dict[str, Any], number: int, *, after: bool) -> bool:
    """Carry a request out in a child that is killed at a write; whether it was, or came to its end before."""
    child = os.fork()
    if not child:
        status = 1
        try:
            parts = parts_in(home)
            store = KillingStore(str(home / "ledger"), number, after=after)
            status = 0 if Engine(replace(parts, store=store)).run("first", request).status == "SUCCEEDED" else 1
        finally:
            os._exit(status)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status in (0, KILLED)
    return status == KILLED


def retried(home: Path, request: dict[str, Any]) -> Ended:
    """A run that goes on as ``fanout local retry`` does, and as its error advises where it is refused."""
    parts = parts_in(home)
    planned = Ledger(parts.store, "first").has(PLAN)
    resumes = planned and Mode(request.get("mode", "copy")) in RESUMABLE
    ended = Engine(parts).run("second", {"resume_from": "first"} if resumes else request)
    if resumes and ended.status == "FAILED" and any(remedy in ended.cause for remedy in _ANEW):
        return Engine(parts).run("third", request)
    return ended


def expected(name: str, home: Path) -> None:
    """Raise unless both trees are as one whole run leaves them."""
    at_source, at_destination = files_in(home / "in"), files_in(home / "out")
    assert at_source == ({} if name == "move" else FILES)
    if name == "publish":
        assert files_in((home / "out/current").resolve()) == FILES
    else:
        assert at_destination == (FILES if name == "sync" else FILES | {"extra": b"x"})


def kills(name: str, home: Path, numbers: Sequence[int], *, after: bool) -> int:
    """Kill a run at each of these writes and go on with it; returns how many kills there were."""
    request = {"source": f"efs://local{home}/in", "destination": f"efs://local{home}/out", **REQUESTS[name]}
    count = 0
    for number in numbers:
        fill(home)
        if not killed_run(home, request, number, after=after):
            expected(name, home)
            continue
        count += 1
        ended = retried(home, request)
        assert ended.status == "SUCCEEDED", f"killed {'after' if after else 'before'} write {number}: {ended}"
        expected(name, home)
    return count


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("name", REQUESTS)
def test_a_retry_ends_what_a_killed_run_began(tmp_path: Path, name: str, after: bool) -> None:
    numbers = drawn(range(1, MOST), 8)
    assert 1 < kills(name, tmp_path / "home", numbers, after=after) < len(numbers)
