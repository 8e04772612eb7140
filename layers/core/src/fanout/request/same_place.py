"""The refusal of a request whose ends are one place, or lie in each other, whatever they are called."""

from __future__ import annotations

from fanout.model.errors import InvalidRequest
from fanout.request.request import Request


def same_place(request: Request, seen: str, path: str) -> InvalidRequest:
    """The error for two mounts: the end ``seen`` is met in a directory of the other end's mount."""
    ends = {"source": request.source, "destination": request.destination}
    one = ends.pop(seen)
    (other,) = ends.values()
    return overlapping(request, f"{one} is seen as efs://{other.mount}/{path}")


def overlapping(request: Request, found: str) -> InvalidRequest:
    """The error; ``found`` says which name leads where."""
    source, destination = request.source, request.destination
    problem = f"{destination} is the same place as the source {source}, or one of them lies in the other: {found}"
    return InvalidRequest("destination", problem, "name a tree that shares no entry with the source")
