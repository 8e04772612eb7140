"""The errors for a source and a destination that are one place, or of which one lies in the other."""

from __future__ import annotations

from fanout.model.errors import InvalidRequest
from fanout.request.request import Request


def same_place(request: Request, seen: str, path: str) -> InvalidRequest:
    """The error for two mounts: the end ``seen`` is met in a directory of the other end's mount.

    A ``backup_to`` that lies in that directory is what is wrong.
    """
    kept = request.backup_to
    if seen == "source" and kept is not None and kept.place.startswith(path):
        problem = f"{kept} lies in the source {request.source}, which is seen as efs://{kept.mount}/{path}"
        return InvalidRequest("backup_to", problem, "name a directory outside the source")
    ends = {"source": request.source, "destination": request.destination}
    one = ends.pop(seen)
    (other,) = ends.values()
    return overlapping(request, f"{one} is seen as efs://{other.mount}/{path}")


def overlapping(request: Request, found: str) -> InvalidRequest:
    """The error; ``found`` says which name leads where."""
    source, destination = request.source, request.destination
    problem = f"{destination} is the same place as the source {source}, or one of them lies in the other: {found}"
    return InvalidRequest("destination", problem, "name a tree that shares no entry with the source")
