"""A document of the ledger as JSON, and the version of its schema."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

Json = dict[str, Any]
SCHEMA_VERSION = 1


def utc(seconds: float) -> str:
    """Seconds since 1970 as a time of ISO 8601 in UTC, to the second."""
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
