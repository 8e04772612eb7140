"""A big object being written in blocks by several functions: one multipart upload."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fanout.adapters.s3.client.responses import Copied, Part
from fanout.adapters.s3.conditions import ANYTHING, Condition, Written, find_written
from fanout.adapters.s3.metadata import to_headers
from fanout.adapters.s3.place import Place
from fanout.adapters.s3.source import stored_checksum
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
        place: Place,
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
    place: Place, upload_id: str, parts: Sequence[Part], written: Written, condition: Condition
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


def _is_gone(place: Place, upload_id: str) -> bool:
    """Whether S3 says that there is no such upload; no other answer says that it was completed."""
    try:
        place.client.list_parts(place.bucket, place.key, upload_id)
    except NotFound as error:
        return error.code == "NoSuchUpload"
    except FanoutError:
        return False
    return False


def _completed(place: Place, crc64nvme: int, size: int) -> Copied | None:
    try:
        found = place.client.head_listed(place.bucket, place.key)
    except FanoutError:
        return None
    if found.total_bytes != size or stored_checksum(found.headers) != crc64nvme:
        return None
    return Copied(found.headers["etag"], to_base64(crc64nvme))
