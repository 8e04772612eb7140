"""The S3 client: every operation of the data plane behind one object."""

from __future__ import annotations

from fanout.adapters.http.transport import Response
from fanout.adapters.s3.client.listings import ListingCalls
from fanout.adapters.s3.client.multipart import MultipartCalls
from fanout.adapters.s3.client.objects import ObjectCalls
from fanout.model.errors import AccessDenied, ListingIncomplete, NotFound, Transient


class S3Client(ObjectCalls, ListingCalls, MultipartCalls):
    """Typed S3 operations, signed, repeated and translated in one place; safe to share between threads.

    Every method raises the errors of ``fanout.model.errors`` alone.
    """

    def head_object(self, bucket: str, key: str, *, if_match: str = "") -> Response:
        """The object's headers; ``NotFound`` also where S3 hides that it is missing.

        Without the right to list the whole bucket S3 answers 403 for a missing key, as for one that may not be read
        (AmazonS3/latest/API/API_HeadObject.html). A role that is limited to prefixes can still list the key itself.
        """
        try:
            return super().head_object(bucket, key, if_match=if_match)
        except AccessDenied as denied:
            if self.is_listed(bucket, key):
                raise
            raise NotFound(f"HeadObject on s3://{bucket}/{key}: it is not listed", "NoSuchKey") from denied

    def is_listed(self, bucket: str, key: str) -> bool:
        """Whether a listing shows the key: an answer without a body can be another's, a page says what it is of."""
        return self._listed_etag(bucket, key) is not None

    def head_listed(self, bucket: str, key: str) -> Response:
        """The headers of the object that a listing shows under the key. Raises ``NotFound`` where it shows none.

        A HEAD alone does not show that the key is there: it can be another's. A page names the key, and the HEAD must
        have the ETag of the page, so the bytes are those of this key.
        Raises ``PreconditionFailed`` if the object is replaced between the two.
        """
        etag = self._listed_etag(bucket, key)
        if etag is None:
            raise NotFound(f"s3://{bucket}/{key} is not listed", "NoSuchKey")
        return self.head_object(bucket, key, if_match=etag)

    def _listed_etag(self, bucket: str, key: str) -> str | None:
        try:
            page = self.list_objects_v2(bucket, prefix=key, max_keys=1)
        except ListingIncomplete as error:
            raise Transient(str(error)) from error
        return page.etags[page.keys.index(key)] if key in page.keys else None
