"""Counts the operations of each run and lets the script's faults happen at theirs."""

from __future__ import annotations

import errno
import os
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from fanout.model.errors import Transient
from tests.adversary.hangs import ENDED, INTERRUPTED, LOST, STALLED, interrupted
from tests.adversary.script import STAGING, Fault

REFUSALS = ("ENOSPC", "EDQUOT", "EIO", "EACCES", "ESTALE", "EMFILE", "EROFS", "ENOENT")

_OPENING = frozenset({"os:open", "s3:GetObject"})


def classes_of(told: Counter[str]) -> set[str]:
    """The kinds of what happened, in few words."""
    found = set(told)
    if found & set(REFUSALS):
        found.add("os")
    if any(name.startswith("S3: ") for name in found):
        found.add("s3")
    return found


class Killed(BaseException):
    """The function's process is gone; nothing that it would still do happens."""


@dataclass(eq=False)
class Running:
    """A run as the conductor sees it: its faults, and how many operations of each kind it has made.

    ``waiting`` are lies that came to a request at which they cannot be told; the next one of the kind hears them.
    ``opened`` are the paths that its comparisons opened.
    """

    name: str
    faults: list[Fault]
    counts: Counter[str] = field(default_factory=Counter)
    waiting: list[Fault] = field(default_factory=list)
    opened: set[str] = field(default_factory=set)
    stopped: bool = False
    lost_as: str = LOST


@dataclass(eq=False)
class Attempt:
    """A function at work; two attempts of one state are two."""

    run: Running
    state: str
    dead: bool = False
    opened: set[int] = field(default_factory=set)


@dataclass
class AtWork:
    """Attempts at work, one inside of the other, and how often the script itself acts inside of them."""

    attempts: list[Attempt]
    paused: int = 0


class Conductor:
    """Every operation of a function passes here before and after it happens.

    ``perform`` does what concerns more than the operation: changes, other runs, time. ``told`` counts the faults that
    happened. ``lies`` are those of the next request, which the S3 tells. ``looked`` is the path that a deletion looked
    at last, and is about to unlink.
    """

    def __init__(self, perform: Callable[[Fault, Attempt], None]) -> None:
        self.perform = perform
        self.told: Counter[str] = Counter()
        self.attempts: list[Attempt] = []
        self.watch: Callable[[], None] = lambda: None
        self.about: Callable[[], str] = str
        self.looked = ""
        self._paused = 0

    @property
    def current(self) -> Attempt | None:
        """Who is at work; nobody while the script itself acts."""
        return self.attempts[-1] if self.attempts and not self._paused else None

    @contextmanager
    def attempt(self, run: Running, state: str) -> Iterator[Attempt]:
        """A function begins, inside another one where the script says so."""
        mine = Attempt(run, state)
        self.attempts.append(mine)
        paused, self._paused = self._paused, 0
        try:
            yield mine
        finally:
            self._paused = paused
            self.attempts.remove(mine)
            if mine.dead:
                for descriptor in mine.opened:
                    os.close(descriptor)

    def change_over(self, others: AtWork) -> AtWork:
        """Those of another thread are at work now; returns who was."""
        mine = AtWork(self.attempts, self._paused)
        self.attempts, self._paused = others.attempts, others.paused
        return mine

    @contextmanager
    def paused(self) -> Iterator[None]:
        """The script itself acts."""
        self._paused += 1
        try:
            yield
        finally:
            self._paused -= 1

    def before(self, kind: str, about: Callable[[], str] = str) -> tuple[Attempt, list[Fault]] | None:
        """An operation on the path ``about`` comes; returns whose it is and its faults, if it is a function's."""
        mine = self.current
        if mine is None:
            return None
        if mine.dead:
            raise Killed
        if kind in _OPENING and mine.state in ("verify", "digest"):
            mine.run.opened.add(about())
        due = [one for one in self._due(mine, kind) if not one.path or about().endswith(f"/{one.path}")]
        self.about = about
        for fault in due:
            if not fault.after:
                self._happen(fault, mine, kind)
        return mine, due

    def after(self, passed: tuple[Attempt, list[Fault]] | None, kind: str = "", about: Callable[[], str] = str) -> None:
        """It has happened."""
        if passed is None:
            return
        mine, due = passed
        if kind == "os:stat" and mine.state == "delete" and STAGING not in about():
            self.looked = about()
        for fault in due:
            if fault.after:
                self._happen(fault, mine, fault.kind)

    def _due(self, mine: Attempt, kind: str) -> list[Fault]:
        """The faults of an operation by its kind, its channel, or either in the state at work: ``copy/os:open``."""
        run, channel = mine.run, kind.partition(":")[0]
        names = (kind, channel, "any", f"{mine.state}/{kind}", f"{mine.state}/any")
        for name in names:
            run.counts[name] += 1
        counts = run.counts
        return [one for one in run.faults if one.kind in names and one.at <= counts[one.kind] < one.at + one.times]

    def _happen(self, fault: Fault, mine: Attempt, kind: str) -> None:
        if fault.what in REFUSALS:
            if not kind.startswith("os:"):
                return
            self.told[fault.what] += 1
            number = getattr(errno, fault.what)
            raise OSError(number, os.strerror(number))
        if fault.what == "no answer of the ledger":
            if kind.startswith("ledger:"):
                self.told[fault.what] += 1
                raise Transient("the ledger does not answer")
            return
        if fault.what.startswith("S3: "):
            return  # the S3 tells it
        self.told[fault.what] += 1
        if fault.what == INTERRUPTED:
            interrupted(mine.state)
        if fault.what in ("kill", "stop", ENDED):
            mine.dead = True
            mine.run.lost_as = STALLED if fault.what == ENDED else LOST
            mine.run.stopped = mine.run.stopped or fault.what == "stop"
            raise Killed
        with self.paused():
            self.perform(fault, mine)
