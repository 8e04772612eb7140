"""The typed events that states pass to functions."""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum
from typing import Any

from msgspec import Struct, convert

from fanout.ledger.keys import run_prefix, verification_prefix
from fanout.model.document import Json
from fanout.model.errors import InvalidRequest
from fanout.model.segment import Segment
from fanout.model.shard import Shard


class PlanEvent(Struct, frozen=True):
    """Input of PlanTransfer: the request as it came, the execution's name and ARN, and each mount's functions."""

    request: Any
    run_id: str
    execution: str
    functions: tuple[dict[str, str], ...]


class CopyEvent(Struct, frozen=True):
    """Input of CopyShard and, with the error, of RecordShardFailure."""

    run: Json
    shard: Shard
    cursor: int
    error: Json


class PaceEvent(Struct, frozen=True):
    """Input of PaceCopy and, when the Map has ended, of EndPacing."""

    run: Json
    shards: Json
    execution_arn: str
    copied: bool


def field(event: Json, *path: str) -> Any:
    """A field of an event. Raises ``InvalidRequest`` that names it if the state did not send it."""
    value: Any = event
    for name in path:
        if not isinstance(value, dict) or name not in value:
            raise InvalidRequest(".".join(path), "is missing in the event", "start the function from the state machine")
        value = value[name]
    return value


def only_mount(mounts: Collection[str]) -> str:
    """The mount of a probe, whose functions see one. Raises ``InvalidRequest`` where there is none."""
    for mount in mounts:
        return mount
    raise InvalidRequest("FANOUT_MOUNTS", "names no mount", "deploy the function with templates/probe.yaml")


def plan_event(event: Json) -> PlanEvent:
    """The input of PlanTransfer."""
    request, run_id, execution = (field(event, name) for name in ("request", "run_id", "execution"))
    return PlanEvent(request, run_id, execution, tuple(field(event, "functions")))


def messages_of(event: Json) -> dict[str, str]:
    """The bodies of the messages of a queue by their ids, as Lambda hands them over."""
    return {field(record, "messageId"): field(record, "body") for record in field(event, "Records")}


def run_id_of(event: Json) -> str:
    """The run of any other event."""
    run_id: str = field(event, "run", "id")
    return run_id


def run_prefix_of(event: Json) -> str:
    """Where the ledger lies that the event is about: the run's, or the one of its verification."""
    run_id, prefix = run_id_of(event), field(event, "run", "prefix")
    allowed = (run_prefix(run_id), verification_prefix(run_id))
    if prefix not in allowed:
        raise InvalidRequest("run.prefix", f"{prefix!r} is not of the run", f"it is one of {', '.join(allowed)}")
    return str(prefix)


def sealed_of(event: Json) -> str:
    """Below which prefix the run seals its proof; empty for a run that is not to be certified."""
    prefix = str(field(event, "run").get("sealed", ""))
    allowed = ("", run_prefix(run_id_of(event)), verification_prefix(run_id_of(event)))
    if prefix not in allowed:
        raise InvalidRequest("run.sealed", f"{prefix!r} is not of the run", f"it is one of {', '.join(allowed[1:])}")
    return prefix


def window_of(event: Json) -> str:
    """The hours in which the run works; empty for always."""
    return str(field(event, "run").get("window", ""))


class End(StrEnum):
    """Which ends a function is to work on: both, or the one that it sees of a transfer between two mounts."""

    BOTH = "both"
    SOURCE = "source"
    DESTINATION = "destination"


def end_of(event: Json) -> End:
    """The end that an event is about. Raises ``InvalidRequest`` for one that does not exist."""
    found = event.get("end", End.BOTH.value)
    if found not in tuple(End):
        raise InvalidRequest("end", f"{found!r} is not an end", f"allowed are {', '.join(End)}")
    return End(found)


def restores_of(event: Json) -> Json | None:
    """The shards as RestoreObjects is handed them, who goes on from ``restores``; ``None`` for FinishTree."""
    return None if "state" in event else dict(field(event, "shards"))


def is_to_publish(event: Json) -> bool:
    """Whether PublishVersion calls, and not FinishTree."""
    return event.get("publish", False) is True


def has_broken_off(event: Json) -> bool:
    """Whether an error broke the run off before a state that runs all the same and is handed the whole state."""
    return "error" in field(event, "state")


def deletes_later(event: Json) -> bool:
    """Whether FinishTree is not the last to write: BeginDeletion follows, as ``AnyExtras?`` says, or PublishVersion."""
    if field(event, "run").get("publishes"):
        return True
    shards = field(event, "state").get("shards", {})
    return not has_broken_off(event) and shards.get("extras", 0) > 0


def round_mapped(event: Json) -> int:
    """The last round of finishing that FinishShards worked on before this FinishTree; -1 for none."""
    return int(field(event, "state").get("finish", {}).get("round", -1))


def segment_of(event: Json) -> Segment:
    """The segment of ListSegment."""
    return convert(field(event, "segment"), Segment)


def pace_event(event: Json) -> PaceEvent:
    """The input of PaceCopy and EndPacing."""
    return PaceEvent(*(field(event, name) for name in ("run", "shards", "execution", "copied")))


def copy_event(event: Json) -> CopyEvent:
    """The input of CopyShard and RecordShardFailure."""
    return CopyEvent(
        field(event, "run"), convert(field(event, "shard"), Shard), field(event, "cursor"), event.get("error", {})
    )
