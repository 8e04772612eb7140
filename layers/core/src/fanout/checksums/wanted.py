"""The ends of an entry whose checksum S3 is to compute.

| source                | destination           | computed                            |
|-----------------------|-----------------------|-------------------------------------|
| on a mount            | tells a checksum      | none: the bytes of the mount tell it |
| on a mount            | tells none            | the destination's                   |
| tells a checksum      | on a mount            | none                                |
| tells none            | on a mount            | the source's                        |
| tells one that the destination tells too      | | none                                |
| tells none that the destination tells too     | | CRC64NVME of each that lacks it     |
"""

from __future__ import annotations

from fanout.model.algorithms import CRC64NVME, Sums, in_common

SOURCE, DESTINATION = "source", "destination"


def to_compute(told: dict[str, Sums]) -> tuple[str, ...]:
    """The ends in the order of the table; ``told`` holds what each end tells that is a bucket."""
    if len(told) == 1:
        return tuple(end for end, sums in told.items() if not sums)
    if in_common(told[SOURCE], told[DESTINATION]):
        return ()
    return tuple(end for end, sums in told.items() if CRC64NVME not in sums)
