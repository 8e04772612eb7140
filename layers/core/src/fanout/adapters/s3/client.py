"""The S3 client: every operation of the data plane behind one object."""

from __future__ import annotations

from fanout.adapters.s3.listings import ListingCalls
from fanout.adapters.s3.multipart import MultipartCalls
from fanout.adapters.s3.objects import ObjectCalls


class S3Client(ObjectCalls, ListingCalls, MultipartCalls):
    """Typed S3 operations, signed, repeated and translated in one place; safe to share between threads.

    Every method raises the errors of ``fanout.domain.errors`` alone.
    """
