"""Where a bucket is reached."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import urlsplit

from msgspec import Struct

from fanout.facts.aws import REGION, SUFFIX, SUFFIXES
from fanout.model.errors import InvalidRequest

_REGION = re.compile(REGION)
_LABEL = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-")
_NAME = _LABEL | frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ._")
_DEFAULT_PORTS = {"http": 80, "https": 443}


def check_region(region: str) -> str:
    """The region. Raises ``InvalidRequest`` for a text that could lead to another host than AWS's."""
    if not _REGION.fullmatch(region):
        raise InvalidRequest("region", f"{region[:80]!r} is not the name of a region of AWS", "such as eu-west-1")
    return region


class Endpoint(Struct, frozen=True):
    """The S3 of a region, or another S3 at ``url`` (scheme, host and port)."""

    region: str
    url: str = ""

    def __post_init__(self) -> None:
        """Raise ``InvalidRequest`` for what is not a region, where its name becomes that of a host."""
        if not self.url:
            check_region(self.region)


class BucketAddress(NamedTuple):
    """The parts of a bucket's address: ``origin`` + ``root`` + the encoded key is a URL."""

    origin: str
    host: str
    root: str


def suffix_of(region: str) -> str:
    """The end of the names of AWS's hosts in a region."""
    return next((suffix for begins, suffix in SUFFIXES.items() if region.startswith(begins)), SUFFIX)


@lru_cache(maxsize=256)
def locate(endpoint: Endpoint, bucket: str) -> BucketAddress:
    """The bucket's address: virtual-hosted, or path style for a custom URL or a name that is no DNS label.

    Raises ``InvalidRequest`` for a name that no bucket can have.
    """
    if not 3 <= len(bucket) <= 255 or not _NAME.issuperset(bucket):
        raise InvalidRequest("bucket", f"{bucket!r} is not a bucket name", "use 3 to 63 of a-z, 0-9, '-' and '.'")
    if endpoint.url:
        parts = urlsplit(endpoint.url)
        host = parts.hostname or ""
        host = f"[{host}]" if ":" in host else host
        if parts.port and parts.port != _DEFAULT_PORTS.get(parts.scheme):
            host = f"{host}:{parts.port}"
        return BucketAddress(f"{parts.scheme}://{host}", host, f"/{bucket}/")
    host = f"s3.{endpoint.region}.{suffix_of(endpoint.region)}"
    if len(bucket) <= 63 and _LABEL.issuperset(bucket):
        host = f"{bucket}.{host}"
        return BucketAddress(f"https://{host}", host, "/")
    return BucketAddress(f"https://{host}", host, f"/{bucket}/")
