"""Rules of requests that publish, and of those that publish an old version again."""

from __future__ import annotations

import re

from fanout.model.errors import InvalidRequest
from fanout.model.location import Location, MountLocation
from fanout.request.options import Compare, Overwrite
from fanout.request.parts.publish import version_place
from fanout.request.request import Request

# As the id of a run, of which a version has its name.
_VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,79}")
_ROLLBACK = "use fanout rollback, or name mode copy"


def check_publish(request: Request) -> None:
    """Raise ``InvalidRequest`` for what cannot be published, or cannot be gone back to."""
    if request.course.goes_back:
        _check_rollback(request)
    elif request.publish is not None:
        _check_publish(request)


def _check_publish(request: Request) -> None:
    source, destination = request.source, request.destination
    if destination.is_keyed:
        problem = f"the destination {destination} is a bucket, which has no symlinks"
        raise InvalidRequest("publish", problem, "name efs://, or turn on the bucket's versioning, which undoes a copy")
    if request.between_mounts:
        problem = f"the ends {source} and {destination} lie on two file systems"
        raise InvalidRequest("publish", problem, "with it, a source in S3 or on the destination's own file system")
    refused: tuple[tuple[str, bool, str, str], ...] = (
        ("manifest", request.manifest is not None, "a version is a whole tree", "leave it out"),
        (
            "backup_to",
            request.backup_to is not None,
            "old versions are the backup",
            "leave it out, and say publish.keep",
        ),
        ("overwrite", request.overwrite is not Overwrite.ALWAYS, "in a new version there is nothing to keep", "always"),
        (
            "compare",
            request.compare is Compare.CHECKSUM,
            "an entry is linked where its source is as it was when the version before was made",
            "size-mtime, or always, which copies all",
        ),
    )
    for field, is_wrong, problem, allowed in refused:
        if is_wrong:
            raise InvalidRequest(field, problem, f"with publish: {allowed}")


def _check_rollback(request: Request) -> None:
    source, destination = request.source, request.destination
    if request.publish is None:
        raise InvalidRequest("publish", "is missing: mode rollback needs the link to switch", _ROLLBACK)
    if version_of(source, destination) is None:
        problem = f"{source} is no version of {destination}"
        known = "fanout versions lists them" if isinstance(destination, MountLocation) else "a bucket has none"
        raise InvalidRequest("source", problem, f"name {str(destination).rstrip('/')}/versions/ID; {known}")


def version_of(source: Location, destination: Location) -> str | None:
    """The version of the destination that a source names; ``None`` where it names none."""
    if source.is_keyed or source.store != destination.store:
        return None
    above = version_place(destination.place, "")[:-1]
    name = source.place.removeprefix(above).removesuffix("/")
    return name if source.place.startswith(above) and _VERSION.fullmatch(name) else None
