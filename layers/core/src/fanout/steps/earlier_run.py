"""An earlier run's ledger, as PlanTransfer reads it for the run that resumes it."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from msgspec import Struct

from fanout.domain import ledger_keys as keys
from fanout.domain.errors import InvalidRequest, LedgerBroken
from fanout.domain.plan import Plan
from fanout.domain.resuming import Part, chunks, resumed_document
from fanout.domain.rows import SCHEMA_VERSION, Json, segment_from_row
from fanout.domain.segments import Segment
from fanout.ledger import Ledger
from fanout.steps.assemble_big_files import read_or_none
from fanout.steps.rounds import rounds_done
from fanout.steps.segment_writer import OUTCOMES_PER_FILE

# What a part costs beside its entries, in entries: a few requests to the ledger, or the begin of an upload.
_PART_WEIGHT = 250
_READS_IN_FLIGHT = 32
_START_AGAIN = "start the request again without resume_from: what is done is found unchanged"


class EarlierRun(Struct, frozen=True):
    """A run to be resumed: its ledger, its plan, and the request that goes on with it."""

    ledger: Ledger
    plan: Plan
    document: Json

    @property
    def resumes(self) -> tuple[str, ...]:
        """This run and those that it resumed itself."""
        return (self.ledger.run_id, *self.plan.resumes)


def find_earlier_run(document: Any, ledger: Ledger) -> EarlierRun | None:
    """The run that a request names in ``resume_from``, if it names one.

    Raises ``InvalidRequest`` if it has no ledger, or one that this version can not read.
    """
    if not isinstance(document, dict) or document.get("resume_from") is None:
        return None
    run_id = document["resume_from"]
    if not isinstance(run_id, str) or run_id == ledger.run_id:
        raise InvalidRequest("resume_from", f"{run_id!r} is not allowed", "name an earlier run")
    try:
        earlier = ledger.of_run(run_id)
    except InvalidRequest as error:
        raise InvalidRequest("resume_from", f"{run_id[:80]!r} is no run", "name an earlier run") from error
    try:
        asked, planned = earlier.read_json(keys.REQUEST), earlier.read_json(keys.PLAN)
    except LedgerBroken as error:
        problem = f"{run_id} has no ledger here: it never began, was another stack's, or has expired"
        raise InvalidRequest("resume_from", problem, _START_AGAIN) from error
    versions = {asked.get("schema_version"), planned.get("schema_version")}
    if versions != {SCHEMA_VERSION}:
        problem = f"{run_id} has a ledger of another version than {SCHEMA_VERSION}"
        raise InvalidRequest("resume_from", problem, _START_AGAIN)
    return EarlierRun(earlier, earlier.read_plan(), resumed_document(document, asked["request"]))


def write_carried(earlier: EarlierRun, ledger: Ledger) -> list[Segment]:
    """Write what is taken over from the earlier run; returns the first round: that, and what it did not list."""
    records, frontier = _listed(earlier.ledger)
    carried: list[Segment] = []
    for number, parts in enumerate(chunks(_parts(records, earlier.ledger))):
        key = keys.carried_key(number)
        ledger.write_json(key, {"run_id": earlier.ledger.run_id, "parts": parts})
        carried.append(Segment("", carried=key))
    note = f"this run resumes {earlier.ledger.run_id}: what that one had done counts as unchanged"
    ledger.write_json(keys.note_key("plan"), [note])
    return carried + frontier


def _listed(ledger: Ledger) -> tuple[list[Json], list[Segment]]:
    """The records of what was listed (of rounds, or of the last one's segments), and the segments left to list."""
    records = list(rounds_done(ledger))
    rounds = sum(1 for key in ledger.keys("segments/round-") if not key.endswith("-done.json"))
    if records and len(records) == rounds and _is_partitioned(ledger):
        return records, []
    if not rounds:
        return [], [Segment("")]
    last = [segment_from_row(row) for row in ledger.read_json(keys.round_key(rounds))]
    with ThreadPoolExecutor(_READS_IN_FLIGHT) as pool:
        ids = [segment.id for segment in last]
        found = dict(zip(ids, pool.map(lambda one: _record(one, ledger), ids), strict=True))
    if len(records) < rounds:
        records += [_as_round(record) for record in found.values() if record is not None]
    frontier = [segment for segment in last if found[segment.id] is None]
    frontier += [segment_from_row(row) for record in found.values() if record for row in record["left"]]
    return records, frontier


def _record(segment_id: str, ledger: Ledger) -> Json | None:
    try:
        record: Json = ledger.read_json(keys.segment_key(segment_id))
    except LedgerBroken:
        return None
    return record


def _as_round(record: Json) -> Json:
    return {**record, "loose": [record["loose"]] if record["loose"] else []}


def _is_partitioned(ledger: Ledger) -> bool:
    return next(iter(ledger.keys(keys.SHARDS)), None) is not None


def _parts(records: list[Json], ledger: Ledger) -> Iterator[tuple[Part, int]]:
    """All that is taken over, in parts with their weights."""
    for record in records:
        for key in record["outcome_files"]:
            yield {"kind": "outcomes", "key": key}, OUTCOMES_PER_FILE
    counted = {row["id"] for record in records for row in record["big_files"]}
    for key in ledger.keys(keys.BIG_FILES_BEGUN):
        yield {"kind": "big_file", "key": key, "counted": keys.big_file_id(key) in counted}, _PART_WEIGHT
    for key in ledger.keys("directories/"):
        if key.endswith(".gz"):
            yield {"kind": "directories", "key": key}, _PART_WEIGHT
    if _is_partitioned(ledger):
        yield from _partitioned(ledger)
        return
    for record in records:
        for row in record["shards"] + record["loose"]:
            yield {"kind": "shard", "shard": row}, _PART_WEIGHT + row["entries"]
        for row in record["names"]:
            yield {"kind": "names", "key": row["key"]}, _PART_WEIGHT + row["entries"]


def _partitioned(ledger: Ledger) -> Iterator[tuple[Part, int]]:
    """The shards; one whose copies have further names goes together with these."""
    shards = {row["shard"]["id"]: row["shard"] for row in ledger.read_json(keys.SHARDS) if "blocks" not in row["shard"]}
    for row in read_or_none(ledger, keys.LINKS):
        copies = shards.pop(row["copied_by"], None)
        weight = row["shard"]["entries"] + (copies["entries"] if copies else 0)
        yield {"kind": "links", "shard": row["shard"], "copies": copies}, _PART_WEIGHT + weight
    for shard in shards.values():
        yield {"kind": "shard", "shard": shard}, _PART_WEIGHT + shard["entries"]
