"""CRC64NVME by the AWS common runtime, which uses the processor's carry-less multiplication."""

from __future__ import annotations

from functools import cache

from fanout.model.checksum import Crc64Nvme


@cache
def _engine() -> Crc64Nvme:
    from awscrt.checksums import crc64nvme as engine

    function: Crc64Nvme = engine
    return function


def crc64nvme(data: bytes, previous: int = 0) -> int:
    """The checksum of what ``previous`` covers followed by ``data``."""
    return _engine()(data, previous)
