"""Requests and answers of S3 as values, and the documents that it writes."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import formatdate
from urllib.parse import parse_qsl, quote, unquote, urlsplit
from xml.sax.saxutils import escape

from fanout.model.checksum import crc64nvme, to_base64

_XML = '<?xml version="1.0" encoding="UTF-8"?>\n'
_SPACE = ' xmlns="http://s3.amazonaws.com/doc/2006-03-01/"'
KEPT = ("content-type", "cache-control", "content-encoding", "content-disposition", "content-language", "expires")
REDIRECT, STORAGE = "x-amz-website-redirect-location", "x-amz-storage-class"
# Storage classes of which S3 reads nothing until it has restored the object.
ARCHIVES = frozenset({"GLACIER", "DEEP_ARCHIVE"})


@dataclass(frozen=True)
class Request:
    """A request; names of headers are lower-case."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes

    @property
    def path(self) -> tuple[str, str]:
        """Bucket and key."""
        bucket, _, key = unquote(urlsplit(self.target).path, errors="strict")[1:].partition("/")
        return bucket, key

    @property
    def query(self) -> dict[str, str]:
        """The parameters."""
        return dict(parse_qsl(urlsplit(self.target).query, keep_blank_values=True))

    @property
    def operation(self) -> str:
        """S3's name of what is asked."""
        _, key = self.path
        query = self.query
        if not key:
            named = {"list-type": "ListObjectsV2", "uploads": "ListMultipartUploads", "delete": "DeleteObjects"}
            return next((name for word, name in named.items() if word in query), "HeadBucket")
        if "uploads" in query:
            return "CreateMultipartUpload"
        copies = "x-amz-copy-source" in self.headers
        if "uploadId" in query:
            names = {"POST": "CompleteMultipartUpload", "DELETE": "AbortMultipartUpload", "GET": "ListParts"}
            return names.get(self.method, "UploadPartCopy" if copies else "UploadPart")
        if "tagging" in query:
            return "GetObjectTagging"
        return (
            "CopyObject"
            if copies
            else {"PUT": "PutObject", "DELETE": "DeleteObject"}.get(self.method, f"{self.method.title()}Object")
        )


@dataclass(frozen=True)
class Answer:
    """An answer; ``length`` is that of the body of the GET where a HEAD sends none."""

    status: int
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    length: int | None = None

    def to_bytes(self) -> bytes:
        """The answer on the wire."""
        length = len(self.body) if self.length is None else self.length
        lines = [f"HTTP/1.1 {self.status} X", *(f"{name}: {value}" for name, value in self.headers.items())]
        return "\r\n".join([*lines, f"Content-Length: {length}", "", ""]).encode("utf-8", "surrogateescape") + self.body


@dataclass(frozen=True)
class Stored:
    """An object as it is kept; times are seconds since 1970. ``tells``: S3 keeps the checksum of the whole."""

    data: bytes
    etag: str
    modified: int
    headers: dict[str, str]
    tags: str = ""
    tells: bool = True

    @property
    def crc(self) -> str:
        """The CRC64NVME of all bytes, as S3 writes it."""
        return to_base64(crc64nvme(self.data))


@dataclass
class Upload:
    """A multipart upload under way."""

    bucket: str
    key: str
    headers: dict[str, str]
    tags: str
    begun: int
    parts: dict[int, Stored] = field(default_factory=dict)


class Refused(Exception):
    """S3's error document."""

    def __init__(self, status: int, code: str) -> None:
        super().__init__(code)
        self.status, self.code = status, code


FULL = {"x-amz-checksum-type": "FULL_OBJECT"}
_ALGORITHM = "<ChecksumAlgorithm>CRC64NVME</ChecksumAlgorithm><ChecksumType>FULL_OBJECT</ChecksumType>"


def object_answer(request: Request, stored: Stored) -> Answer:
    """The answer to GET or HEAD of an object as it is kept; what it says of itself depends on the request's range."""
    wanted = request.headers.get("if-match")
    if wanted and wanted.strip('"') != stored.etag.strip('"'):
        return error(412, "PreconditionFailed")
    if request.method == "GET" and is_archived(stored):
        return error(403, "InvalidObjectState")
    counted = {"x-amz-tagging-count": str(stored.tags.count("&") + 1)} if stored.tags else {}
    headers = {
        **stored.headers,
        **counted,
        "ETag": stored.etag,
        "Last-Modified": formatdate(stored.modified, usegmt=True),
    }
    asked = re.fullmatch(r"bytes=(\d+)-(\d+)", request.headers.get("range", ""))
    if asked is None:
        told = stored.tells and request.headers.get("x-amz-checksum-mode")
        checksums = {"x-amz-checksum-crc64nvme": stored.crc, **FULL} if told else {}
        return Answer(200, {**headers, **checksums}, stored.data)
    first, last = int(asked[1]), min(int(asked[2]), len(stored.data) - 1)
    if first > last:
        return error(416, "InvalidRange")
    headers["Content-Range"] = f"bytes {first}-{last}/{len(stored.data)}"
    return Answer(206, headers, stored.data[first : last + 1])


def kept_headers(request: Request) -> dict[str, str]:
    """The headers that stay with an object."""
    kept = (*KEPT, REDIRECT)
    return {name: value for name, value in request.headers.items() if name in kept or name.startswith("x-amz-meta-")}


def carried_headers(request: Request, source: Stored) -> dict[str, str]:
    """The headers of a copy: S3 carries metadata over, and no website redirect (API_CopyObject)."""
    if request.headers.get("x-amz-metadata-directive") == "REPLACE":
        return kept_headers(request)
    named = {name: value for name, value in request.headers.items() if name == REDIRECT}
    return {name: value for name, value in source.headers.items() if name not in (REDIRECT, STORAGE)} | named


def is_archived(stored: Stored) -> bool:
    """Whether the object has to be restored before anything reads it."""
    return stored.headers.get(STORAGE) in ARCHIVES


def error(status: int, code: str) -> Answer:
    """S3's error document."""
    body = f"{_XML}<Error><Code>{code}</Code><Message>as asked</Message></Error>".encode()
    return Answer(status, {"Content-Type": "application/xml"}, body)


def document(root: str, content: str) -> Answer:
    """An answer in XML."""
    body = f"{_XML}<{root}{_SPACE}>{content}</{root}>".encode()
    return Answer(200, {"Content-Type": "application/xml"}, body)


def quoted(text: str) -> str:
    """A key as ``encoding-type: url`` writes it."""
    return quote(text, safe="/")


def time_text(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")


def contents(key: str, stored: Stored) -> str:
    etag, storage = stored.etag.replace('"', "&quot;"), stored.headers.get(STORAGE, "STANDARD")
    return (
        f"<Contents><Key>{quoted(key)}</Key><LastModified>{time_text(stored.modified)}</LastModified>"
        f"<ETag>{etag}</ETag>{_ALGORITHM * stored.tells}"
        f"<Size>{len(stored.data)}</Size><StorageClass>{storage}</StorageClass></Contents>"
    )


def part_of(data: bytes) -> Stored:
    return Stored(data, f'"{hashlib.md5(data).hexdigest()}"', 0, {})


def copied(stored: Stored) -> str:
    crc = f"<ChecksumCRC64NVME>{stored.crc}</ChecksumCRC64NVME>"
    return f"<LastModified>{time_text(stored.modified)}</LastModified><ETag>{escape(stored.etag)}</ETag>{crc}"
