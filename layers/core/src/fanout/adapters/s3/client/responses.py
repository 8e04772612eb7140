"""S3's XML answers as values."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime
from urllib.parse import unquote_plus
from xml.etree import ElementTree

from msgspec import Struct

from fanout.adapters.s3.client.answers import WrongAnswer
from fanout.model.checksum import to_base64
from fanout.model.errors import Transient

_EPOCH = datetime.fromtimestamp(0, UTC)
# Names under which an access point is asked; its answers may name the bucket behind it.
_ALIASES = ("-s3alias", "--ol-s3")
_NAMESPACE = b' xmlns="http://s3.amazonaws.com/doc/2006-03-01/"'


class Part(Struct, frozen=True):
    """A part of a multipart upload, its checksum as S3 writes it."""

    number: int
    etag: str
    crc64nvme: str = ""


class Copied(Struct, frozen=True):
    """S3's answer about an object that it made; ``crc64nvme`` is empty where it gives no checksum."""

    etag: str
    crc64nvme: str = ""


class Upload(Struct, frozen=True):
    """A multipart upload that is neither completed nor aborted."""

    key: str
    upload_id: str


def parse_document(body: bytes, *roots: str) -> ElementTree.Element:
    """The root of a document, one of ``roots``, its names without a namespace.

    Raises ``WrongAnswer`` for any other document and for what is none.
    """
    try:
        root = ElementTree.fromstring(body.strip().replace(_NAMESPACE, b"", 1))
    except (ElementTree.ParseError, ValueError) as exc:
        raise WrongAnswer(f"{len(body)} bytes that are no XML: {exc}") from exc
    if root.tag.startswith("{"):
        for element in root.iter():
            element.tag = element.tag.rpartition("}")[2]
    if root.tag not in roots:
        raise WrongAnswer(f"a document {root.tag[:40]} in place of {roots[0]}")
    return root


def required(element: ElementTree.Element, name: str) -> str:
    """The text of a child. Raises ``WrongAnswer`` where there is none."""
    text = element.findtext(name)
    if not text:
        raise WrongAnswer(f"a {element.tag} without {name}")
    return text


def echoed(root: ElementTree.Element, name: str, asked: str) -> None:
    """Raise ``WrongAnswer`` if the answer says that something else was asked; an encoded echo counts as the same."""
    said = root.findtext(name)
    if said is not None and asked not in (said, unquote_plus(said)):
        raise WrongAnswer(f"{name} is {said!r}, {asked!r} was asked for")


def echoed_bucket(root: ElementTree.Element, name: str, asked: str) -> None:
    """Raise ``WrongAnswer`` if the answer is about another bucket; one asked by an alias has another name."""
    if not asked.endswith(_ALIASES):
        echoed(root, name, asked)


def is_truncated(root: ElementTree.Element) -> bool:
    """Whether a page says that more follow. Raises ``WrongAnswer`` where it does not say."""
    said = root.findtext("IsTruncated", "").strip()
    if said not in ("true", "false"):
        raise WrongAnswer(f"a {root.tag} without IsTruncated")
    return said == "true"


def parse_uploads(body: bytes, bucket: str) -> list[Upload]:
    """The uploads that a ListMultipartUploads answer shows."""
    root = parse_document(body, "ListMultipartUploadsResult")
    echoed_bucket(root, "Bucket", bucket)
    decode = unquote_plus if root.findtext("EncodingType") == "url" else str
    return [Upload(decode(required(one, "Key")), required(one, "UploadId")) for one in root.findall("Upload")]


def parse_parts(body: bytes, upload_id: str) -> list[str]:
    """The ETags of the parts that a ListParts answer shows."""
    root = parse_document(body, "ListPartsResult", "ListPartsResponse")
    echoed(root, "UploadId", upload_id)
    return [required(part, "ETag") for part in root.findall("Part")]


def parse_deleted(body: bytes, keys: Collection[str]) -> dict[str, str]:
    """Maps each key in a DeleteObjects answer to S3's error code; empty if it was deleted.

    An error that names none of the keys counts for none of them: they are left out.
    """
    root = parse_document(body, "DeleteResult")
    shown = {deleted.findtext("Key", ""): "" for deleted in root.findall("Deleted")}
    shown |= {error.findtext("Key", ""): error.findtext("Code") or "InternalError" for error in root.findall("Error")}
    return {key: shown[key] for key in keys if key in shown}


def _quoted(etag: str) -> str:
    """An ETag as the headers write it; some servers leave the quotes out in a document."""
    return etag if etag.startswith('"') else f'"{etag}"'


def parse_copied(body: bytes, *roots: str) -> Copied:
    """The answer to CopyObject or UploadPartCopy, which names what was made by its ETag."""
    root = parse_document(body, *roots)
    return Copied(_quoted(required(root, "ETag")), root.findtext("ChecksumCRC64NVME", ""))


def parse_completed(body: bytes, bucket: str, key: str, crc64nvme: int | None) -> Copied:
    """The answer to the CompleteMultipartUpload of a key whose checksum of the whole was sent, if it is known."""
    root = parse_document(body, "CompleteMultipartUploadResult")
    echoed_bucket(root, "Bucket", bucket)
    echoed(root, "Key", key)
    theirs = root.findtext("ChecksumCRC64NVME", "")
    if crc64nvme is not None and theirs and "-" not in theirs and theirs != to_base64(crc64nvme):
        raise WrongAnswer(f"CRC64NVME {theirs} was put together, {to_base64(crc64nvme)} was sent")
    return Copied(_quoted(required(root, "ETag")), theirs)


def parse_upload_id(body: bytes, bucket: str, key: str) -> str:
    """The id of the upload that CreateMultipartUpload began for a key."""
    root = parse_document(body, "InitiateMultipartUploadResult")
    echoed_bucket(root, "Bucket", bucket)
    echoed(root, "Key", key)
    return required(root, "UploadId")


def parse_tags(body: bytes) -> dict[str, str]:
    tags = parse_document(body, "Tagging").find("TagSet")
    if tags is None:
        raise WrongAnswer("a Tagging without TagSet")
    return {required(tag, "Key"): tag.findtext("Value", "") for tag in tags.findall("Tag")}


def parse_ownership(body: bytes) -> str:
    rule = parse_document(body, "OwnershipControls").find("Rule")
    if rule is None:
        raise WrongAnswer("OwnershipControls without Rule")
    return required(rule, "ObjectOwnership")


def to_nanoseconds(timestamp: str | None) -> int:
    """Nanoseconds since 1970 of an ISO 8601 time. Raises ``WrongAnswer`` for what is none."""
    try:
        since = datetime.fromisoformat(timestamp or "") - _EPOCH
    except (ValueError, TypeError) as exc:  # a time without a zone cannot be subtracted
        raise WrongAnswer(f"{timestamp!r} is no time") from exc
    return (since.days * 86_400 + since.seconds) * 1_000_000_000 + since.microseconds * 1000


def to_seconds(http_date: str) -> int:
    """Seconds since 1970 of a header's time. Raises ``Transient`` where S3 sends none."""
    from email.utils import parsedate_to_datetime  # only what looks up single objects needs it

    try:
        return int(parsedate_to_datetime(http_date).timestamp())
    except ValueError as exc:
        raise Transient(f"S3 answered with {http_date!r} for a time") from exc
