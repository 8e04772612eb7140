"""Which guest of the table runs, and what is said of those before it."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path

import pytest

from tests.nfs.lab import guests, kernel, machine
from tests.nfs.lab.guests import Guest
from tests.nfs.lab.kernel import Kernel

COMES_UP = "echo guest: up; echo 0 > {results}/status"
ENDS = "echo no such processor"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (guests, kernel):
        monkeypatch.setattr(module, "CACHE", tmp_path)
    monkeypatch.setattr(guests, "TOOLS", ())
    (tmp_path / "made").mkdir()
    (tmp_path / "made/initrd").write_bytes(gzip.compress(b""))


def guest(name: str, does: str, results: Path, tools: tuple[str, ...] = ()) -> Guest:
    @contextmanager
    def start(_: Kernel, initrd: Path) -> Iterator[list[str]]:
        assert initrd.exists()
        yield ["sh", "-c", does.format(results=results)]

    return Guest(name, Kernel("made", "none", "", ""), tools, 10, start)


def run(monkeypatch: pytest.MonkeyPatch, results: Path, *table: Guest) -> str:
    monkeypatch.setattr(machine, "GUESTS", table)
    out = BytesIO()
    assert machine.run("true", results, 10, out) == 0
    return out.getvalue().decode()


def test_the_first_that_comes_up_runs_and_says_why_others_did_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lacking = guest("first", COMES_UP, tmp_path, ("no-such-tool",))
    said = run(monkeypatch, tmp_path, lacking, guest("second", ENDS, tmp_path), guest("third", COMES_UP, tmp_path))
    last = said.split("guest: second")[1].splitlines()
    assert last[1:] == [
        "no such processor",
        "not first: missing: no-such-tool",
        "not second: did not come up within 10 s",
        "guest: third",
        "guest: up",
    ]


def test_one_that_did_not_come_up_is_not_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = guest("first", ENDS, tmp_path), guest("second", COMES_UP, tmp_path)
    assert "no such processor" in run(monkeypatch, tmp_path, *table)
    again = run(monkeypatch, tmp_path, *table)
    assert "no such processor" not in again
    assert f"not first: did not come up within 10 s ({tmp_path}/no-first)" in again


def test_where_none_comes_up_each_reason_is_told_and_the_last_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "GUESTS", (guest("first", ENDS, tmp_path), guest("second", ENDS, tmp_path)))
    for _ in range(2):
        with pytest.raises(RuntimeError, match=r"(?s)not first: did not.*not second: did not.*no such processor"):
            machine.run("true", tmp_path, 10)
