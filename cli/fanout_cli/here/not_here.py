"""Fields of a request that the engine on one machine does not carry out yet, each with what to do instead."""

from __future__ import annotations

_STACK = "run it on a stack: fanout {mode} SOURCE DESTINATION"
_ROLE = "give --profile one that assumes the role"
_ONE = "one process carries out a run here; leave it out"
_AWS = "it is about what AWS would take and cost; give --max-seconds, or ask `fanout estimate`"

NOT_HERE = {
    "certificate": f"a stack's key signs certificates; {_STACK} --certificate",
    "checksums": f"a stack has S3 compute checksums; give --verify all, or {_STACK} --checksums",
    "calibration": "a stack has measured file systems; leave it out",
    "source_bucket.role": _ROLE,
    "source_bucket.external_id": _ROLE,
    "destination_bucket.role": _ROLE,
    "destination_bucket.external_id": _ROLE,
    "limits.max_concurrency": _ONE,
    "limits.credit_reserve_percent": "no burst credits are measured here; give --rate",
    "limits.max_dollars": _AWS,
    "limits.finish_by": _AWS,
    "prices": _AWS,
}


def instead_of(field: str, mode: str) -> str:
    """The way to do without a field; empty where the engine carries it out."""
    return NOT_HERE.get(field, "").format(mode=mode)
