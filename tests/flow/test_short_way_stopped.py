"""A function of the short way freezes, its run is stopped, another run is over: it wakes up and writes over nothing."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from threading import Event
from types import TracebackType
from typing import Any

import pytest

from fanout.model.document import Json
from fanout.model.errors import Superseded
from fanout.planning import check_mount
from fanout.turns.write_turn import WriteTurns
from fanout.work.staged import note_staged
from tests.contract.test_write_turns import Known
from tests.flow.test_short_way_losses import Fragile, OnDisk, short_way
from tests.support.flow import ManualClock

REQUEST: Json = {"source": "efs:///in", "destination": "efs:///out"}


class Lazily:
    """An executor that does work when somebody asks for its result: the latest moment that there may be."""

    def __init__(self, *_: Any, **__: Any) -> None:
        """As ThreadPoolExecutor."""

    def __enter__(self) -> Lazily:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        """Nothing is left to wait for."""

    def submit(self, work: Callable[..., Any], *args: Any, **options: Any) -> Later:
        return Later(lambda: work(*args, **options))


class Later:
    """The result of such work."""

    def __init__(self, work: Callable[[], Any]) -> None:
        self._work = work

    def result(self) -> Any:
        return self._work()


def stopped(mount: Path) -> tuple[OnDisk, Fragile, Json, Callable[[], None]]:
    """A run before its short way; the last one stops it, and carries another run out in its place."""
    (mount / "in").mkdir(parents=True)
    (mount / "in/file").write_bytes(b"first")
    store, clock, active = Fragile(), ManualClock(), {"run-1", "run-2"}
    turns = WriteTurns(store, Known(active), clock, ("data",))
    world = OnDisk(store=store, clock=clock, short=True, turns=turns, mount=mount)
    state = world.walk("PlanTransfer", REQUEST, "AlreadyRunning?")[1]

    def later_run() -> None:
        active.remove("run-1")
        (mount / "in/file").write_bytes(b"later")
        assert world.next_run("run-2").run(REQUEST)["status"] == "SUCCEEDED"
        (mount / "in/file").write_bytes(b"written after both")

    return world, store, state, later_run


def test_the_turn_is_looked_at_after_the_staging_directory_is_noted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The later run cannot remove a directory that no ledger notes: whoever notes it then is not in its turn."""
    world, _, state, later_run = stopped(tmp_path)

    def frozen(*args: Any) -> None:
        monkeypatch.undo()
        later_run()
        note_staged(*args)

    monkeypatch.setattr(check_mount, "ThreadPoolExecutor", Lazily)
    monkeypatch.setattr(check_mount, "note_staged", frozen)
    with pytest.raises(Superseded):
        world.walk("CheckMount", state, "ListOneSegment")
    assert (tmp_path / "out/file").read_bytes() == b"later"


def test_a_short_way_that_is_frozen_before_any_of_its_requests_writes_over_nothing(tmp_path: Path) -> None:
    world, store, state, _ = stopped(tmp_path / "whole")
    store.asked = 0
    short_way(world, state)
    asked = store.asked
    assert (tmp_path / "whole/out/file").read_bytes() == b"first"
    for cut in range(asked):
        mount, over = tmp_path / str(cut), Event()
        world, store, state, later_run = stopped(mount)

        def meanwhile(run: Callable[[], None] = later_run, over: Event = over) -> None:
            run()
            over.set()

        store.left, store.at = cut, meanwhile
        short_way(world, state)
        assert over.wait(60)  # the request may be one that nobody waits for
        assert (mount / "out/file").read_bytes() == b"later", cut
        shutil.rmtree(mount)
