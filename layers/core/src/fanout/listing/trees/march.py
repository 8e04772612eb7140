"""The march through two merged listings: four kinds of steps, and nothing that knows what becomes of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from fanout.listing.trees.merge import BothEnds, Columns
from fanout.model.columns import FileColumns, last_path
from fanout.model.entry import Entry


class Marcher(Protocol):
    """Takes what a march meets, in path order. Each answers whether the march ends after it, with more to come."""

    def source_only(self, source: Entry) -> bool: ...

    def destination_only(self, destination: Entry) -> bool: ...

    def both(self, source: Entry, destination: Entry) -> bool: ...

    def files(self, source: FileColumns, destination: FileColumns | None) -> bool:
        """Files of one directory that the destination holds alike, or lacks."""
        ...


def march(met: Iterable[BothEnds | Columns], to: Marcher) -> str | None:
    """Hands everything to the marcher until it ends the march; then the last path, and ``None`` at the natural end."""
    for source, destination in met:
        if isinstance(source, FileColumns):
            assert not isinstance(destination, Entry)
            if to.files(source, destination):
                return last_path(source)
            continue
        assert not isinstance(destination, FileColumns)
        if destination is None:
            assert source is not None
            ends = to.source_only(source)
        elif source is None:
            ends = to.destination_only(destination)
        else:
            ends = to.both(source, destination)
        if ends:
            return (source or destination).path  # type: ignore[union-attr]
    return None
