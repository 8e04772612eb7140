"""Registers writing runs: a run is entered in the list of each end that it writes before it does, and removed after.

``turns.meeting`` decides which runs may write at the same time.

A list is one object per store (a bucket or a mount). Only conditional writes change it, so if two runs come at
once, one sees the other. A run that was stopped or broke down never removes itself. The next run therefore asks
Step Functions whether a listed run is active, and removes it if not. The removed run's functions may still be
at work. On a mount the next run fences them (CheckMount); until then its own entry names the runs to fence.

Two mounts of one file system have two lists, so a run looks at the other mount's list before it enters and after. Of
two that come at once at least one sees the other, and gives way. A run that has ended stays in the other mount's list
for the next run there, which fences it; the list says that its turn is over.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Executor, Future
from functools import cache

from msgspec import Struct
from msgspec.structs import replace

from fanout.ledger.documents import AnotherVersion, document_of, document_row
from fanout.ledger.run_places import LOCKS
from fanout.model.document import Lasting, json_value
from fanout.model.errors import DestinationBusy, LedgerBroken, PreconditionFailed, Superseded, Transient
from fanout.model.location import Location, MountLocation, nest
from fanout.ports.aws import Executions
from fanout.ports.clock import Clock
from fanout.ports.store import Versioned, VersionedStore
from fanout.ports.turns import Fence, Turn, Writer
from fanout.request.plan import Plan
from fanout.request.request import is_fenced
from fanout.request.same_transfer import same_transfer_digest
from fanout.turns.meeting import Meeting, meeting, meeting_by_another_mount


class Writers(Lasting, frozen=True):
    """The runs that write to one store, also those that an earlier version of the product entered."""

    writers: list[Writer]


def writer_of(plan: Plan, end: Location, execution: str, now: float, versions: str = "") -> Writer:
    """A run as it is entered in the list of an end that it writes; ``versions`` names what it reads once."""
    request = plan.request
    digest = same_transfer_digest(request) + versions
    names = request.manifest is not None
    staged = plan.staging_place if plan.version else ""
    return Writer(plan.run_id, execution, end.place, digest, request.mode.value, names, now, staged=staged)


def place_text(end: Location, place: str) -> str:
    """A place in the store of a destination, for people."""
    return f"s3://{end.bucket}/{place}" if end.is_keyed else f"efs://{end.mount}/{place.rstrip('/')}"


def list_key(end: Location) -> str:
    """Where the work bucket holds the list of those who write to the store of an end, a bucket or a mount."""
    return f"{LOCKS}{end.store}.json"


def _list_of(mount: str) -> str:
    return list_key(MountLocation(mount, ""))


def writers_bytes(writers: Iterable[Writer]) -> bytes:
    return json.dumps(document_row(Writers(list(writers))), indent=1).encode()


def writers_from_bytes(data: bytes) -> list[Writer]:
    """The list as it was stored, the one that began first at first; nothing stored is an empty list."""
    found = document_of(json_value(data), Writers).writers if data else []
    return sorted(found, key=lambda writer: writer.since)


def fence_of(writer: Writer) -> tuple[Fence, ...]:
    """The runs to fence when an ended writer is removed: itself, and those that it may not have fenced."""
    return (*writer.fences, Fence(writer.staged or writer.place, writer.run_id))


# Chosen: each attempt that fails is another run's that succeeded.
ATTEMPTS = 50
PAUSE_SECONDS = 0.05
# Chosen: so many of the oldest runs that block no other run are checked each time, so that dead ones are removed.
OLDEST_ASKED = 5


class WriteTurns(Struct, frozen=True):
    """The lists in the work bucket; for ``take``, all ``mounts`` of the stack and the ids of their ``file_systems``."""

    store: VersionedStore
    executions: Executions
    clock: Clock
    mounts: tuple[str, ...] = ()
    file_systems: Mapping[str, str] = {}
    ahead: dict[str, Future[Versioned]] = {}

    def look_ahead(self, ends: Iterable[Location], pool: Executor) -> None:
        """See ``ports.turns.Turns``. A list that changes meanwhile is read again: it is written by its version."""
        for key in dict.fromkeys(map(list_key, ends)):
            self.ahead[key] = pool.submit(self.store.read_version, key)

    def take(self, plan: Plan, execution: str, versions: str = "") -> Writer | None:
        """See ``ports.turns.Turns``. The lists are changed one after the other, each by its version."""
        goes_on = cache(self.executions.running)
        self._meet_by_another_mount(plan, execution, goes_on)
        # In one order, so that two moves in opposite directions do not wait for each other.
        for end in sorted(plan.request.written_ends, key=lambda one: (one.store, one.place)):
            mine = writer_of(plan, end, execution, self.clock.now(), versions)
            mine = self._looked_elsewhere(mine, end, goes_on)
            other = self._enter(plan, end, mine, goes_on)
            if other is not None:
                return other
        try:
            self._meet_by_another_mount(plan, execution, cache(self.executions.running))
        except DestinationBusy:
            self.release(plan)
            raise
        return None

    def _meet_by_another_mount(self, plan: Plan, execution: str, goes_on: Callable[[str], bool]) -> None:
        """Raise ``DestinationBusy`` for an active run at another mount of the same file system."""
        for end in plan.request.written_ends:
            mine = writer_of(plan, end, execution, self.clock.now())
            for name in self._beside(end):
                there = MountLocation(name, "")
                for one in self._writers(list_key(there)):
                    if meeting_by_another_mount(mine, one) is Meeting.WAITS and goes_on(one.execution):
                        raise _busy(plan, end, one, place_text(there, one.place))

    def _beside(self, end: Location) -> Iterator[str]:
        """The other mounts of the file system that an end lies on, as far as the ids tell."""
        here = self.file_systems.get(end.mount) if is_fenced(end) else None
        return (name for name in self.mounts if here and name != end.mount and self.file_systems.get(name) == here)

    def _looked_elsewhere(self, mine: Writer, end: Location, goes_on: Callable[[str], bool]) -> Writer:
        """The writer with the lists of the other mounts, and the runs in them that have ended."""
        if not is_fenced(end):
            return mine
        lists = tuple(_list_of(name) for name in self.mounts if name != end.mount)
        ended = (run_id for key in lists for run_id in self._end_turns(key, end, mine, goes_on))
        return replace(mine, elsewhere=lists, ended_there=tuple(ended))

    def _end_turns(self, key: str, end: Location, mine: Writer, goes_on: Callable[[str], bool]) -> list[str]:
        """The runs of another mount's list that have ended, whose turn is over where both may show one file system."""
        may_be_one = not self._are_two(end.mount, key)
        for number in range(ATTEMPTS):
            stored, version = self._stored(key)
            ended = [one.run_id for one in stored if not goes_on(one.execution)]
            left = [
                replace(one, is_over=True) if one.run_id in ended and one.run_id != mine.run_id else one
                for one in stored
            ]
            if left == stored or not may_be_one or self._written(key, left, version, number):
                return ended
        raise Transient(f"{key} was changed by others {ATTEMPTS} times")

    def _are_two(self, mount: str, key: str) -> bool:
        """Whether a mount, and the one of a list, are known to show two file systems."""
        ids = {self.file_systems.get(name, "") for name in self.mounts if name == mount or _list_of(name) == key}
        return len(ids) == 2 and "" not in ids

    def _writers(self, key: str) -> list[Writer]:
        return self._stored(key)[0]

    def _stored(self, key: str, ahead: Future[Versioned] | None = None) -> tuple[list[Writer], str]:
        """A list as it is stored, and its version. Raises ``LedgerBroken`` for one that somebody else wrote."""
        found = self.store.read_version(key) if ahead is None else ahead.result()
        try:
            return writers_from_bytes(found.data), found.version
        except AnotherVersion as error:
            remedy = "deploy the versions between one after the other, or remove that object while no run is at work"
            raise LedgerBroken(f"{key} was written by another version of the product ({error}); {remedy}") from error
        except ValueError as error:
            remedy = "while no run of this stack is at work, remove that object"
            raise LedgerBroken(f"{key} is not whole ({str(error)[:200]}); {remedy}") from error

    def _enter(self, plan: Plan, end: Location, mine: Writer, goes_on: Callable[[str], bool]) -> Writer | None:
        key = list_key(end)
        for number in range(ATTEMPTS):
            stored, version = self._stored(key, self.ahead.pop(key, None))
            others = [one for one in stored if one.run_id != mine.run_id]
            in_the_way = [one for one in others if meeting(mine, one) is not Meeting.APART]
            near = [one for one in others if is_fenced(end) and nest(mine.place, one.place)]
            asked = dict.fromkeys([*in_the_way, *near, *others[:OLDEST_ASKED]])
            ended = [one for one in asked if not goes_on(one.execution)]
            for other in in_the_way:
                if other not in ended:
                    return _give_way(plan, end, mine, other)
            left = [one for one in stored if one not in ended and not _is_same(one, mine)]
            entered = replace(mine, fences=_fences(end, mine, stored, ended))
            if self._written(key, [*left, entered], version, number):
                return None
        raise Transient(f"{key} was changed by others {ATTEMPTS} times")

    def ask(self, plan: Plan, end: Location) -> None:
        """Raise ``Superseded`` where the list of an end's store does not have the run any more; reads it once."""
        _entered(plan, end, self._writers(list_key(end)))

    def turn(self, plan: Plan, end: Location) -> Turn:
        """Whom a run that has its turn fences at an end that it writes, and who writes there at the same time.

        Raises ``Superseded`` if it has its turn no more.
        """
        stored = self._writers(list_key(end))
        mine = _entered(plan, end, stored)
        fenced = {fence.run_id for fence in mine.fences}
        ended = {plan.run_id, *mine.ended_there}
        elsewhere = {one.run_id: one for key in mine.elsewhere for one in self._writers(key) if one.run_id not in ended}
        return Turn(mine.fences, frozenset(one.run_id for one in stored if one.run_id not in fenced), elsewhere)

    def release(self, plan: Plan) -> None:
        """Take a run out that has ended and left nothing at work; one that is not in the list stays out."""
        for key in dict.fromkeys(map(list_key, plan.request.written_ends)):
            self._leave(plan, key)

    def _leave(self, plan: Plan, key: str) -> None:
        for number in range(ATTEMPTS):
            stored, version = self._stored(key, self.ahead.pop(key, None))
            left = [one for one in stored if one.run_id != plan.run_id]
            if len(left) == len(stored) or self._written(key, left, version, number):
                return
        raise Transient(f"{key} was changed by others {ATTEMPTS} times")

    def _written(self, key: str, writers: list[Writer], version: str, number: int) -> bool:
        try:
            self.store.write_version(key, writers_bytes(writers), version)
        except PreconditionFailed:
            self.clock.sleep(PAUSE_SECONDS * min(number, 10))
            return False
        return True


