"""The input of a probe as it comes from outside, checked field by field."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from fanout.facts.limits import GIB, MIB
from fanout.model.errors import InvalidRequest
from fanout.model.location import MountLocation, parse_location
from fanout.probe.experiments import ProbeRequest
from fanout.request.request import CREDIT_RESERVE_PERCENT
from fanout.request.units import Size, size_of

BUDGET_BYTES = 4 * GIB
LEAST_BUDGET_BYTES = 64 * MIB
MOST_BUDGET_BYTES = 1024 * GIB
MAX_FUNCTIONS = 8
MOST_FUNCTIONS = 32


class ProbeModel(BaseModel):
    """The input of an execution of ProbeFileSystem; everything has a default."""

    model_config = ConfigDict(extra="forbid", strict=True)

    path: Annotated[str, Field(description="directory below the mount's root in which the probe makes its own")] = "/"
    budget_bytes: Annotated[
        Size | None,
        Field(description='bytes that are written and read at most, 64 MiB to 1 TiB, also as "1 GiB"; default: 4 GiB'),
    ] = None
    budget_seconds: Annotated[float, Field(ge=20, le=3600, description="seconds within which the experiments end")] = (
        600.0
    )
    max_functions: Annotated[
        int | None,
        Field(ge=1, le=MOST_FUNCTIONS, description="functions that work at once; default: 8, or the stack's if fewer"),
    ] = None
    credit_reserve_percent: Annotated[
        float, Field(ge=0, le=100, description="burst credits that stay for others, percent of the most")
    ] = CREDIT_RESERVE_PERCENT


def parse_probe_request(document: Any, mount: str, max_concurrency: int) -> ProbeRequest:
    """The request of a JSON document. Raises ``InvalidRequest`` for the first field that is wrong."""
    if not isinstance(document, dict):
        raise InvalidRequest("probe", "is not a JSON object", 'e.g. {} or {"budget_bytes": "1 GiB"}')
    try:
        model = ProbeModel.model_validate(document)
    except ValidationError as error:
        raise _first_problem(error) from error
    location = parse_location("path", f"efs:///{model.path.strip('/')}", (mount,))
    assert isinstance(location, MountLocation)
    size = size_of("budget_bytes", model.budget_bytes)
    size = BUDGET_BYTES if size is None else size
    if not LEAST_BUDGET_BYTES <= size <= MOST_BUDGET_BYTES:
        raise InvalidRequest("budget_bytes", f"{size:,} is not allowed", "64 MiB to 1 TiB")
    functions = min(MAX_FUNCTIONS, max_concurrency) if model.max_functions is None else model.max_functions
    if functions > max_concurrency:
        problem = f"{functions} is over the stack's {max_concurrency}"
        raise InvalidRequest("max_functions", problem, "ask for less or redeploy with another MaxConcurrency")
    return ProbeRequest(location.path, size, model.budget_seconds, functions, model.credit_reserve_percent)


def _first_problem(error: ValidationError) -> InvalidRequest:
    problem = error.errors()[0]
    field = str(problem["loc"][0])
    if problem["type"] == "extra_forbidden":
        return InvalidRequest(field, "unknown field", f"known are {', '.join(ProbeModel.model_fields)}")
    return InvalidRequest(field, f"{problem['input']!r:.80} is not allowed", problem["msg"])
