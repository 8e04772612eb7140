"""S3 objects being written: in one request, or in parts."""

from __future__ import annotations

from collections.abc import Mapping

from fanout.adapters.s3.blocks import complete_upload
from fanout.adapters.s3.client.requests import Call
from fanout.adapters.s3.client.responses import Part
from fanout.adapters.s3.conditions import ANYTHING, Condition, Written, etag_of, find_written
from fanout.adapters.s3.place import Place
from fanout.model.checksum import crc64nvme as checksum
from fanout.model.errors import ItemError, NotFound, PreconditionFailed
from fanout.model.outcome import Reason


class _ObjectTarget:
    """The place of an object that is written, its size, its headers and its condition."""

    keeps_holes = False
    takes_pieces = False

    def __init__(self, place: Place, size: int, headers: Mapping[str, str], condition: Condition = ANYTHING) -> None:
        self._place = place
        self._size = size
        self._headers = headers
        self._condition = condition

    def _require_size(self, written_bytes: int) -> None:
        if written_bytes != self._size:
            message = f"{self._place} got {written_bytes} bytes, listed with {self._size}"
            raise ItemError(Reason.SOURCE_CHANGED, message)


class PutTarget(_ObjectTarget):
    """A ``Target`` that is one PUT; nothing is sent before ``send`` or ``commit``."""

    def __init__(self, place: Place, size: int, headers: Mapping[str, str], condition: Condition = ANYTHING) -> None:
        super().__init__(place, size, headers, condition)
        self._blocks: list[bytes] = []
        self._call: Call | None = None

    def write(self, offset: int, data: bytes) -> None:
        """Keep a block; blocks come in order."""
        self._blocks.append(data)

    def send(self, crc64nvme: int) -> None:
        """Send the object; S3 refuses bytes that the checksum does not fit."""
        body = self._body()
        self._require_size(len(body))
        headers, place = {**self._headers, **self._condition.headers}, self._place
        self._call = place.client.begin_put_object(place.bucket, place.key, body, headers, crc64nvme=crc64nvme)

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
            find_written(self._place, written, error, self._condition)
        self._blocks.clear()

    def abort(self) -> None:
        """Forget the blocks. A request already sent may still create the whole object."""
        if self._call is not None:
            self._call.abandon()
            self._call = None
        self._blocks.clear()


class MultipartTarget(_ObjectTarget):
    """A ``Target`` whose blocks are the parts of one multipart upload, begun with the first of them."""

    def __init__(self, place: Place, size: int, headers: Mapping[str, str], condition: Condition = ANYTHING) -> None:
        super().__init__(place, size, headers, condition)
        self._upload_id = ""
        self._parts: list[Part] = []
        self._written_bytes = 0

    def write(self, offset: int, data: bytes) -> None:
        """Upload a block as the next part; blocks come in order."""
        client, bucket, key = self._place.client, self._place.bucket, self._place.key
        if not self._upload_id:
            self._upload_id = client.create_multipart_upload(bucket, key, self._headers)
        number = len(self._parts) + 1
        self._parts.append(client.upload_part(bucket, key, self._upload_id, number, data, checksum(data)))
        self._written_bytes += len(data)

    def send(self, crc64nvme: int) -> None:
        """See ``ports.tree.Target``; the parts have been sent."""

    def commit(self, crc64nvme: int) -> None:
        """Complete the upload; S3 refuses parts that do not make up the size and the checksum of the whole."""
        self._require_size(self._written_bytes)
        written = Written(self._size, crc64nvme, self._headers)
        complete_upload(self._place, self._upload_id, self._parts, written, self._condition)
        self._upload_id = ""

    def abort(self) -> None:
        """Discard the upload."""
        if self._upload_id:
            self._place.give_up(self._upload_id)
            self._upload_id = ""
