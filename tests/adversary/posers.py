"""A local user gives directories of others the names of probes' directories: drawn, and judged.

A stream of its own, with probes of its own: no other draw moves. The directory that they work in is his, so he may
rename whatever is in it, before a probe, between its states, and within each of them. Probes are stopped, their ledgers
expire, and their tasks run twice.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from random import Random
from unittest.mock import patch

from fanout.adapters.posix.probe.probe_directory import ABANDONED_SECONDS
from fanout.model.errors import FanoutError, ItemError
from fanout.model.path_rules import PROBE_PREFIX
from tests.adversary.scope import Finding
from tests.support.nobody import NOBODY, as_nobody
from tests.support.probes import SMALL, ProbeWorld

# What his directories of others are: as a probe's own, with something in it, of a run, and as anybody may leave one.
MODES = (0o700, 0o700, 0o700, 0o755, 0o1700, 0o5700, 0o2700)
STATES = ("open", "open", "experiment", "experiment", "close", "close")
# The operations at which he acts within a state.
OPERATIONS = ("mkdir", "open", "rmdir", "listdir", "rename")


class Posers:
    """Probes in a directory of his, one after the other; ``steps`` tells what was done."""

    def __init__(self, seed: int, mount: Path) -> None:
        self._draw = Random(f"posers {seed}")
        self._his = mount / "his"
        self._his.mkdir()
        os.chown(self._his, NOBODY, NOBODY)
        self._world = ProbeWorld([mount])
        self._others: dict[int, int] = {}
        self._probes: list[str] = []
        self.steps: list[str] = []

    def carry_out(self, count: int) -> Iterator[Finding]:
        """So many probes, each judged after each of its states."""
        for number in range(count):
            name = f"p{number}"
            self._probes.append(name)
            self._world.plan({**SMALL, "path": "/his"}, name)
            self._act(name)
            for state in STATES:
                if self._draw.random() < 0.75:
                    self._carry_out_one(state, name)
                    yield from self._judge(state)
                self._act(name)
            self._age()

    def _carry_out_one(self, state: str, name: str) -> None:
        self.steps.append(f"{state} {name}")
        call: dict[str, Callable[[], object]] = {
            "open": lambda: self._world.open(name),
            "experiment": lambda: self._world.experiment(name, 0, 0),
            "close": lambda: self._world.close(name),
        }
        with self._disturbed(name):
            try:
                call[state]()
            except (FanoutError, ItemError) as error:  # a probe may fail: he can take its directory away
                self.steps.append(f"{type(error).__name__}: {error}"[:120])

    def _disturbed(self, name: str) -> AbstractContextManager[object]:
        """He acts within the state, at one of the operations that it makes."""
        which = self._draw.choice(OPERATIONS)
        operation, left = getattr(os, which), [self._draw.randint(1, 12)]

        def stepped(*given: object, **named: object) -> object:
            left[0] -= 1
            if not left[0]:
                left[0] = -1  # what he does here makes such operations too
                self._act(name, is_within=True)
            return operation(*given, **named)

        return patch.object(os, which, stepped)

    def _act(self, name: str, *, is_within: bool = False) -> None:
        """A directory of another user gets the name of a probe's, which may be moved away before.

        Within a state none that is empty: rmdir(2) takes a name, and goes by what has it at that moment (SECURITY.md).
        """
        deed = self._draw.choice(("nothing", "pose", "pose", "swap", "away", "expire"))
        victim = self._made(is_full=is_within or self._draw.random() < 0.7) if deed in ("pose", "swap") else None
        pose = self._his / f"{PROBE_PREFIX}{self._draw.choice([name, name, *self._probes])}"
        if deed == "expire":
            ledger = self._world.ledger(self._draw.choice(self._probes))
            with suppress(FanoutError):
                self._world.store.remove([f"{ledger.prefix}probe-directory.json"])
        elif deed != "nothing":
            away = self._his / f"away-{self._draw.randrange(10**6)}"
            moves = [(pose, away)] if deed in ("swap", "away") else []
            moves += [(victim, pose)] if victim is not None else []
            as_nobody(lambda: [_renamed(*move) for move in moves])
        self.steps.append(f"{deed} {pose.name}")

    def _made(self, *, is_full: bool) -> Path:
        place = self._his / f"of-root-{len(self._others)}"
        place.mkdir()
        if is_full:
            (place / "deep").mkdir()
            (place / "deep/thesis").write_text("years of work")
        if self._draw.random() < 0.3:
            (place / "of-a-probe").write_bytes(b"fanout probe: the next one removes this directory\n")
        place.chmod(self._draw.choice(MODES))
        self._others[place.stat().st_ino] = _entries(place)
        return place

    def _age(self) -> None:
        """Time passes, so that what a probe left counts as left."""
        for place in self._his.iterdir():
            found = place.stat()
            os.utime(place, (found.st_atime, found.st_mtime - 2 * ABANDONED_SECONDS))

    def _judge(self, state: str) -> Iterator[Finding]:
        found = {place.stat().st_ino: place for place in self._his.iterdir()}
        for inode, entries in self._others.items():
            if inode not in found:
                yield Finding("posing directory gone", f"{state} removed a directory of another user: {self.steps}")
            elif _entries(found[inode]) != entries:
                yield Finding("posing directory used", f"{state} changed a directory of another user: {self.steps}")


def _renamed(old: Path, new: Path) -> bool:
    """Whether he moved it; in the place of an empty directory it would be he who removed that."""
    try:
        if os.path.lexists(new):
            return False
        os.rename(old, new)
    except OSError:
        return False
    return True


def _entries(place: Path) -> int:
    return sum(1 for _ in place.rglob("*"))
