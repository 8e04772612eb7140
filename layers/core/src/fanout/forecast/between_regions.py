"""The dollars of bytes that go from one region to another.

| what is done                        | bytes that are charged                                          |
|-------------------------------------|-----------------------------------------------------------------|
| a copy between two buckets          | once, if their regions differ                                   |
| a copy between a bucket and a mount | once, if the bucket is not in the stack's region                |
| data that is read to compare it     | at each end that is not in the stack's region                   |
| a verification after a copy         | as those that are read, with a certificate; a HEAD has no bytes |

The region that the bytes leave has the price. There is one price here: that of ``facts.prices``, or the user's own.
"""

from __future__ import annotations

from collections.abc import Mapping

from fanout.facts.units import GB
from fanout.request.request import Request

# The name in the summary.
TRANSFER = "transfer_between_regions"


def to_copy(
    request: Request, size: int, compared: int, regions: Mapping[str, str], price: Mapping[str, float]
) -> dict[str, float]:
    """Of the work of a run: ``size`` to copy, or to compare where it compares, and ``compared`` before the copy."""
    far = _far_ends(request, regions)
    if request.course.compares:
        return _dollars(size * far, price)
    source, destination = (regions.get(end.bucket) for end in (request.source, request.destination))
    crossing = source != destination if request.inside_s3 else bool(far)
    return _dollars(size * crossing + compared * far, price)


def to_verify(request: Request, size: int, regions: Mapping[str, str], price: Mapping[str, float]) -> dict[str, float]:
    """Of verifying so much after a copy."""
    return _dollars(size * _far_ends(request, regions) if request.certificate else 0, price)


def _far_ends(request: Request, regions: Mapping[str, str]) -> int:
    return sum(end.is_keyed and end.bucket in regions for end in (request.source, request.destination))


def _dollars(size: int, price: Mapping[str, float]) -> dict[str, float]:
    return {TRANSFER: size / GB * price["transfer_gb"]} if size else {}
