"""The segments that a run begins with: the whole tree, or the parts of a manifest."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from hashlib import sha256

from msgspec.structs import replace

from fanout.facts import tuning
from fanout.listing.manifests.inventory import read_inventory
from fanout.listing.manifests.manifest_lines import ManifestLines
from fanout.listing.manifests.manifest_rows import BrokenRow, csv_row
from fanout.model.errors import InvalidRequest, NotFound
from fanout.model.location import S3Location
from fanout.model.segment import ManifestPart, Rows, Segment
from fanout.ports.aws import ObjectFound, ObjectReader
from fanout.request.manifest import ENCODED_KEY, KEY, PATH, ManifestLocation
from fanout.request.request import Request
from fanout.work.parallel import side_by_side

_LOOKUPS_IN_FLIGHT = 32


def first_round(request: Request, objects: ObjectReader) -> list[Segment]:
    """At least one segment. Raises ``InvalidRequest`` for a manifest that is not there or cannot be read."""
    if request.manifest is None:
        return [Segment("0001-000000")]
    parts = _inventory_parts if request.manifest.is_inventory else _row_parts
    found = list(parts(request.manifest, request, objects))
    return [Segment(f"0001-{number:06d}", manifest=part) for number, part in enumerate(found)]


def versions_read(pieces: Iterable[Segment]) -> str:
    """Names the objects that list a run's entries, each by its version; empty for a run that lists a tree."""
    parts = {(piece.manifest.key, piece.manifest.etag) for piece in pieces if piece.manifest is not None}
    return sha256(json.dumps(sorted(parts)).encode()).hexdigest() if parts else ""


def _find(location: ManifestLocation, objects: ObjectReader) -> ObjectFound:
    try:
        return objects.find(location.bucket, location.key)
    except NotFound as error:
        raise InvalidRequest("manifest", f"{location} does not exist", "name an object that does") from error


def _row_parts(location: ManifestLocation, request: Request, objects: ObjectReader) -> Iterator[ManifestPart]:
    for file, found in _files(location, objects):
        rows = Rows.JSONL if ".jsonl" in file.key else Rows.CSV
        whole = ManifestPart(file.key, found.etag, found.size, rows, 0, found.size, line=1)
        yield from _cut(whole if rows is Rows.JSONL else _without_header(whole, file, request, objects))


def _files(location: ManifestLocation, objects: ObjectReader) -> Iterator[tuple[ManifestLocation, ObjectFound]]:
    """The manifest; where it is what a run left to be tried again, the further files of that too."""
    yield location, _find(location, objects)
    number = 2
    while location.is_failures:
        further = replace(location, key=location.key.removesuffix(".jsonl") + f"-{number}.jsonl")
        try:
            yield further, objects.find(further.bucket, further.key)
        except NotFound:
            return
        number += 1


def _without_header(
    part: ManifestPart, location: ManifestLocation, request: Request, objects: ObjectReader
) -> ManifestPart:
    """The part with its columns, after the row that names them if it has one."""
    lines = ManifestLines(objects, location, part)
    header = next(iter(lines), b"")
    try:
        if header is None:
            raise BrokenRow(f"has over {tuning.MANIFEST_ROW_BYTES:,} bytes")
        fields = [field.strip().lower() for field in csv_row(header.decode("utf-8", "surrogateescape"))]
    except BrokenRow as error:
        raise InvalidRequest("manifest", f"line 1 of {location} {error}", "see docs/how-to/manifests.md") from error
    if PATH in fields or (request.source.is_keyed and not {KEY, ENCODED_KEY}.isdisjoint(fields)):
        return replace(lines.rest, columns=tuple(fields))
    if len(fields) > 1:
        problem = f"the first row of {location} has {len(fields)} fields, none of them named path or, of a bucket, key"
        allowed = "begin with a row that names the columns, for S3 Batch Operations bucket,encoded_key"
        raise InvalidRequest("manifest", problem, allowed)
    return replace(part, columns=(PATH,))


def _cut(part: ManifestPart) -> Iterator[ManifestPart]:
    if part.is_compressed:
        yield part
        return
    for first in range(part.first, max(part.end, part.first + 1), tuning.MANIFEST_PART_BYTES):
        line = part.line if first == part.first else 0
        yield replace(part, first=first, end=min(first + tuning.MANIFEST_PART_BYTES, part.end), line=line)


def _inventory_parts(location: ManifestLocation, request: Request, objects: ObjectReader) -> Iterator[ManifestPart]:
    found = _find(location, objects)
    if not 0 < found.size <= tuning.MANIFEST_JSON_BYTES:
        allowed = f"from 1 to {tuning.MANIFEST_JSON_BYTES} bytes"
        raise InvalidRequest("manifest", f"{location} has {found.size} bytes", allowed)
    document = objects.read(location.bucket, location.key, found.etag, 0, found.size)
    assert isinstance(request.source, S3Location)
    columns, keys = read_inventory(document, location, request.source.bucket)
    files = side_by_side(lambda key: _find(ManifestLocation(location.bucket, key), objects), keys, _LOOKUPS_IN_FLIGHT)
    for key, file in zip(keys, files, strict=True):
        yield ManifestPart(key, file.etag, file.size, Rows.INVENTORY, 0, file.size, line=1, columns=columns)
