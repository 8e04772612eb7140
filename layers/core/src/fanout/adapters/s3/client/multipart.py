"""The operations of a multipart upload with a checksum of the whole object."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fanout.adapters.s3.client.answers import BytesSent, hold_gone
from fanout.adapters.s3.client.objects import copy_source, escape
from fanout.adapters.s3.client.requests import S3Requests
from fanout.adapters.s3.client.responses import (
    Copied,
    Part,
    parse_completed,
    parse_copied,
    parse_parts,
    parse_upload_id,
)
from fanout.model.checksum import to_base64

_NO_HEADERS: Mapping[str, str] = {}


class MultipartCalls(S3Requests):
    """Create, fill, list, complete and abort multipart uploads."""

    def create_multipart_upload(self, bucket: str, key: str, headers: Mapping[str, str] = _NO_HEADERS) -> str:
        sent = {**headers, "x-amz-checksum-algorithm": "CRC64NVME", "x-amz-checksum-type": "FULL_OBJECT"}
        call = self.request(
            "CreateMultipartUpload", "POST", bucket, key, query=[("uploads", "")], headers=sent, body=b""
        )
        return call.read(lambda response: parse_upload_id(response.body, bucket, key))

    def upload_part(self, bucket: str, key: str, upload_id: str, number: int, body: bytes, crc64nvme: int) -> Part:
        """Upload part ``number``, counted from 1; S3 refuses bytes that the checksum does not fit."""
        crc = to_base64(crc64nvme)
        headers = {"x-amz-sdk-checksum-algorithm": "CRC64NVME", "x-amz-checksum-crc64nvme": crc}
        query = [("partNumber", str(number)), ("uploadId", upload_id)]
        hold = BytesSent(crc64nvme, is_part=True).hold
        call = self.request("UploadPart", "PUT", bucket, key, query=query, headers=headers, body=body, hold=hold)
        return Part(number, call.result().headers["etag"], crc)

    def upload_part_copy(
        self,
        bucket: str,
        key: str,
        upload_id: str,
        number: int,
        source_bucket: str,
        source_key: str,
        *,
        byte_range: tuple[int, int],
        source_if_match: str = "",
    ) -> Part:
        """Copy the bytes from the first to the last of ``byte_range``, both included, inside S3 as a part."""
        headers = {
            **copy_source(source_bucket, source_key, source_if_match),
            **self.source_headers(source_bucket),
        }
        headers["x-amz-copy-source-range"] = f"bytes={byte_range[0]}-{byte_range[1]}"
        query = [("partNumber", str(number)), ("uploadId", upload_id)]
        call = self.request("UploadPartCopy", "PUT", bucket, key, query=query, headers=headers, body=b"")
        copied = call.read(lambda response: parse_copied(response.body, "CopyPartResult"))
        return Part(number, copied.etag, copied.crc64nvme)

    def list_parts(self, bucket: str, key: str, upload_id: str) -> list[str]:
        """The ETags of the first parts that the upload holds. Raises ``NotFound`` if it is not there."""
        call = self.request("ListParts", "GET", bucket, key, query=[("uploadId", upload_id)])
        return call.read(lambda response: parse_parts(response.body, upload_id))

    def complete_multipart_upload(
        self,
        bucket: str,
        key: str,
        upload_id: str,
        parts: Iterable[Part],
        condition: Mapping[str, str] = _NO_HEADERS,
        *,
        crc64nvme: int | None,
        size: int,
    ) -> Copied:
        """Make the object of these parts, in the order of their numbers, visible.

        S3 refuses parts that do not make up ``size`` bytes of this checksum, if there is one.
        Raises ``NotFound`` if the upload is not there, also because it has been completed, and
        ``PreconditionFailed`` where the headers of ``condition`` do not hold.
        """
        body = f"<CompleteMultipartUpload>{''.join(map(_part_element, parts))}</CompleteMultipartUpload>"
        headers = {
            "content-type": "application/xml",
            "x-amz-checksum-type": "FULL_OBJECT",
            "x-amz-mp-object-size": str(size),
            **condition,
        }
        if crc64nvme is not None:
            headers["x-amz-checksum-crc64nvme"] = to_base64(crc64nvme)
        query = [("uploadId", upload_id)]
        call = self.request(
            "CompleteMultipartUpload", "POST", bucket, key, query=query, headers=headers, body=body.encode()
        )
        return call.read(lambda response: parse_completed(response.body, bucket, key, crc64nvme))

    def abort_multipart_upload(self, bucket: str, key: str, upload_id: str) -> None:
        """Discard the upload and its parts. Raises ``NotFound`` if it is not there."""
        query = [("uploadId", upload_id)]
        self.request("AbortMultipartUpload", "DELETE", bucket, key, query=query, hold=hold_gone).result()


def _part_element(part: Part) -> str:
    crc = f"<ChecksumCRC64NVME>{part.crc64nvme}</ChecksumCRC64NVME>" if part.crc64nvme else ""
    return f"<Part><PartNumber>{part.number}</PartNumber><ETag>{escape(part.etag)}</ETag>{crc}</Part>"
