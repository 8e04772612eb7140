"""S3's XML answers as values."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from urllib.parse import unquote_plus
from xml.etree import ElementTree

from msgspec import Struct

from fanout.domain.errors import Transient

_EPOCH = datetime.fromtimestamp(0, UTC)
_NAMESPACE = b' xmlns="http://s3.amazonaws.com/doc/2006-03-01/"'


class Part(Struct, frozen=True):
    """A part of a multipart upload, its checksum as S3 writes it."""

    number: int
    etag: str
    crc64nvme: str = ""


class Copied(Struct, frozen=True):
    """What S3 says of an object that it made; ``crc64nvme`` is empty where it gives no checksum."""

    etag: str
    crc64nvme: str = ""


class PartPage(Struct, frozen=True):
    """A page of ListParts; ``next_marker`` is 0 on the last one."""

    parts: list[Part]
    next_marker: int


class Upload(Struct, frozen=True):
    """A multipart upload that is neither completed nor aborted."""

    key: str
    upload_id: str
    initiated_ns: int


class UploadPage(Struct, frozen=True):
    """A page of ListMultipartUploads; the markers are empty on the last one."""

    uploads: list[Upload]
    next_key_marker: str
    next_upload_id_marker: str


def parse_document(body: bytes) -> ElementTree.Element:
    """The root of a document, its names without S3's namespace. Raises ``Transient`` for what is none."""
    try:
        return ElementTree.fromstring(body.replace(_NAMESPACE, b"", 1))
    except ElementTree.ParseError as exc:
        raise Transient(f"S3 answered with {len(body)} bytes that are no XML: {exc}") from exc


def parse_upload_page(body: bytes) -> UploadPage:
    """The page of a ListMultipartUploads answer."""
    root = parse_document(body)
    decode = _decoder(root)
    uploads = [
        Upload(
            decode(upload.findtext("Key", "")),
            upload.findtext("UploadId", ""),
            to_nanoseconds(upload.findtext("Initiated", "")),
        )
        for upload in root.iter("Upload")
    ]
    if root.findtext("IsTruncated") != "true":
        return UploadPage(uploads, "", "")
    return UploadPage(uploads, decode(root.findtext("NextKeyMarker", "")), root.findtext("NextUploadIdMarker", ""))


def parse_part_page(body: bytes) -> PartPage:
    """The page of a ListParts answer."""
    root = parse_document(body)
    parts = [
        Part(int(part.findtext("PartNumber", "0")), part.findtext("ETag", ""), part.findtext("ChecksumCRC64NVME", ""))
        for part in root.iter("Part")
    ]
    truncated = root.findtext("IsTruncated") == "true"
    return PartPage(parts, int(root.findtext("NextPartNumberMarker", "0")) if truncated else 0)


def parse_delete_errors(body: bytes) -> dict[str, str]:
    """S3's error code for each key that DeleteObjects did not delete."""
    return {error.findtext("Key", ""): error.findtext("Code", "") for error in parse_document(body).iter("Error")}


def _quoted(etag: str) -> str:
    """An ETag as the headers write it; some servers leave the quotes out in a document."""
    return etag if etag.startswith('"') or not etag else f'"{etag}"'


def parse_copied(body: bytes) -> Copied:
    """The answer to CopyObject, UploadPartCopy or CompleteMultipartUpload."""
    root = parse_document(body)
    return Copied(_quoted(root.findtext("ETag", "")), root.findtext("ChecksumCRC64NVME", ""))


def parse_tags(body: bytes) -> dict[str, str]:
    """The tags of a GetObjectTagging answer."""
    return {tag.findtext("Key", ""): tag.findtext("Value", "") for tag in parse_document(body).iter("Tag")}


def parse_text(body: bytes, element: str) -> str:
    """The text of the first element of that name right below the root; empty without one."""
    return parse_document(body).findtext(element, "")


def to_nanoseconds(timestamp: str) -> int:
    """Nanoseconds since 1970 of an ISO 8601 time."""
    since = datetime.fromisoformat(timestamp) - _EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000_000 + since.microseconds * 1000


def to_seconds(http_date: str) -> int:
    """Seconds since 1970 of a header's time. Raises ``Transient`` where S3 sends none."""
    from email.utils import parsedate_to_datetime  # only what looks up single objects needs it

    try:
        return int(parsedate_to_datetime(http_date).timestamp())
    except ValueError as exc:
        raise Transient(f"S3 answered with {http_date!r} for a time") from exc


def _decoder(root: ElementTree.Element) -> Callable[[str], str]:
    return unquote_plus if root.findtext("EncodingType") == "url" else str
