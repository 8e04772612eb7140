"""S3 objects being written: in one request, or in parts."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from fanout.adapters.s3.blocks import complete_upload
from fanout.adapters.s3.client.client import S3Client
from fanout.adapters.s3.client.requests import Call
from fanout.adapters.s3.client.responses import Part
from fanout.adapters.s3.conditions import ANYTHING, Condition, Written, etag_of, find_written
from fanout.model.checksum import crc64nvme as checksum
from fanout.model.errors import FanoutError, ItemError, NotFound, PreconditionFailed
from fanout.model.outcome import Reason


class PutTarget:
    """A ``Target`` that is one PUT; nothing is sent before ``send`` or ``commit``."""

    keeps_holes = False

    def __init__(
        self,
        client: S3Client,
        bucket: str,
        key: str,
        size: int,
        headers: Mapping[str, str],
        condition: Condition = ANYTHING,
    ) -> None:
        self._client = client
        self._bucket = bucket
        self._key = key
        self._size = size
        self._headers = headers
        self._condition = condition
        self._blocks: list[bytes] = []
        self._call: Call | None = None

    def write(self, offset: int, data: bytes) -> None:
        """Keep a block; blocks come in order."""
        self._blocks.append(data)

    def send(self, crc64nvme: int) -> None:
        """Send the object; S3 refuses bytes that the checksum does not fit."""
        body = self._body()
        _require_size(self._bucket, self._key, len(body), self._size)
        headers = {**self._headers, **self._condition.headers}
        self._call = self._client.begin_put_object(self._bucket, self._key, body, headers, crc64nvme=crc64nvme)

    def _body(self) -> bytes:
        return self._blocks[0] if len(self._blocks) == 1 else b"".join(self._blocks)

    def commit(self, crc64nvme: int) -> None:
        """Wait until S3 has the object, or has refused it."""
        if self._call is None:
            self.send(crc64nvme)
        call, self._call = self._call, None
        assert call is not None
        try:
            call.result()
        except (NotFound, PreconditionFailed) as error:
            if not self._condition.refused(error):
                raise
            written = Written(self._size, crc64nvme, self._headers, etag_of(self._body()))
            find_written(self._client, self._bucket, self._key, written, error, self._condition)
        self._blocks.clear()

    def abort(self) -> None:
        """Forget the blocks. A request already sent may still create the whole object."""
        if self._call is not None:
            self._call.abandon()
            self._call = None
        self._blocks.clear()


class MultipartTarget:
    """A ``Target`` whose blocks are the parts of one multipart upload, begun with the first of them."""

    keeps_holes = False

    def __init__(
        self,
        client: S3Client,
        bucket: str,
        key: str,
        size: int,
        headers: Mapping[str, str],
        condition: Condition = ANYTHING,
    ) -> None:
        self._client = client
        self._bucket = bucket
        self._key = key
        self._size = size
        self._headers = headers
        self._condition = condition
        self._upload_id = ""
        self._parts: list[Part] = []
        self._written_bytes = 0

    def write(self, offset: int, data: bytes) -> None:
        """Upload a block as the next part; blocks come in order."""
        if not self._upload_id:
            self._upload_id = self._client.create_multipart_upload(self._bucket, self._key, self._headers)
        number = len(self._parts) + 1
        part = self._client.upload_part(self._bucket, self._key, self._upload_id, number, data, checksum(data))
        self._parts.append(part)
        self._written_bytes += len(data)

    def send(self, crc64nvme: int) -> None:
        """See ``ports.tree.Target``; the parts have been sent."""

    def commit(self, crc64nvme: int) -> None:
        """Complete the upload; S3 refuses parts that do not make up the size and the checksum of the whole."""
        _require_size(self._bucket, self._key, self._written_bytes, self._size)
        written = Written(self._size, crc64nvme, self._headers)
        place = (self._bucket, self._key, self._upload_id)
        complete_upload(self._client, *place, self._parts, written, self._condition)
        self._upload_id = ""

    def abort(self) -> None:
        """Discard the upload. If S3 fails to abort it, the bucket's lifecycle rule removes it later."""
        if self._upload_id:
            with suppress(FanoutError):
                self._client.abort_multipart_upload(self._bucket, self._key, self._upload_id)
            self._upload_id = ""


def _require_size(bucket: str, key: str, written_bytes: int, size: int) -> None:
    if written_bytes != size:
        raise ItemError(Reason.SOURCE_CHANGED, f"s3://{bucket}/{key} got {written_bytes} bytes, listed with {size}")
