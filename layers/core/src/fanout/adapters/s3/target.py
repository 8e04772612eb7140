"""S3 objects being written: in one request, in parts, or in blocks by several functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fanout.adapters.s3.client.requests import Call
from fanout.adapters.s3.client.responses import Copied, Part
from fanout.adapters.s3.conditions import ANYTHING, Condition, Written, etag_of, find_written
from fanout.adapters.s3.metadata import to_headers
from fanout.adapters.s3.place import ObjectPlace
from fanout.adapters.s3.source import stored_checksum
from fanout.model.checksum import crc64nvme as checksum
from fanout.model.checksum import to_base64
from fanout.model.entry import Attributes
from fanout.model.errors import FanoutError, ItemError, NotFound, PreconditionFailed, Transient
from fanout.model.outcome import Reason
from fanout.model.shard import Receipt

_NO_HEADERS: Mapping[str, str] = {}


class UploadBlocks:
    """A ``BlockTarget`` over an upload; block ``n`` is part ``n + 1``. The token is the upload's id."""

    keeps_holes = False
    takes_pieces = False

    def __init__(
        self,
        place: ObjectPlace,
        size: int,
        upload_id: str,
        condition: Condition = ANYTHING,
        write_headers: Mapping[str, str] = _NO_HEADERS,
    ) -> None:
        """``write_headers`` are those that the upload was begun with, besides its attributes."""
        self._place = place
        self._size = size
        self._upload_id = upload_id
        self._condition = condition
        self._write_headers = write_headers

    def sync(self) -> None:
        """See ``ports.tree.BlockTarget``; a part stays when it is answered for."""

    def write(self, index: int, offset: int, data: bytes, crc64nvme: int) -> str:
        """See ``ports.tree.BlockTarget``; S3 refuses bytes that the checksum does not fit."""
        place, number = self._place, index + 1
        try:
            part = place.client.upload_part(place.bucket, place.key, self._upload_id, number, data, crc64nvme)
        except NotFound as error:
            raise ItemError(Reason.DESTINATION_VANISHED, "the multipart upload is no longer there") from error
        return part.etag

    def complete(self, receipts: Sequence[Receipt], crc64nvme: int, attributes: Attributes) -> None:
        """See ``ports.tree.BlockTarget``; the attributes came with the upload's begin."""
        parts = [Part(receipt.index + 1, receipt.etag, to_base64(receipt.crc64nvme)) for receipt in receipts]
        written = Written(self._size, crc64nvme, {**to_headers(attributes), **self._write_headers})
        complete_upload(self._place, self._upload_id, parts, written, self._condition)

    def discard(self) -> None:
        self._place.give_up(self._upload_id)


def complete_upload(
    place: ObjectPlace, upload_id: str, parts: Sequence[Part], written: Written, condition: Condition
) -> Copied:
    """Complete an upload, also one whose completion happened although the answer to it was lost or is none.

    Where the answer does not decide, the upload does: while S3 still lists its parts it is not completed, and the error
    stays. If it is gone, the object must be listed, with this size and checksum.
    """
    crc64nvme, size = written.crc64nvme, written.size
    try:
        return place.client.complete_multipart_upload(
            place.bucket, place.key, upload_id, parts, condition.headers, crc64nvme=crc64nvme, size=size
        )
    except (NotFound, PreconditionFailed, Transient) as error:
        if condition.refused(error):
            known = find_written(place, written, error, condition).headers
            place.give_up(upload_id)
            return Copied(known.get("etag", ""), known.get("x-amz-checksum-crc64nvme", ""))
        if isinstance(error, PreconditionFailed):
            raise
        if crc64nvme is None or not _is_gone(place, upload_id):
            raise
        done = _completed(place, crc64nvme, size)
        if done is None:
            raise
        return done


def _is_gone(place: ObjectPlace, upload_id: str) -> bool:
    """Whether S3 says that there is no such upload; no other answer says that it was completed."""
    try:
        place.client.list_parts(place.bucket, place.key, upload_id)
    except NotFound as error:
        return error.code == "NoSuchUpload"
    except FanoutError:
        return False
    return False


def _completed(place: ObjectPlace, crc64nvme: int, size: int) -> Copied | None:
    try:
        found = place.client.head_listed(place.bucket, place.key)
    except FanoutError:
        return None
    if found.total_bytes != size or stored_checksum(found.headers) != crc64nvme:
        return None
    return Copied(found.headers["etag"], to_base64(crc64nvme))


class _ObjectTarget:
    """The place of an object that is written, its size, its headers and its condition."""

    keeps_holes = False
    takes_pieces = False

    def __init__(
        self, place: ObjectPlace, size: int, headers: Mapping[str, str], condition: Condition = ANYTHING
    ) -> None:
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

    def __init__(
        self, place: ObjectPlace, size: int, headers: Mapping[str, str], condition: Condition = ANYTHING
    ) -> None:
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

    def __init__(
        self, place: ObjectPlace, size: int, headers: Mapping[str, str], condition: Condition = ANYTHING
    ) -> None:
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
        if self._upload_id:
            self._place.give_up(self._upload_id)
            self._upload_id = ""
