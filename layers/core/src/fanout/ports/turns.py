"""Whose turn it is to write to a destination: the runs that hold a place of a store, as use cases ask for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import Executor
from typing import Protocol

from msgspec import Struct

from fanout.model.location import Location
from fanout.model.path_rules import PlainName
from fanout.request.plan import Plan


class Fence(Struct, frozen=True):
    """A run that has ended and may have left functions at work below ``place``, from which its right to write
    is to be taken."""

    place: str
    run_id: PlainName


class Writer(Struct, frozen=True):
    """A run that writes below ``place``, a path or prefix of its store that is empty or ends in ``/``.

    ``execution`` is the ARN of its execution, ``transfer`` a digest that runs of the same transfer share. ``names``:
    the run copies the entries of a manifest. ``since``: when it began, in seconds since 1970. ``fences`` are the runs
    that it took out of the list of a mount, and fences before it lists anything. ``staged`` is where it stages; empty
    for ``place``. ``elsewhere`` are the lists of the stack's other mounts, which may show the same directory, and
    ``ended_there`` the runs in them that had ended. ``is_over``: it had ended when a later run entered another list
    whose mount may show the same directory.
    """

    run_id: PlainName
    execution: str
    place: str
    transfer: str
    mode: str
    names: bool
    since: float
    fences: tuple[Fence, ...] = ()
    staged: str = ""
    elsewhere: tuple[str, ...] = ()
    ended_there: tuple[PlainName, ...] = ()
    is_over: bool = False


class Turn(Struct, frozen=True):
    """The other runs, as a run that has its turn must know them: those to fence, and those that write at the same time.

    ``elsewhere`` are those, by their names, that may write to another mount: a staging directory of one of them shows
    that this mount and that one are one directory.
    """

    fences: tuple[Fence, ...] = ()
    concurrent: frozenset[str] = frozenset()
    elsewhere: Mapping[str, Writer] = {}


class Turns(Protocol):
    """The runs that write to each store, of which two never write to the same tree at the same time."""

    def take(self, plan: Plan, execution: str, versions: str = "") -> Writer | None:
        """Enter a run that writes; returns a running run of the same transfer, if there is one.

        ``versions`` names what the run reads once, such as a list of entries: runs that read others are not the same.
        Raises ``DestinationBusy`` if another running run must end first.
        """

    def look_ahead(self, ends: Iterable[Location], pool: Executor) -> None:
        """Begin to read what the next ``take`` or ``release`` of a run that writes these ends reads first."""

    def ask(self, plan: Plan, end: Location) -> None:
        """Raise ``Superseded`` where a run has its turn at an end no more; one request, never answered by a cache."""

    def turn(self, plan: Plan, end: Location) -> Turn:
        """The other runs at an end that a run writes, which has its turn. Raises ``Superseded`` where it lost it."""

    def release(self, plan: Plan) -> None:
        """Take a run out that has nothing left at work."""
