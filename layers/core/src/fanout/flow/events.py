"""Reads the events that states pass to functions. The field ``step`` names the state."""

from __future__ import annotations

import re
from datetime import datetime
from hashlib import sha256
from typing import Annotated, Any, TypeVar

from msgspec import UNSET, Meta, Struct, UnsetType, ValidationError, convert

from fanout.ledger.run_places import run_prefix, verification_prefix
from fanout.model.document import Json
from fanout.model.errors import InvalidRequest
from fanout.model.segment import Segment
from fanout.model.shard import Shard

# Ids of segments and shards are parts of keys of the ledger.
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,199}|")
FROM_MACHINE = "start the function from the state machine"
T = TypeVar("T")


# docs.aws.amazon.com/step-functions/latest/apireference/API_DescribeExecution.html
Arn = Annotated[str, Meta(min_length=1, max_length=256)]


class _Run(Struct):
    id: str | UnsetType = UNSET
    prefix: str | UnsetType = UNSET
    sealed: str = ""
    window: str = ""
    functions: dict[str, str] = {}


class _SentPart(Struct):
    """A segment or a shard, as far as each is one."""

    id: str


class _Round(Struct):
    round: int = 0
    max_concurrency: int = 0


class _Shards(Struct):
    restores: str = ""
    extras: int = 0


class _SentState(Struct):
    shards: _Shards | UnsetType = UNSET
    finish: _Round | UnsetType = UNSET
    error: Json | UnsetType = UNSET
    pace: dict[str, Json] = {}


class _SentMessage(Struct):
    messageId: str | UnsetType = UNSET
    body: str | UnsetType = UNSET


class _Event(Struct):
    """The types of the fields of all states, each of which sends some; a state asks for its own by ``field``."""

    step: str
    run: _Run | UnsetType = UNSET
    segment: _SentPart | UnsetType = UNSET
    shard: _SentPart | UnsetType = UNSET
    list: _Round | UnsetType = UNSET
    shards: _Shards | UnsetType = UNSET
    state: _SentState | UnsetType = UNSET
    error: Json | UnsetType = UNSET
    functions: tuple[dict[str, str], ...] = ()
    Records: tuple[_SentMessage, ...] = ()
    execution: Arn | UnsetType = UNSET
    run_id: str = ""
    entered: datetime | UnsetType = UNSET
    cursor: int = 0
    round: int = 0
    member: int = 0


def check_event(event: Any) -> str:
    """The state that sent an event. Raises ``InvalidRequest`` for a value that no state sends."""
    try:
        return convert(event, _Event).step
    except ValidationError as error:
        raise InvalidRequest("event", str(error), FROM_MACHINE) from error


def field(event: Json, *path: str) -> Any:
    """A field of an event. Raises ``InvalidRequest`` that names it if the state did not send it."""
    value: Any = event
    for name in path:
        if not isinstance(value, dict) or name not in value:
            raise InvalidRequest(".".join(path), "is missing in the event", FROM_MACHINE)
        value = value[name]
    return value


def run_id_of(event: Json) -> str:
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


def messages_of(event: Json) -> dict[str, str]:
    """The bodies of the messages of a queue by their ids, as Lambda hands them over."""
    return {field(record, "messageId"): field(record, "body") for record in field(event, "Records")}


def batch_run_id(event: Json) -> str:
    """The run of a batch: the same messages, delivered again, are the same run."""
    return f"batch-{sha256(' '.join(sorted(messages_of(event))).encode()).hexdigest()[:32]}"


def segment_of(event: Json) -> Segment:
    return part_of(event, "segment", Segment)


def shard_of(event: Json) -> Shard:
    return part_of(event, "shard", Shard)


def part_of(event: Json, name: str, kind: type[T]) -> T:
    """A field that is a segment or a shard. Raises ``InvalidRequest`` for another value, or an id of no run."""
    found: Json = field(event, name)
    check_id(f"{name}.id", str(found.get("id", "")))
    try:
        return convert(found, kind)
    except ValidationError as error:
        raise InvalidRequest(name, str(error), FROM_MACHINE) from error


def check_id(name: str, value: str) -> None:
    """Raise ``InvalidRequest`` for an id of which a key of the ledger would be another place's."""
    if not _ID.fullmatch(value):
        raise InvalidRequest(name, f"{value[:80]!r} is not one of a run", FROM_MACHINE)


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
