"""A run with a limit that may end it."""

from __future__ import annotations

from fanout.model.document import Json
from fanout.model.entry import Kind
from fanout.summary.summarise_transfer import summarise_transfer
from tests.support.flow import ManualClock, World
from tests.support.memory import MemoryTree

FILES = 40


def filled(clock: ManualClock | None = None) -> World:
    world = World(clock=clock or ManualClock())
    assert isinstance(world.source, MemoryTree)
    for number in range(FILES):
        world.source.put(f"d{number % 4}/f{number}", Kind.FILE, b"x" * 50)
    return world


def ended(caught: Json, world: World) -> str:
    """The error of a run that ends now; the summary of an end before is taken away, since it would stay."""
    world.store.remove([f"{world.ledger.prefix}summary.json"])
    return str(summarise_transfer(caught, world.context())["error"])
