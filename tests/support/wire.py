"""A flow through the handlers whose requests to S3 are kept as they were sent."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from tests.support.handler_flow import HandlerFlow
from tests.support.http import Head
from tests.support.s3_proxy import S3Proxy

SOURCE, TARGET = "source-bucket", "target-bucket"


@dataclass
class Wire:
    """The flow, the proxy between it and S3, and what was asked."""

    flow: HandlerFlow
    proxy: S3Proxy
    heads: list[Head] = field(default_factory=list)

    def keep(self, head: Head) -> str:
        """Keep a request and answer it truly."""
        self.heads.append(head)
        return ""

    def of(self, bucket: str) -> list[Head]:
        """The signed requests to a bucket; what only asks whether S3 answers is not signed."""
        return [one for one in self.heads if one.target.startswith(f"/{bucket}/") and "authorization" in one.headers]


def said(head: Head, names: Iterable[str]) -> dict[str, str]:
    """Those of the headers that a request has; all of them must be signed."""
    found = {name: head.headers[name] for name in names if name in head.headers}
    signed = head.headers["authorization"].partition("SignedHeaders=")[2].partition(",")[0].split(";")
    assert set(found) <= set(signed)
    return found
