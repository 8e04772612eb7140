"""A range of an object, received whole; what an answer that breaks off left out is asked for again."""

from __future__ import annotations

from fanout.adapters.http.transport import ConnectionBroken, Response
from fanout.adapters.s3.client.answers import holds_from
from fanout.adapters.s3.client.client import S3Client
from fanout.adapters.s3.client.faults import broken
from fanout.facts import units

# An answer of so many bytes before it broke off was progress: the attempts are counted anew.
_PROGRESS_BYTES = units.MIB


def read_range(client: S3Client, bucket: str, key: str, etag: str, byte_range: tuple[int, int]) -> Response:
    """The bytes from the first to the last of ``byte_range``, both included, of the object with this ETag.

    Raises what ``get_object`` of the client raises.
    """
    at, last = byte_range
    begun: list[bytes] = []
    failures = 0
    while True:
        try:
            response = client.get_object(
                bucket, key, if_match=etag, byte_range=(at, last), resumes=True, fresh=failures > 0
            )
        except ConnectionBroken as exc:
            part = exc.begun
            came = len(part.body) if part is not None and holds_from(part, etag, (at, last)) else 0
            failures = 1 if came >= _PROGRESS_BYTES else failures + 1
            client.wait_or_raise(broken(exc), failures, "GetObject", bucket, key)
            if part is not None and 0 < came <= last - at:
                begun.append(part.body)
                at += came
                etag = etag or part.headers["etag"]
        else:
            if begun:
                response.body = b"".join([*begun, response.body])
            return response
