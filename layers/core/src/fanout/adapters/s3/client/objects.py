"""The operations on single objects."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterable, Mapping

from fanout.adapters.aws.sigv4 import encode_path
from fanout.adapters.http.transport import Response
from fanout.adapters.s3.client.answers import BytesSent, ObjectAsked, WrongAnswer, hold_gone
from fanout.adapters.s3.client.requests import Call, S3Requests
from fanout.adapters.s3.client.responses import Copied, parse_copied, parse_deleted, parse_tags
from fanout.ledger.seals import UNPACKED_BYTES
from fanout.model.checksum import to_base64
from fanout.model.errors import FanoutError, Transient

_NO_HEADERS: Mapping[str, str] = {}
# Our own word for a key of DeleteObjects that no answer showed as deleted.
NOT_SHOWN = "NotShown"


class ObjectCalls(S3Requests):
    """Get, head, put, copy and delete objects."""

    def get_object(
        self,
        bucket: str,
        key: str,
        *,
        if_match: str = "",
        byte_range: tuple[int, int] | None = None,
    ) -> Response:
        """The object, or its bytes from the first to the last of ``byte_range``, inclusive.

        ``total_bytes`` of the response is the size of the whole object. Without ``if_match`` nothing tells the
        object's bytes from those of another one.
        """
        return self._get_object(bucket, key, if_match, byte_range).result()

    def begin_get_object(self, bucket: str, key: str, *, if_match: str = "", body_bytes: int | None = None) -> Call:
        """The same, asked for whole and not waited for; ``body_bytes`` is its size, where it is known."""
        return self._get_object(bucket, key, if_match, None, body_bytes).begin()

    def begin_get_range(
        self, bucket: str, key: str, byte_range: tuple[int, int], *, if_match: str = "", fresh: bool = False
    ) -> Call:
        """Bytes of an object, asked for and not waited for; ``Call.pieces`` hands them over as they come."""
        return self._get_object(bucket, key, if_match, byte_range, place=byte_range[0]).begin(fresh=fresh)

    def _get_object(
        self,
        bucket: str,
        key: str,
        if_match: str,
        byte_range: tuple[int, int] | None,
        body_bytes: int | None = None,
        place: int | None = None,
    ) -> Call:
        headers = {"x-amz-checksum-mode": "ENABLED"}
        if if_match:
            headers["if-match"] = if_match
        if byte_range:
            headers["range"] = f"bytes={byte_range[0]}-{byte_range[1]}"
            body_bytes = byte_range[1] + 1 - byte_range[0]
        hold = ObjectAsked(if_match, byte_range).hold
        known, most = (0, UNPACKED_BYTES) if body_bytes is None else (body_bytes, 0)
        return self.request(
            "GetObject",
            "GET",
            bucket,
            key,
            headers=headers,
            body_bytes=known,
            most_bytes=most,
            hold=hold,
            place=place,
        )

    def head_object(self, bucket: str, key: str, *, if_match: str = "") -> Response:
        """The object's headers, its checksum among them."""
        headers = {"x-amz-checksum-mode": "ENABLED"}
        if if_match:
            headers["if-match"] = if_match
        hold = ObjectAsked(if_match, is_head=True).hold
        return self.request("HeadObject", "HEAD", bucket, key, headers=headers, hold=hold).result()

    def put_object(
        self,
        bucket: str,
        key: str,
        body: bytes,
        headers: Mapping[str, str] = _NO_HEADERS,
        *,
        crc64nvme: int | None = None,
    ) -> str:
        """Write an object whole and return its ETag; S3 refuses bytes that the checksum does not fit.

        ``headers`` may hold a condition, ``if-match`` or ``if-none-match``.
        """
        call = self.begin_put_object(bucket, key, body, headers, crc64nvme=crc64nvme)
        return call.result().headers.get("etag", "")

    def begin_put_object(
        self,
        bucket: str,
        key: str,
        body: bytes,
        headers: Mapping[str, str] = _NO_HEADERS,
        *,
        crc64nvme: int | None = None,
    ) -> Call:
        """The same, its bytes sent and the answer not waited for."""
        sent = dict(headers)
        if crc64nvme is not None:
            sent["x-amz-sdk-checksum-algorithm"] = "CRC64NVME"
            sent["x-amz-checksum-crc64nvme"] = to_base64(crc64nvme)
        hold = BytesSent(crc64nvme).hold
        return self.request("PutObject", "PUT", bucket, key, headers=sent, body=body, hold=hold).begin()

    def copy_object(
        self,
        bucket: str,
        key: str,
        source_bucket: str,
        source_key: str,
        headers: Mapping[str, str] = _NO_HEADERS,
        *,
        source_if_match: str = "",
    ) -> Copied:
        """Copy an object of at most 5 GB inside S3, with its metadata and tags; S3 makes a CRC64NVME of the copy."""
        sent = {
            **headers,
            **copy_source(source_bucket, source_key, source_if_match),
            **self.source_headers(source_bucket),
        }
        sent["x-amz-checksum-algorithm"] = "CRC64NVME"
        call = self.request("CopyObject", "PUT", bucket, key, headers=sent, body=b"")
        return call.read(lambda response: parse_copied(response.body, "CopyObjectResult"))

    def get_object_tagging(self, bucket: str, key: str) -> dict[str, str]:
        call = self.request("GetObjectTagging", "GET", bucket, key, query=[("tagging", "")])
        return call.read(lambda response: parse_tags(response.body))

    def delete_object(self, bucket: str, key: str, *, if_match: str = "") -> None:
        """Delete the object; one that is not there counts as deleted."""
        headers = {"if-match": if_match} if if_match else _NO_HEADERS
        self.request("DeleteObject", "DELETE", bucket, key, headers=headers, hold=hold_gone).result()

    def delete_objects(
        self, bucket: str, keys: Iterable[str], etags: Mapping[str, str] = _NO_HEADERS
    ) -> dict[str, str]:
        """Delete at most 1,000 objects. Returns the keys that S3 does not confirm as deleted, each with its error code.

        An object in ``etags`` is deleted only if it has that ETag. Keys that XML does not keep are deleted one by one.
        """
        plain: list[str] = []
        failed: dict[str, str] = {}
        for key in keys:
            if _fits_xml(key):
                plain.append(key)
                continue
            try:
                self.delete_object(bucket, key, if_match=etags.get(key, ""))
            except FanoutError as exc:
                failed[key] = type(exc).__name__
        return failed | self._delete_plain(bucket, plain, etags) if plain else failed

    def _delete_plain(self, bucket: str, keys: list[str], etags: Mapping[str, str]) -> dict[str, str]:
        listed = "".join(_to_delete(key, etags.get(key, "")) for key in keys)
        body = f"<Delete><Quiet>false</Quiet>{listed}</Delete>".encode()
        headers = {
            "content-type": "application/xml",
            "x-amz-sdk-checksum-algorithm": "CRC32",
            "x-amz-checksum-crc32": base64.b64encode(zlib.crc32(body).to_bytes(4, "big")).decode("ascii"),
        }
        shown: dict[str, str] = {}

        def read(response: Response) -> None:
            shown.update(parse_deleted(response.body, keys))
            if len(shown) < len(keys):
                raise WrongAnswer(f"{len(keys) - len(shown)} of {len(keys)} keys are not shown as deleted")

        call = self.request("DeleteObjects", "POST", bucket, query=[("delete", "")], headers=headers, body=body)
        try:
            call.read(read)
        except Transient as error:
            if not isinstance(error.__cause__, WrongAnswer):
                raise
        return {key: shown.get(key, NOT_SHOWN) for key in keys if shown.get(key, NOT_SHOWN)}


def copy_source(bucket: str, key: str, if_match: str) -> dict[str, str]:
    """The headers that name the source of a copy and pin it."""
    headers = {"x-amz-copy-source": encode_path(f"{bucket}/{key}")}
    if if_match:
        headers["x-amz-copy-source-if-match"] = if_match
    return headers


def _to_delete(key: str, etag: str) -> str:
    condition = f"<ETag>{escape(etag)}</ETag>" if etag else ""
    return f"<Object><Key>{escape(key)}</Key>{condition}</Object>"


def _fits_xml(key: str) -> bool:
    """Whether an answer shows a key as it was sent; line breaks and tabs do not come back from every server."""
    return not any(char < " " or char in "\ufffe\uffff" for char in key)


_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;", "\n": "&#10;", "\t": "&#9;"})


def escape(text: str) -> str:
    """The text between two tags, line breaks and tabs kept as they are."""
    return text.translate(_ESCAPES)
