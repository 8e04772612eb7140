"""A document of the ledger as JSON, and the version of its schema."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]
SCHEMA_VERSION = 1
