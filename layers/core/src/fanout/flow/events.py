"""Reads the events that states pass to functions. The field ``step`` names the state."""

from __future__ import annotations

import re
from hashlib import sha256
from typing import Any

from msgspec import convert

from fanout.ledger.run_places import run_prefix, verification_prefix
from fanout.model.document import Json
from fanout.model.errors import InvalidRequest
from fanout.model.segment import Segment
from fanout.model.shard import Shard

# Ids of segments and shards are parts of keys of the ledger.
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,199}|")


def field(event: Json, *path: str) -> Any:
    """A field of an event. Raises ``InvalidRequest`` that names it if the state did not send it."""
    value: Any = event
    for name in path:
        if not isinstance(value, dict) or name not in value:
            raise InvalidRequest(".".join(path), "is missing in the event", "start the function from the state machine")
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
    return convert(with_own_id(event, "segment"), Segment)


def shard_of(event: Json) -> Shard:
    return convert(with_own_id(event, "shard"), Shard)


def with_own_id(event: Json, name: str) -> Json:
    """A field that is a segment or a shard. Raises ``InvalidRequest`` for an id that is not one of a run."""
    found: Json = field(event, name)
    check_id(f"{name}.id", str(found.get("id", "")))  # before the type, whose error names no field of the event
    return found


def check_id(name: str, value: str) -> None:
    """Raise ``InvalidRequest`` for an id of which a key of the ledger would be another place's."""
    if not _ID.fullmatch(value):
        raise InvalidRequest(name, f"{value[:80]!r} is not one of a run", "start the function from the state machine")


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
