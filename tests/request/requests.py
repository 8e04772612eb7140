"""A good request, parsed and brought through the ledger."""

from __future__ import annotations

from typing import Any

from fanout.request.parse import parse_request

GOOD = {"source": "s3://a-bucket/in/", "destination": "efs:///out"}


S3_TO_S3 = {"source": "s3://a-bucket/x/", "destination": "s3://b-bucket/x/"}


def parse(document: Any) -> Any:
    return parse_request(document, ("data", "other"), 10)
