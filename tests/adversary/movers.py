"""A local user moves directories of others into versions, old, live and on their way out: drawn, and judged.

A stream of its own, with runs of its own: no other draw moves. He may write where owners and modes let him. The
functions that remove old versions die in the middle, or have no time, and ledgers expire.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

from fanout.adapters.posix.publishing import retired, versions
from fanout.adapters.posix.publishing.retired import MOVED_UP
from fanout.facts.mounts import CACHED_SECONDS
from fanout.model.deadline import PASSED, Deadline
from fanout.model.document import Json
from fanout.model.entry import Attributes, Kind
from fanout.ports.versions import Removal
from tests.adversary.scope import Finding
from tests.support.flow import ManualClock
from tests.support.memory import MemoryTree
from tests.support.nobody import NOBODY, as_nobody
from tests.support.publishing import REQUEST, PublishingWorld

VICTIM, OTHER = 12_346, 12_347
OWNERS = (0, NOBODY, NOBODY, VICTIM, OTHER)
MODES = (0o755, 0o755, 0o700, 0o2775, 0o777, 0o1777, 0o2770, 0o555)
NAMES = ("a", "b", "a/c", "a/c/d", "b/e", "b/e/f/g")
DEEDS = ("publish", "publish", "move", "move", "die", "no time", "expire", "own")


class Killed(BaseException):
    """The function was killed."""


class Movers:
    """Runs that publish one tree and keep one version; ``steps`` tells what was done."""

    def __init__(self, seed: int, mount: Path) -> None:
        self._draw, self._mount = Random(f"movers {seed}"), mount
        self._world = PublishingWorld(run_id="v0", mount=mount, clock=ManualClock(), source=self._tree())
        self._private = 0
        self.steps: list[str] = []

    def _tree(self) -> MemoryTree:
        keys = MemoryTree()
        for name in NAMES:
            if self._draw.random() < 0.8:
                mode, owner = self._draw.choice(MODES), self._draw.choice(OWNERS)
                keys.put(f"{name}/", Kind.DIRECTORY, b"", Attributes(0o40000 | mode, owner, owner))
            keys.put(f"{name}/file", Kind.FILE, b"x", Attributes(0o100644, 0, 0))
        return keys

    def carry_out(self, count: int) -> Iterator[Finding]:
        """So many steps, each judged; then the remedy is followed, and nothing of an old version is left."""
        yield from self._publish("publish")
        for _ in range(count):
            yield from self._step(self._draw.choice(DEEDS))
            yield from self._judge()
        for _ in range(2):
            yield from self._publish("publish")
        yield from self._judge()
        yield from self._remedied()

    def _step(self, deed: str) -> Iterator[Finding]:
        if deed == "move":
            self._move()
        elif deed == "own":
            self._make_own()
        elif deed == "expire":
            version = self._draw.choice(self._versions())
            self.steps.append(f"expire {version}")
            ledger = self._world.ledger.of_run(version)
            self._world.store.remove([ledger.prefix + key for key in ledger.keys("")])
        else:
            yield from self._publish(deed)

    def _publish(self, deed: str) -> Iterator[Finding]:
        if self.steps:
            self._world = self._world.following(f"v{len(self.steps)}")
            self._world.clock.time += CACHED_SECONDS
        self.steps.append(f"{deed} {self._world.run_id}")
        request: Json = {**REQUEST, "publish": {"link": "current", "keep": 1, "keep_hours": 0}}
        with self._disturbed(deed), suppress(Killed):
            status = self._world.publish(request)["status"]
            if status != "SUCCEEDED":
                yield Finding("published", f"{self.steps[-1]} ended {status}")

    def _disturbed(self, deed: str) -> Any:
        """The removal meets a deed of the local user, and may die or have no time."""
        at, seen = self._draw.randint(1, 12), iter(range(1, 1_000_000))
        rename, moves = os.rename, self._draw.random() < 0.5

        def stepped(source: Any, target: Any, **at_directories: Any) -> None:
            if MOVED_UP.fullmatch(str(target)) and next(seen) == at:
                if moves:
                    self._move()
                if deed == "die":
                    raise Killed
            rename(source, target, **at_directories)

        if deed == "no time":
            remove = retired.remove_retired

            def late(above: int, name: str, version: str, deadline: Deadline, look: Callable[[], None]) -> Removal:
                return remove(above, name, version, PASSED if next(seen) == 1 else deadline, look)

            return patch.object(versions, "remove_retired", late)
        return patch.object(os, "rename", stepped)

    def _move(self) -> None:
        """A directory of nobody with a private one of somebody in it, or that one alone, comes into a version."""
        self._private += 1
        outside = self._mount / f"outside-{self._private}"
        private = outside / "team/private"
        private.mkdir(parents=True)
        (private / f"thesis-{self._private}").write_text("years of work")
        os.chown(private, VICTIM, VICTIM)
        private.chmod(0o700)
        for path in (outside, outside / "team"):
            os.chown(path, NOBODY, NOBODY)
        what = private.parent if self._draw.random() < 0.7 else private
        places = [path for path in sorted((self._mount / "site/versions").rglob("*")) if path.is_dir()]
        place = self._draw.choice(places) / self._draw.choice(("team", "a", "c", ".moved"))

        def deed() -> bool:
            try:
                os.rename(what, place)
            except OSError:
                return False
            return True

        if as_nobody(deed):
            self.steps.append(f"move {self._private} to {place.relative_to(self._mount)}")

    def _make_own(self) -> None:
        places = [path for path in sorted((self._mount / "site/versions").rglob("*")) if path.is_dir()]
        place = self._draw.choice(places) / "cache/deep"

        def deed() -> bool:
            try:
                place.mkdir(parents=True)
            except OSError:
                return False
            return True

        if as_nobody(deed):
            self.steps.append(f"own {place.relative_to(self._mount)}")

    def _versions(self) -> list[str]:
        return [name for name in self._world.versions() if name[0] != "."]

    def _judge(self) -> Iterator[Finding]:
        for number in range(1, self._private + 1):
            found = list(self._mount.rglob(f"thesis-{number}"))
            if len(found) != 1 or found[0].parent.stat().st_uid != VICTIM:
                yield Finding("published", f"thesis-{number} is gone: {self.steps}")

    def _remedied(self) -> Iterator[Finding]:
        """What a note names is moved away, as it says; the rest goes with the next run."""
        (self._mount / "back").mkdir()
        for number in range(100):
            named = [note for note in self._world.ledger.read_json("summary.json")["notes"] if "no run made" in note]
            if not named:
                break
            for one in named[0].partition("hold: ")[2].partition(";")[0].partition(" and ")[0].split(", "):
                (self._mount / one.removeprefix("/")).rename(self._mount / f"back/{number}-{one.replace('/', '-')}")
            yield from self._publish("publish")
        yield from self._judge()
        old = [name for name in self._world.versions() if name.startswith(".removed-")]
        if old:
            yield Finding("published", f"{old} is left: {self.steps}")
