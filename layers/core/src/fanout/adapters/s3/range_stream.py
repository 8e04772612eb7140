"""A range of an object received piece by piece, so that no more than a piece of it is held."""

from __future__ import annotations

from fanout.adapters.s3.client import S3Client
from fanout.adapters.s3.connection import ConnectionBroken
from fanout.adapters.s3.faults import broken
from fanout.adapters.s3.transport import Response


class RangeStream:
    """The bytes from the first to the last of ``byte_range``, both included, of the object with this ETag.

    Used by one thread at a time. Where the answer breaks off, what is left of the range is asked for again.
    """

    def __init__(self, client: S3Client, bucket: str, key: str, etag: str, byte_range: tuple[int, int]) -> None:
        """Ask for it and wait for the answer's head. Raises what ``S3Client.get_object`` raises."""
        self._client = client
        self._bucket, self._key, self._etag = bucket, key, etag
        self._at, self._last = byte_range
        self._failures = 0
        self._open()

    def _open(self) -> None:
        call = self._client.begin_get_object(
            self._bucket,
            self._key,
            if_match=self._etag,
            byte_range=(self._at, self._last),
            fresh=bool(self._failures),
        )
        self._opened = call.opened(self._failures)
        self._etag = self._etag or self._opened.response.headers["etag"]

    @property
    def response(self) -> Response:
        """The head of the answer."""
        return self._opened.response

    @property
    def next_offset(self) -> int | None:
        """Where in the object the next piece begins; ``None`` after the last one."""
        return self._at if self._at <= self._last else None

    def read(self, length: int) -> bytes:
        """The next bytes; fewer than asked for only at the end. Raises what ``S3Client.get_object`` raises."""
        while True:
            try:
                piece = self._opened.read(length)
            except ConnectionBroken as exc:
                self._failures += 1
                self._client.wait_or_raise(broken(exc), self._failures, "GetObject", self._bucket, self._key)
                self._open()
            else:
                self._at += len(piece)
                self._failures = 0
                return piece

    def close(self) -> None:
        """Give up what is left."""
        self._opened.close()
