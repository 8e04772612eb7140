"""Where a run keeps what it replaces or deletes; docs/how-to/keep-what-is-there.md is the contract."""

from __future__ import annotations

from fanout.model.errors import InvalidRequest
from fanout.model.location import Location, MountLocation, overlap, parse_location

_FIELD = "backup_to"


def parse_backup(text: str, source: Location, destination: Location, mounts: tuple[str, ...]) -> MountLocation:
    """The directory of ``backup_to``. Raises ``InvalidRequest`` where the destination's files cannot be kept there."""
    if destination.is_keyed:
        problem = f"the destination {destination} is a bucket, in which nothing is kept by a link"
        remedy = "leave it out and turn on the bucket's versioning, which keeps what a run replaces or deletes"
        raise InvalidRequest(_FIELD, problem, remedy)
    found = parse_location(_FIELD, text, mounts)
    if not isinstance(found, MountLocation) or found.mount != destination.mount:
        problem = f"{found} does not lie on the file system of the destination {destination}"
        raise InvalidRequest(_FIELD, problem, f"name a directory of it, as efs://{destination.mount}/backups")
    for name, end in (("destination", destination), ("source", source)):
        if overlap(found, end):
            problem = f"{found} is equal to, inside or above the {name} {end}"
            raise InvalidRequest(_FIELD, problem, f"name a directory that shares no entry with the {name}")
    return found
