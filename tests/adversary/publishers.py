"""Publishers that are killed between their note and the switch, links that are switched by hand: drawn, and judged.

A stream of its own, with runs of its own: no other draw moves. The oracle knows what the link named as a run began and
as it switched. Readers at other NFS clients follow that for a minute, so it stays for the minute, whatever ``keep`` is.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from random import Random
from unittest.mock import patch

from fanout.adapters.posix.publishing.versions import PosixVersions
from fanout.facts.mounts import CACHED_SECONDS
from fanout.model.document import Json
from fanout.model.entry import Kind
from tests.adversary.scope import Finding
from tests.support.flow import ManualClock
from tests.support.memory import MemoryTree
from tests.support.publishing import REQUEST, PublishingWorld, rollback_to

DEEDS = ("publish", "publish", "killed", "killed by hand", "switched meanwhile", "by hand", "roll back", "again")
PAUSES = (0.0, 1.0, 20.0, 45.0, CACHED_SECONDS + 1)


class Killed(BaseException):
    """The function was killed."""


class Publishers:
    """Runs that publish one tree; ``steps`` tells what was done."""

    def __init__(self, seed: int, mount: Path) -> None:
        self._draw = Random(f"publishers {seed}")
        self._world = PublishingWorld(run_id="v0", mount=mount, clock=ManualClock())
        self._named: dict[str, float] = {}
        self._killed = False
        self.steps: list[str] = []

    def carry_out(self, count: int) -> Iterator[Finding]:
        """So many steps, each judged; at last runs which keep one version, when no reader can be at an older one."""
        yield from self._run({**REQUEST}, "publish")
        for _ in range(count):
            yield from self._step(self._draw.choice(DEEDS))
        yield from self._run(self._request(1), "publish", CACHED_SECONDS + 1)
        before = self._link()
        yield from self._run(self._request(1), "publish", CACHED_SECONDS + 1)
        if sorted(self._there()) != sorted({before, self._world.run_id}):
            yield Finding("published", f"{self._there()} are kept, where keep is 1 and the last one was {before}")

    def _step(self, deed: str) -> Iterator[Finding]:
        if deed == "by hand":
            self._by_hand()
        elif deed == "again" and self._killed:
            self.steps.append(deed)
            with self._watched(deed):
                self._world.switch()
            self._killed = False
            yield from self._judge()
        elif deed == "roll back":
            back = [name for name in self._there() if name in self._named and name != self._link()]
            if back:
                yield from self._run(self._rolled_back(self._draw.choice(back)), deed)
        elif deed != "again":
            yield from self._run(self._request(self._draw.randint(1, 3)), deed)

    def _request(self, keep: int) -> Json:
        return {**REQUEST, "publish": {"link": "current", "keep": keep, "keep_hours": 0}}

    def _rolled_back(self, version: str) -> Json:
        return {**rollback_to(version), "publish": self._request(self._draw.randint(1, 3))["publish"]}

    def _run(self, request: Json, deed: str, pause: float | None = None) -> Iterator[Finding]:
        if self.steps:
            self._world = self._world.following(f"v{len(self.steps)}")
            self._world.clock.time += (self._draw.choice(PAUSES) if pause is None else pause) - CACHED_SECONDS - 1
            self._note()
        self.steps.append(f"{deed} {self._world.run_id} {request['publish']['keep']} at {self._world.clock.time}")
        assert isinstance(self._world.source, MemoryTree)
        self._world.source.put("a", Kind.FILE, self._world.run_id.encode())
        self._killed = deed.startswith("killed")
        with self._watched(deed), suppress(Killed):
            status = self._world.publish(request)["status"]
            if status != "SUCCEEDED":
                yield Finding("published", f"{self.steps[-1]} ended {status}")
        yield from self._judge()
        if deed == "killed by hand":  # what no run sees, as it begins or switches, is nobody's to keep
            self._by_hand()

    def _watched(self, deed: str) -> AbstractContextManager[object]:
        """Note what each switch replaces; where the deed says so, it is replaced by hand before, or never."""
        switch = PosixVersions.switch

        def watched(versions: PosixVersions) -> object:
            if deed == "switched meanwhile":
                self._by_hand()
            if deed.startswith("killed"):
                raise Killed
            self._note()
            return switch(versions)

        return patch.object(PosixVersions, "switch", watched)

    def _by_hand(self) -> None:
        """What an operator does: ln -sfn."""
        chosen = self._draw.choice([name for name in self._there() if name in self._named])
        self.steps.append(f"by hand {chosen}")
        link = self._world.mount / "site/current"
        link.with_name("new").symlink_to(f"versions/{chosen}")
        link.with_name("new").rename(link)

    def _note(self) -> None:
        with suppress(FileNotFoundError):
            self._named[self._link()] = self._world.clock.time

    def _link(self) -> str:
        return os.readlink(self._world.mount / "site/current").rpartition("/")[2]

    def _there(self) -> list[str]:
        return [name for name in self._world.versions() if name[0] != "."]

    def _judge(self) -> Iterator[Finding]:
        """What the link names is there, and what it named within the minute."""
        now, there = self._world.clock.time, self._there()
        young = {name for name, at in self._named.items() if now - at < CACHED_SECONDS}
        for name in sorted({*young, self._link()}.difference(there)):
            yield Finding("published", f"{name} is gone at {now}, named at {self._named.get(name)}: {self.steps}")
        self._note()
