"""The S3 client: every operation of the data plane behind one object."""

from __future__ import annotations

from fanout.adapters.s3.listings import ListingCalls
from fanout.adapters.s3.multipart import MultipartCalls
from fanout.adapters.s3.objects import ObjectCalls
from fanout.adapters.s3.transport import Response
from fanout.domain.errors import AccessDenied, ListingIncomplete, NotFound, Transient


class S3Client(ObjectCalls, ListingCalls, MultipartCalls):
    """Typed S3 operations, signed, repeated and translated in one place; safe to share between threads.

    Every method raises the errors of ``fanout.domain.errors`` alone.
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
        try:
            return key in self.list_objects_v2(bucket, prefix=key, max_keys=1).keys
        except ListingIncomplete as error:
            raise Transient(str(error)) from error
