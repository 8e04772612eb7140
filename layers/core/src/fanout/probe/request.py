"""The input of a probe as it comes from outside, checked field by field."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct

from fanout.facts.units import GIB, MIB
from fanout.model.errors import InvalidRequest
from fanout.model.location import MountLocation, parse_location
from fanout.request.fields.checked import checked
from fanout.request.fields.units import Size, size_of
from fanout.request.parts.limits import CREDIT_RESERVE_PERCENT

BUDGET_BYTES = 4 * GIB
LEAST_BUDGET_BYTES = 64 * MIB
MOST_BUDGET_BYTES = 1024 * GIB
MAX_FUNCTIONS = 8
MOST_FUNCTIONS = 32


class ProbeFields(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The input of an execution of ProbeFileSystem; everything has a default."""

    path: Annotated[str, Meta(description="directory below the mount's root in which the probe makes its own")] = "/"
    budget_bytes: Annotated[
        Size | None,
        Meta(description='bytes that are written and read at most, 64 MiB to 1 TiB, also as "1 GiB"; default: 4 GiB'),
    ] = None
    budget_seconds: Annotated[float, Meta(ge=20, le=3600, description="seconds within which the experiments end")] = (
        600.0
    )
    max_functions: (
        Annotated[
            int,
            Meta(
                ge=1, le=MOST_FUNCTIONS, description="functions that work at once; default: 8, or the stack's if fewer"
            ),
        ]
        | None
    ) = None
    credit_reserve_percent: Annotated[
        float, Meta(ge=0, le=100, description="burst credits that stay for others, percent of the most")
    ] = CREDIT_RESERVE_PERCENT


class ProbeRequest(ProbeFields, frozen=True, forbid_unknown_fields=False, kw_only=True):
    """The limits and place of a probe; ``path`` is a directory below the mount's root, empty for the root."""

    budget_bytes: int
    max_functions: int


def parse_probe_request(document: Any, mount: str, max_concurrency: int) -> ProbeRequest:
    """The request of a JSON document. Raises ``InvalidRequest`` for the first field that is wrong."""
    if not isinstance(document, dict):
        raise InvalidRequest("probe", "is not a JSON object", 'e.g. {} or {"budget_bytes": "1 GiB"}')
    fields = checked(document, ProbeFields)
    location = parse_location("path", f"efs:///{fields.path.strip('/')}", (mount,))
    assert isinstance(location, MountLocation)
    size = size_of("budget_bytes", fields.budget_bytes)
    size = BUDGET_BYTES if size is None else size
    if not LEAST_BUDGET_BYTES <= size <= MOST_BUDGET_BYTES:
        raise InvalidRequest("budget_bytes", f"{size:,} is not allowed", "64 MiB to 1 TiB")
    functions = min(MAX_FUNCTIONS, max_concurrency) if fields.max_functions is None else fields.max_functions
    if functions > max_concurrency:
        problem = f"{functions} is over the stack's {max_concurrency}"
        raise InvalidRequest("max_functions", problem, "ask for less or redeploy with another MaxConcurrency")
    return ProbeRequest(
        path=location.path,
        budget_bytes=size,
        budget_seconds=fields.budget_seconds,
        max_functions=functions,
        credit_reserve_percent=fields.credit_reserve_percent,
    )
