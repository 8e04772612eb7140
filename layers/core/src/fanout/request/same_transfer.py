"""Whether two requests are the same transfer, so that of two runs at the same time one does the work of both.

Two requests are the same transfer if they are equal but for the fields of ``ALIKE``. These change how fast a run works
or what its forecast says, and nothing else: not which entries it carries or reports, not who asks or pays, and not
when it is refused or stops. A field that is not in the table is part of the transfer.

A forecast refuses a run by ``limits.max_dollars`` and ``limits.finish_by``. So with one of these every field of a
request is part of the transfer.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from msgspec import to_builtins

from fanout.request.request import Request, request_at

# Fields of a request, with a dot before those of a part of it, and why two runs that differ in them do the same.
ALIKE: Mapping[str, str] = {
    "limits.max_concurrency": "how many functions copy at once",
    "limits.shard_seconds": "how the same entries are divided among functions",
    "limits.split_bytes": "the same",
    "limits.bytes_per_second": "a rate, which fanout limit changes during a run too",
    "limits.files_per_second": "the same",
    "limits.credit_reserve_percent": "how fast a run copies where credits are short",
    "checksums": "by which way the same bytes are compared",
    "calibration": "which rates the forecast has",
    "function": "the size of the stack's functions, which no request names",
}


def same_transfer_digest(request: Request) -> str:
    """The digest that the requests of one transfer share."""
    document = to_builtins(request_at(request, None))
    limits = request.limits
    if limits.max_dollars is None and not limits.finish_by:
        for path in ALIKE:
            _take_out(document, path.split("."))
    return sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()


def _take_out(document: dict[str, Any], path: list[str]) -> None:
    *parts, name = path
    for one in parts:
        document = document[one]
    document.pop(name)
