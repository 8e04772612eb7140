"""Names that a run is handed and removes: only of one entry of the directory that it is told."""

from __future__ import annotations

from fanout.model.errors import ItemError
from fanout.model.outcome import Reason


def one_name(name: str) -> None:
    """Raise ``ItemError`` for what is not the name of one entry of a directory."""
    if not name or "/" in name or "\0" in name or name in (".", ".."):
        raise ItemError(Reason.NAME_DOT, f"{name!r} is not the name of an entry")


def leads_out(place: str) -> bool:
    """Whether a path of the mount, empty or with ``/`` at its end, may lead out of it by its components."""
    return bool(place) and any(part in ("", ".", "..") for part in place.removesuffix("/").split("/"))
