"""Tells by a mark whether two names lead to one bucket, as that of an access point and that of its bucket do.

The mark is an upload that is begun under one name and looked for under the other. No listing of objects shows it, it
needs no right to write at the source, and it is given up in any case.
"""

from __future__ import annotations

from contextlib import suppress

from fanout.adapters.s3.client.client import S3Client
from fanout.model.errors import NotFound


def is_one_bucket(client: S3Client, written: str, read: str, key: str) -> bool:
    """Whether an upload of ``key`` that is begun in the bucket ``written`` is one of the bucket ``read``.

    Raises ``AccessDenied`` or ``Transient`` where a bucket does not say: that does not make them different.
    """
    upload_id = client.create_multipart_upload(written, key, {})
    try:
        found = client.list_multipart_uploads(read, prefix=key).uploads
    finally:
        with suppress(NotFound):  # aborted by a request whose answer was lost
            client.abort_multipart_upload(written, key, upload_id)
    return any((one.key, one.upload_id) == (key, upload_id) for one in found)
