"""Where an object lies: the value that all operations on one object take."""

from __future__ import annotations

from contextlib import suppress

from msgspec import Struct

from fanout.adapters.http.transport import Response
from fanout.adapters.s3.client.client import S3Client
from fanout.model.errors import FanoutError


class Place(Struct, frozen=True):
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
