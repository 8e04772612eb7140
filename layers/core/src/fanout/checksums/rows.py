"""Rows of S3 Batch Operations: of the manifest that it reads, and of the report that it writes.

docs.aws.amazon.com/AmazonS3/latest/userguide/batch-ops-create-job.html and batch-ops-examples-reports.html. Keys are
URL-encoded in both. Of the seven columns of a report those of the error and of the HTTP status come in either order,
so neither is read. Of what S3 computed it says in JSON: checksum_base64, etag, checksumAlgorithm and checksumType.
"""

from __future__ import annotations

import binascii
import csv
import hashlib
import io
from collections.abc import Collection, Iterable, Iterator
from typing import Any
from urllib.parse import quote_plus, unquote_plus

from msgspec import Struct

from fanout.model.checksum import ALGORITHMS, CRC64NVME, FULL_OBJECT, Sums, in_common
from fanout.model.document import json_value
from fanout.model.entry import bare

_COLUMNS = 7


class Computed(Struct, frozen=True):
    """A checksum that S3 computed, as it writes it, and the ETag of the object that it is of."""

    etag: str
    crc64nvme: str


def manifest_row(bucket: str, key: str, version: str) -> str:
    """A line of a manifest; with the version if there is one."""
    return ",".join((bucket, quote_plus(key, safe="/"), *([version] if version else []))) + "\n"


def report_files(manifest: bytes, bucket: str, prefix: str) -> list[tuple[str, str]]:
    """The name below ``prefix`` and the MD5 of each file of a report, by its manifest.json.

    Raises ``ValueError`` for a manifest that is none, or that names a file elsewhere.
    """
    found = []
    document: Any = json_value(manifest)
    try:
        for one in document["Results"]:
            key = one["Key"]
            if one["Bucket"] != bucket or not key.startswith(prefix) or ".." in key:
                raise ValueError(f"{one['Bucket']}/{key} does not lie below {bucket}/{prefix}")
            found.append((key.removeprefix(prefix), one["MD5Checksum"]))
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"it is no report: {error!r}") from error
    return found


def report_rows(data: bytes, md5: str) -> Iterator[list[str]]:
    """The rows of a file of a report. Raises ``ValueError`` for bytes that are not those of the MD5, or no rows."""
    if hashlib.md5(data, usedforsecurity=False).hexdigest() != md5:
        raise ValueError(f"it is not the file of MD5 {md5}")
    try:
        yield from csv.reader(io.TextIOWrapper(io.BytesIO(data), "utf-8", newline=""), strict=True)
    except csv.Error as error:
        raise ValueError(f"it holds no rows: {error}") from error


def computed_in(
    rows: Iterable[list[str]], bucket: str, prefix: str, wanted: Collection[str] | None
) -> dict[tuple[str, str], str]:
    """The CRC64NVME by path and ETag, of the paths that are wanted, or all, whose rows do not contradict each other.

    A row that failed, is of another bucket, or says anything else than was asked for, is left out.
    """
    found: dict[tuple[str, str], str] = {}
    refuted: set[tuple[str, str]] = set()
    for row in rows:
        if len(row) != _COLUMNS or row[0] != bucket or row[3] != "succeeded":
            continue
        key = unquote_plus(row[1])
        path = key.removeprefix(prefix)
        if not key.startswith(prefix) or (wanted is not None and path not in wanted):
            continue
        one = _computed(row[-1])
        if one is not None and found.setdefault((path, one.etag), one.crc64nvme) != one.crc64nvme:
            refuted.add((path, one.etag))
    return {place: checksum for place, checksum in found.items() if place not in refuted}


def _computed(message: str) -> Computed | None:
    try:
        said = json_value(message)
        etag, checksum = bare(said["etag"]), said["checksum_base64"]
        if (said["checksumAlgorithm"], said["checksumType"]) != (CRC64NVME, FULL_OBJECT) or not etag:
            return None
        length = len(binascii.a2b_base64(checksum, strict_mode=True))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return Computed(etag, checksum) if length == ALGORITHMS[CRC64NVME].length else None


SOURCE, DESTINATION = "source", "destination"


def to_compute(known: dict[str, Sums]) -> tuple[str, ...]:
    """The ends whose checksum S3 is to compute; ``known`` holds the stored checksums of each end that is a bucket.

    | source                | destination           | computed                            |
    |-----------------------|-----------------------|-------------------------------------|
    | on a mount            | tells a checksum      | none: the bytes of the mount tell it |
    | on a mount            | tells none            | the destination's                   |
    | tells a checksum      | on a mount            | none                                |
    | tells none            | on a mount            | the source's                        |
    | tells one that the destination tells too      | | none                                |
    | tells none that the destination tells too     | | CRC64NVME of each that lacks it     |
    """
    if len(known) == 1:
        return tuple(end for end, sums in known.items() if not sums)
    if in_common(known[SOURCE], known[DESTINATION]):
        return ()
    return tuple(end for end, sums in known.items() if CRC64NVME not in sums)
