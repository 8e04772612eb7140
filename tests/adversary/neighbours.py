"""Another stack writes to the same file system: drawn, and judged. Neither stack can read the other's work bucket.

A stream of its own, with runs of its own: no other draw moves. The neighbour stages at the root of the run's
destination, above it or below it; it begins, writes and ends at states of the run. What it has staged is its own to
the end, and what it has put in its place before the run listed is an extra as any other.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

from fanout.adapters.posix.tree import PosixTree
from fanout.model.checksum import NO_BYTES
from fanout.model.document import Json
from fanout.model.entry import Attributes, Entry, Kind
from fanout.model.errors import FanoutError, ItemError
from fanout.ports.tree import Target
from tests.adversary.scope import Finding
from tests.support.hidden_writes import Watched

PLACES = ("out", "out", "out/d", "out/deep/er", "", "elsewhere")
STATES = ("CheckMount", "ListOneSegment", "PartitionShards", "CopyShards", "FinishTree", "SummariseTransfer")
MODES = ("copy", "sync", "sync", "move", "verify")
DATA = b"of the neighbour"


class Neighbour:
    """One run of another stack, by what it does to the file system; ``steps`` tells what was done."""

    def __init__(self, seed: int, mount: Path) -> None:
        self._draw, self._mount = Random(f"neighbour {seed}"), mount
        self._place = self._draw.choice(PLACES)
        self._tree: PosixTree | None = None
        self._target: Target | None = None
        self._failed = ""
        self.mode = self._draw.choice(MODES)
        self.steps: list[str] = [f"{self.mode}, the neighbour at /{self._place}"]

    def carry_out(self) -> Iterator[Finding]:
        """A run of ours, beside which the neighbour works, and the one after it; each is judged."""
        for name in ("a", "d/b", "d/deep/c"):
            (self._mount / "in" / name).parent.mkdir(parents=True, exist_ok=True)
            (self._mount / "in" / name).write_bytes(name.encode())
        (self._mount / "out/d").mkdir(parents=True)
        (self._mount / "out/extra").write_bytes(b"extra")
        begins, ends = sorted(self._draw.sample(range(len(STATES) + 1), 2))
        deeds: dict[str, Callable[[], object]] = {}
        for at, deed in ((begins, self._begin), (ends, self._end)):
            if at < len(STATES):
                deeds[STATES[at]] = deed
        self.steps.append(f"it begins at {[*STATES, 'the end'][begins]} and ends at {[*STATES, 'the end'][ends]}")
        world = self._world(deeds)
        status = world.run(self._request())["status"]
        self.steps.append(status)
        self._begin()
        self._end()
        yield from self._judge(status)
        again = dataclasses.replace(self._world({}), run_id="run-2", store=world.store)
        if again.run(self._request())["status"] not in ("SUCCEEDED", status):
            yield Finding("neighbour", f"the next run did not succeed: {self.steps}")

    def _world(self, deeds: dict[str, Callable[[], object]]) -> Watched:
        run = "run-2" if self.steps[-1].isupper() else "run-1"
        source = PosixTree(self._mount, "in", run, "source", "source")
        return Watched(source=source, destination=PosixTree(self._mount, "out", run, "n"), deeds=deeds, run_id=run)

    def _request(self) -> Json:
        request: Json = {"source": "efs:///in", "destination": "efs:///out", "mode": self.mode}
        return {**request, "delete_guard": {"max_percent": 100}} if self.mode == "sync" else request

    def _begin(self) -> None:
        if self._tree is not None:
            return
        self._tree = tree = PosixTree(self._mount, self._place, "theirs", "n")
        tree.check(writing=True)
        self._target = tree.create(Entry("theirs/file", Kind.FILE, len(DATA)), Attributes())
        self._target.write(0, DATA[:5])

    def _end(self) -> None:
        if self._target is None or self._tree is None:
            return
        target, self._target = self._target, None
        try:
            target.write(5, DATA[5:])
            target.commit(NO_BYTES)
            left = self._tree.finish()
        except (FanoutError, ItemError) as error:
            self._failed = f"{type(error).__name__}: {error}"
        else:
            self._failed = "; ".join(left)
        finally:
            target.abort()

    def _judge(self, status: str) -> Iterator[Finding]:
        if self._failed and not self._is_an_extra():
            yield Finding("neighbour", f"the neighbour's run failed: {self._failed}: {self.steps}")
        placed = self._mount / self._place / "theirs/file"
        if not self._failed and placed.exists() and placed.read_bytes() != DATA:
            yield Finding("neighbour", f"the neighbour's file is another: {self.steps}")
        left = [str(path.relative_to(self._mount)) for path in self._mount.rglob(".fanout-staging-*")]
        if left:
            yield Finding("neighbour", f"{left} is left: {self.steps}")
        if self.mode in ("copy", "sync", "move") and status == "SUCCEEDED":
            for name in ("a", "d/b", "d/deep/c"):
                if (self._mount / "out" / name).read_bytes() != name.encode():
                    yield Finding("neighbour", f"{name} is not what the source held: {self.steps}")

    def _is_an_extra(self) -> bool:
        """Names of staging directories are reserved at a root alone: a sync deletes one below it, which is noticed."""
        return self.mode == "sync" and self._place.startswith("out/") and self._failed.startswith("Superseded")
