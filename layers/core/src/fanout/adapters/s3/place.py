"""Where an object lies: the value that all operations on one object take."""

from __future__ import annotations

from contextlib import suppress

from msgspec import Struct

from fanout.adapters.http.transport import Response
from fanout.adapters.s3.client.client import S3Client
from fanout.model.errors import FanoutError, NotFound


class ObjectPlace(Struct, frozen=True):
    """An object by its bucket and key, and the client that asks for it."""

    client: S3Client
    bucket: str
    key: str

    def __str__(self) -> str:
        return f"s3://{self.bucket}/{self.key}"

    def head(self, *, if_match: str = "") -> Response:
        """The object's headers, its checksum among them."""
        return self.client.head_object(self.bucket, self.key, if_match=if_match)

    def give_up(self, upload_id: str) -> None:
        """Abort an upload. One that S3 fails to abort is left to the bucket's lifecycle rule."""
        with suppress(FanoutError):
            self.client.abort_multipart_upload(self.bucket, self.key, upload_id)


def is_one_bucket(client: S3Client, written: str, read: str, key: str) -> bool:
    """Whether an upload of ``key`` that is begun in the bucket ``written`` is one of the bucket ``read``.

    Raises ``AccessDenied`` or ``Transient`` where a bucket does not say: that does not make them different.
    """
    upload_id = client.create_multipart_upload(written, key, {})
    try:
        found = client.list_multipart_uploads(read, prefix=key)
    finally:
        with suppress(NotFound):  # aborted by a request whose answer was lost
            client.abort_multipart_upload(written, key, upload_id)
    return any((one.key, one.upload_id) == (key, upload_id) for one in found)
