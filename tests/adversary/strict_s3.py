"""An S3 in this process that keeps to S3's word: conditions, checksums, multipart uploads, pages and echoes.

It takes a request and gives an answer; what lies between the two and a client is ``lying_s3``.
"""

from __future__ import annotations

import base64
import hashlib
import itertools
import zlib
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import replace
from email.utils import formatdate
from typing import Any
from urllib.parse import parse_qsl, unquote
from xml.etree import ElementTree
from xml.sax.saxutils import escape

from fanout.model.checksum import crc64nvme, to_base64
from tests.adversary.s3_words import (
    FULL,
    Answer,
    Refused,
    Request,
    Stored,
    Upload,
    carried_headers,
    contents,
    copied,
    document,
    error,
    is_archived,
    kept_headers,
    object_answer,
    part_of,
    quoted,
    time_text,
)


class StrictS3:
    """Buckets by name, each with its objects by key."""

    def __init__(self, seconds: Callable[[], float], page_keys: int = 1000, *, tells: bool = True) -> None:
        """``tells``: S3 keeps checksums of what ``put`` stores, as of all that requests do."""
        self._tells = tells
        self.buckets: dict[str, dict[str, Stored]] = {}
        self.uploads: dict[str, Upload] = {}
        self._aliases: dict[str, str] = {}
        self.page_keys = page_keys
        self._seconds = seconds
        self._numbers = itertools.count(1)

    def alias(self, name: str, bucket: str) -> None:
        """Give a bucket a further name."""
        self._aliases[name] = bucket
        self.buckets[name] = self.buckets[bucket]

    def answer(self, request: Request) -> Answer:
        """Carry out a request."""
        common = {"x-amz-request-id": f"{next(self._numbers):08x}", "Date": formatdate(self._seconds(), usegmt=True)}
        try:
            operation = request.operation
            bucket, key = request.path
            if bucket not in self.buckets:
                raise Refused(404, "NoSuchBucket")
            if len(key.encode()) > 1024:
                raise Refused(400, "KeyTooLongError")
            given: Answer = getattr(self, f"_{operation}")(request, bucket, key)
        except Refused as refused:
            given = error(refused.status, refused.code)
        except UnicodeDecodeError:
            given = error(400, "InvalidURI")
        if request.method == "HEAD":
            given = replace(given, body=b"", length=len(given.body) if given.length is None else given.length)
        return replace(given, headers={**common, **given.headers})

    def put(self, bucket: str, key: str, data: bytes, headers: dict[str, str] | None = None, tags: str = "") -> Stored:
        """Store an object."""
        etag = f'"{hashlib.md5(data).hexdigest()}"'
        stored = Stored(data, etag, int(self._seconds()), headers or {}, tags, self._tells)
        self.buckets[bucket][key] = stored
        return stored

    def _keep(self, bucket: str, key: str, *kept: Any) -> Stored:
        """Store an object of a request."""
        stored = self.buckets[bucket][key] = replace(self.put(bucket, key, *kept), tells=True)
        return stored

    def find(self, bucket: str, key: str) -> Stored:
        """The object, or the error."""
        try:
            return self.buckets[bucket][key]
        except KeyError:
            raise Refused(404, "NoSuchKey") from None

    # One method an operation, by S3's name for it.

    def _HeadBucket(self, request: Request, bucket: str, key: str) -> Answer:
        return Answer(200)

    def _GetObject(self, request: Request, bucket: str, key: str) -> Answer:
        return object_answer(request, self.find(bucket, key))

    _HeadObject = _GetObject

    def _GetObjectTagging(self, request: Request, bucket: str, key: str) -> Answer:
        tags = parse_qsl(self.find(bucket, key).tags, keep_blank_values=True)
        rows = "".join(f"<Tag><Key>{escape(k)}</Key><Value>{escape(v)}</Value></Tag>" for k, v in tags)
        return document("Tagging", f"<TagSet>{rows}</TagSet>")

    def _PutObject(self, request: Request, bucket: str, key: str) -> Answer:
        wanted = request.headers.get("x-amz-checksum-crc64nvme")
        if wanted and wanted != to_base64(crc64nvme(request.body)):
            raise Refused(400, "BadDigest")
        self._meet(request, bucket, key)
        stored = self._keep(bucket, key, request.body, kept_headers(request), request.headers.get("x-amz-tagging", ""))
        return Answer(200, {"ETag": stored.etag, "x-amz-checksum-crc64nvme": stored.crc, **FULL})

    def _CopyObject(self, request: Request, bucket: str, key: str) -> Answer:
        source = self._copied(request)
        stored = self._keep(bucket, key, source.data, carried_headers(request, source), source.tags)
        return document("CopyObjectResult", copied(stored))

    def _DeleteObject(self, request: Request, bucket: str, key: str) -> Answer:
        wanted = request.headers.get("if-match")
        there = self.buckets[bucket].get(key)
        if wanted and (there is None or there.etag != wanted):
            raise Refused(412 if there else 404, "PreconditionFailed" if there else "NoSuchKey")
        self.buckets[bucket].pop(key, None)
        return Answer(204)

    def _DeleteObjects(self, request: Request, bucket: str, key: str) -> Answer:
        crc = base64.b64encode(zlib.crc32(request.body).to_bytes(4, "big")).decode()
        if request.headers.get("x-amz-checksum-crc32") != crc:
            raise Refused(400, "BadDigest")
        root = ElementTree.fromstring(request.body)
        rows = []
        for one in root.iter("Object"):
            name, etag = one.findtext("Key", ""), one.findtext("ETag", "")
            there = self.buckets[bucket].get(name)
            if etag and (there is None or there.etag.strip('"') != etag.strip('"')):
                code = "PreconditionFailed" if there else "NoSuchKey"
                rows.append(f"<Error><Key>{escape(name)}</Key><Code>{code}</Code></Error>")
                continue
            self.buckets[bucket].pop(name, None)
            if root.findtext("Quiet") != "true":
                rows.append(f"<Deleted><Key>{escape(name)}</Key></Deleted>")
        return document("DeleteResult", "".join(rows))

    def _ListObjectsV2(self, request: Request, bucket: str, key: str) -> Answer:
        query = request.query
        prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
        token = query.get("continuation-token", "")
        after = base64.b64decode(token).decode() if token else query.get("start-after", "")
        most = min(int(query.get("max-keys", "1000")), self.page_keys)
        keys = sorted(self.buckets[bucket], key=str.encode)
        rows: list[str] = []
        groups: list[str] = []
        truncated, last = False, ""
        for name in keys[bisect_right(keys, after.encode(), key=str.encode) :]:
            if not name.startswith(prefix):
                continue
            cut = name.find(delimiter, len(prefix)) if delimiter else -1
            group = name[: cut + len(delimiter)] if cut >= 0 else ""
            if group and (group in groups or after.startswith(group)):
                last = name
                continue
            if len(rows) + len(groups) >= most:
                truncated = True
                break
            last = name
            if group:
                groups.append(group)
            else:
                rows.append(contents(name, self.buckets[bucket][name]))
        count = len(rows) + len(groups)
        echoes = f"<Name>{bucket}</Name><Prefix>{quoted(prefix)}</Prefix>"
        echoes += f"<Delimiter>{quoted(delimiter)}</Delimiter>" if delimiter else ""
        echoes += f"<StartAfter>{quoted(query['start-after'])}</StartAfter>" if "start-after" in query else ""
        echoes += f"<ContinuationToken>{token}</ContinuationToken>" if token else ""
        following = base64.b64encode(last.encode()).decode()
        echoes += f"<NextContinuationToken>{following}</NextContinuationToken>" if truncated else ""
        echoes += f"<KeyCount>{count}</KeyCount><MaxKeys>{query.get('max-keys', '1000')}</MaxKeys>"
        echoes += f"<EncodingType>url</EncodingType><IsTruncated>{str(truncated).lower()}</IsTruncated>"
        commons = "".join(f"<CommonPrefixes><Prefix>{quoted(one)}</Prefix></CommonPrefixes>" for one in groups)
        return document("ListBucketResult", echoes + "".join(rows) + commons)

    def _ListMultipartUploads(self, request: Request, bucket: str, key: str) -> Answer:
        prefix = request.query.get("prefix", "")
        rows = "".join(
            f"<Upload><Key>{quoted(one.key)}</Key><UploadId>{name}</UploadId>"
            f"<Initiated>{time_text(one.begun)}</Initiated></Upload>"
            for name, one in self.uploads.items()
            if one.bucket == self._aliases.get(bucket, bucket) and one.key.startswith(prefix)
        )
        echoes = f"<Bucket>{bucket}</Bucket><EncodingType>url</EncodingType><IsTruncated>false</IsTruncated>"
        return document("ListMultipartUploadsResult", echoes + rows)

    def _CreateMultipartUpload(self, request: Request, bucket: str, key: str) -> Answer:
        name = f"upload{next(self._numbers)}"
        tags = request.headers.get("x-amz-tagging", "")
        self.uploads[name] = Upload(
            self._aliases.get(bucket, bucket), key, kept_headers(request), tags, int(self._seconds())
        )
        echoes = f"<Bucket>{bucket}</Bucket><Key>{escape(key)}</Key><UploadId>{name}</UploadId>"
        return document("InitiateMultipartUploadResult", echoes)

    def _UploadPart(self, request: Request, bucket: str, key: str) -> Answer:
        upload = self._upload(request, bucket, key)
        if request.headers.get("x-amz-checksum-crc64nvme") != to_base64(crc64nvme(request.body)):
            raise Refused(400, "BadDigest")
        part = part_of(request.body)
        upload.parts[int(request.query["partNumber"])] = part
        return Answer(200, {"ETag": part.etag, "x-amz-checksum-crc64nvme": part.crc})

    def _UploadPartCopy(self, request: Request, bucket: str, key: str) -> Answer:
        upload = self._upload(request, bucket, key)
        first, last = map(int, request.headers["x-amz-copy-source-range"].removeprefix("bytes=").split("-"))
        data = self._copied(request).data[first : last + 1]
        if len(data) != last + 1 - first:
            raise Refused(400, "InvalidRange")
        part = part_of(data)
        upload.parts[int(request.query["partNumber"])] = part
        return document("CopyPartResult", copied(part))

    def _ListParts(self, request: Request, bucket: str, key: str) -> Answer:
        upload = self._upload(request, bucket, key)
        rows = "".join(
            f"<Part><PartNumber>{number}</PartNumber><ETag>{escape(part.etag)}</ETag>"
            f"<ChecksumCRC64NVME>{part.crc}</ChecksumCRC64NVME></Part>"
            for number, part in sorted(upload.parts.items())
            if number > int(request.query.get("part-number-marker", "0"))
        )
        return document("ListPartsResult", f"<IsTruncated>false</IsTruncated>{rows}")

    def _CompleteMultipartUpload(self, request: Request, bucket: str, key: str) -> Answer:
        upload = self._upload(request, bucket, key)
        self._meet(request, bucket, key)
        named = [
            (int(one.findtext("PartNumber", "0")), one.findtext("ETag", ""))
            for one in ElementTree.fromstring(request.body).iter("Part")
        ]
        if [number for number, _ in named] != sorted({number for number, _ in named}) or not named:
            raise Refused(400, "InvalidPartOrder")
        if any(number not in upload.parts or upload.parts[number].etag != etag for number, etag in named):
            raise Refused(400, "InvalidPart")
        data = b"".join(upload.parts[number].data for number, _ in named)
        wanted, size = request.headers.get("x-amz-checksum-crc64nvme"), request.headers.get("x-amz-mp-object-size")
        if (wanted and wanted != to_base64(crc64nvme(data))) or (size and int(size) != len(data)):
            raise Refused(400, "BadDigest")
        joined = hashlib.md5(b"".join(bytes.fromhex(upload.parts[number].etag.strip('"')) for number, _ in named))
        etag = f'"{joined.hexdigest()}-{len(named)}"'
        stored = Stored(data, etag, int(self._seconds()), upload.headers, upload.tags)
        self.buckets[bucket][key] = stored
        del self.uploads[request.query["uploadId"]]
        where = f"<Location>x</Location><Bucket>{bucket}</Bucket><Key>{escape(key)}</Key>"
        return document("CompleteMultipartUploadResult", where + copied(stored))

    def _AbortMultipartUpload(self, request: Request, bucket: str, key: str) -> Answer:
        self._upload(request, bucket, key)
        del self.uploads[request.query["uploadId"]]
        return Answer(204)

    def _upload(self, request: Request, bucket: str, key: str) -> Upload:
        upload = self.uploads.get(request.query["uploadId"])
        if upload is None or (upload.bucket, upload.key) != (self._aliases.get(bucket, bucket), key):
            raise Refused(404, "NoSuchUpload")
        return upload

    def _meet(self, request: Request, bucket: str, key: str) -> None:
        """The conditions of a write."""
        there = self.buckets[bucket].get(key)
        if request.headers.get("if-none-match") == "*" and there is not None:
            raise Refused(412, "PreconditionFailed")
        wanted = request.headers.get("if-match")
        if wanted and there is None:
            raise Refused(404, "NoSuchKey")
        if wanted and there is not None and there.etag.strip('"') != wanted.strip('"'):
            raise Refused(412, "PreconditionFailed")

    def _copied(self, request: Request) -> Stored:
        bucket, _, key = unquote(request.headers["x-amz-copy-source"]).lstrip("/").partition("/")
        source = self.find(bucket, key)
        wanted = request.headers.get("x-amz-copy-source-if-match")
        if wanted and wanted.strip('"') != source.etag.strip('"'):
            raise Refused(412, "PreconditionFailed")
        if is_archived(source):
            raise Refused(403, "ObjectNotInActiveTierError")
        return source