def _entered(plan: Plan, end: Location, stored: list[Writer]) -> Writer:
    """The run as a list has it. Raises ``Superseded`` for one that the list does not have, or that has ended."""
    for one in stored:
        if (one.run_id, one.place) == (plan.run_id, end.place) and not one.is_over:
            return one
    raise Superseded(plan.run_id, f"it has its turn at {end} no more, since a later run wrote there; start it again")


def _is_same(one: Writer, mine: Writer) -> bool:
    """Whether an earlier attempt entered this."""
    return (one.run_id, one.place) == (mine.run_id, mine.place)


def _fences(end: Location, mine: Writer, stored: list[Writer], ended: list[Writer]) -> tuple[Fence, ...]:
    """Whom a run fences: those that it takes out and, where an attempt entered it already, those of that one."""
    if not is_fenced(end):
        return ()
    kept = [fence for one in stored if _is_same(one, mine) for fence in one.fences]
    return tuple(dict.fromkeys([*kept, *(fence for one in ended for fence in fence_of(one))]))


def _give_way(plan: Plan, end: Location, mine: Writer, other: Writer) -> Writer:
    if meeting(mine, other) is Meeting.SAME:
        return other
    raise _busy(plan, end, other, place_text(end, other.place))


def _busy(plan: Plan, end: Location, other: Writer, held: str) -> DestinationBusy:
    field = "destination" if end == plan.request.destination else "source"
    return DestinationBusy(str(end), other.run_id, other.mode, held, field)
