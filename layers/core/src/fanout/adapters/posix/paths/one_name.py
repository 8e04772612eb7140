"""Names that a run is handed and removes: only of one entry of the directory that it is given."""

from __future__ import annotations

from fanout.model.errors import ItemError
from fanout.model.path_rules import reason_against_name


def one_name(name: str) -> None:
    """Raise ``ItemError`` for what is not the name of one entry of a directory."""
    reason = reason_against_name(name)
    if reason is not None:
        raise ItemError(reason, f"{name!r} is not the name of an entry")


def leads_out(place: str) -> bool:
    """Whether a path of the mount, empty or with ``/`` at its end, may lead out of it by its components."""
    parts = place.removesuffix("/").split("/")
    return bool(place) and any(reason_against_name(part) is not None for part in parts)
