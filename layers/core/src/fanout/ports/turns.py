"""Whose turn it is to write to a destination: the runs that hold a place of a store, as use cases ask for them."""

from __future__ import annotations

from typing import Protocol

from msgspec import Struct

from fanout.request.plan import Plan


class Fence(Struct, frozen=True):
    """A run that has ended and may have left functions at work below ``place``, from which its right to write
    is to be taken."""

    place: str
    run_id: str


class Writer(Struct, frozen=True):
    """A run that writes below ``place``, a path or prefix of its store that is empty or ends in ``/``.

    ``execution`` is the ARN of the run's execution, ``transfer`` a digest that runs of the same transfer share,
    ``names`` whether the run copies what a manifest names, ``since`` when it began, in seconds since 1970.
    ``fences`` are the runs that it took out of the list of a mount, and fences before it lists anything.
    """

    run_id: str
    execution: str
    place: str
    transfer: str
    mode: str
    names: bool
    since: float
    fences: tuple[Fence, ...] = ()


class Turn(Struct, frozen=True):
    """What a run that has its turn must know of the other ones: whom it fences, and whom it must not."""

    fences: tuple[Fence, ...] = ()
    beside: frozenset[str] = frozenset()


class Turns(Protocol):
    """The runs that write to each store, of which two never write to the same tree at the same time."""

    def take(self, plan: Plan, execution: str) -> Writer | None:
        """Enter a run that writes; returns the run of the same transfer that goes on already, if one does.

        Raises ``DestinationBusy`` where another run that goes on has to end before.
        """

    def turn(self, plan: Plan) -> Turn:
        """What a run that has its turn must know of the others. Raises ``Superseded`` where it lost its turn."""

    def release(self, plan: Plan) -> None:
        """Take a run out that has nothing left at work."""
