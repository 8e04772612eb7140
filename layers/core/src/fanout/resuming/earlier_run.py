"""An earlier run's ledger, as the run that resumes it reads it: what is taken over, and the outcomes that count."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct

from fanout.ledger import keys
from fanout.ledger.documents import indexes_of
from fanout.ledger.ledger import Ledger
from fanout.ledger.objects import START_AGAIN
from fanout.listing.listed_outcomes import OUTCOMES_PER_FILE
from fanout.model.document import SCHEMA_VERSION, Json
from fanout.model.entry import Entry, Kind
from fanout.model.entry_outcome import Outcome
from fanout.model.errors import InvalidRequest
from fanout.model.segment import Segment
from fanout.request.fields.units import parse_time
from fanout.request.plan import Plan
from fanout.request.request import Request
from fanout.resuming import rules
from fanout.resuming.rules import carried_key
from fanout.shards.made_directories import directories_held
from fanout.shards.partitioned import entries_to_copy, is_partitioned, read_partition
from fanout.shards.record import each_once, records
from fanout.shards.round_records import (
    ListingResults,
    check_held,
    read_round,
    round_done_key,
    rounds_done,
    segment_key,
    segment_record,
)
from fanout.work.parallel import side_by_side

# The fixed cost of a part, in entries: a few requests to the ledger, or the begin of an upload.
_PART_WEIGHT = 250
_READS_IN_FLIGHT = 32


class ResumedRun(Struct, frozen=True):
    """A run to be resumed: its ledger, its plan, and the request that continues it."""

    ledger: Ledger
    plan: Plan
    document: Json

    @property
    def resumes(self) -> tuple[str, ...]:
        """This run and those that it resumed itself."""
        return (self.ledger.run_id, *self.plan.resumes)

    @property
    def read_once(self) -> str:
        """As ``planning.first_round.versions_read``: the list is the one that this run read."""
        return "" if self.plan.request.manifest is None else self.ledger.run_id

    @property
    def ages_from_ns(self) -> int | None:
        """The moment that ages of its filters are reckoned from: of the first run, and of all that resume it."""
        return self.plan.request.filters.ages_from_ns


def find_earlier_run(document: Any, ledger: Ledger) -> ResumedRun | None:
    """The run that a request names in ``resume_from``, if it names one.

    Raises ``InvalidRequest`` if it has no ledger, or one of another version, and ``LedgerBroken`` if one is not whole.
    """
    if not isinstance(document, dict) or document.get("resume_from") is None:
        return None
    run_id = document["resume_from"]
    if not isinstance(run_id, str) or run_id == ledger.run_id:
        raise InvalidRequest("resume_from", f"{run_id!r} is not allowed", "name an earlier run")
    try:
        earlier = ledger.of_run(run_id)
    except InvalidRequest as error:
        raise InvalidRequest("resume_from", f"{run_id[:80]!r} is not a run", "name an earlier run") from error
    asked, planned = earlier.find_json(keys.REQUEST), earlier.find_json(keys.PLAN)
    if asked is None or planned is None:
        problem = f"{run_id} has no ledger here: it never began, was another stack's, or has expired"
        raise InvalidRequest("resume_from", problem, START_AGAIN)
    if any(not isinstance(one, dict) or one.get("schema_version") != SCHEMA_VERSION for one in (asked, planned)):
        problem = f"{run_id} has a ledger of another version than {SCHEMA_VERSION}"
        raise InvalidRequest("resume_from", problem, START_AGAIN)
    merged = rules.resumed_document(document, earlier.read(keys.REQUEST).request)
    return ResumedRun(earlier, earlier.read_plan(), merged)


def write_carried(earlier: ResumedRun, ledger: Ledger) -> list[Segment]:
    """Write what is taken over from the earlier run; returns the first round: that, and what it did not list.

    Raises ``LedgerBroken`` if the earlier run's ledger names an object that is not there: it expires in no order.
    """
    records, frontier = _listed(earlier)
    carried: list[Segment] = []
    for number, parts in enumerate(rules.chunks(_parts(records, earlier.ledger))):
        key = carried_key(number)
        ledger.write(key, rules.Carried(earlier.ledger.run_id, parts))
        carried.append(Segment("", carried=str(key)))
    _note(earlier, "what that one had done counts as unchanged where it is still there", ledger)
    return carried + [_own(segment, len(carried) + at, earlier.ledger, ledger) for at, segment in enumerate(frontier)]


def note_listed_anew(earlier: ResumedRun, request: Request, ledger: Ledger) -> None:
    """Note what a run rests on that resumes one of which it takes over proofs alone."""
    proofs = "" if request.certificate else "; what that one proved equal is compared again where an end changed since"
    _note(earlier, f"both ends are listed anew{proofs}", ledger)


def _note(earlier: ResumedRun, what: str, ledger: Ledger) -> None:
    ledger.note("plan", [f"this run resumes {earlier.ledger.run_id}: {what}"])


def _own(segment: Segment, number: int, earlier: Ledger, ledger: Ledger) -> Segment:
    """A segment that the earlier run was itself to take over from a third one: its parts are in this ledger then."""
    if not segment.carried:
        return segment
    key = carried_key(number)
    ledger.write(key, earlier.read(rules.carried_key.at(segment.carried)))
    return Segment("", carried=str(key))


def _listed(earlier: ResumedRun) -> tuple[Sequence[ListingResults], list[Segment]]:
    """The records of what was listed (of rounds, or of the last one's segments), and the segments left to list."""
    ledger = earlier.ledger
    records = list(rounds_done(ledger))
    closed = len(records)
    left = records[-1].left if records else 1
    if not left:
        return records, []
    if ledger.has(keys.round_key(closed + 1)):
        return _half_listed(records, read_round(closed + 1, left if records else 0, ledger), ledger)
    if records:  # the round was closed, and the next one not opened
        last = ledger.read(keys.round_key(closed))
        frontier = [one for segment in last for one in segment_record(segment.id, ledger).left]
        if len(frontier) != left:
            raise ledger.broken(round_done_key(closed), f"left {left} segments, and its segments {len(frontier)}")
        return records, frontier
    if earlier.plan.request.manifest is not None:
        problem = f"{ledger.run_id} did not begin to read its manifest"
        raise InvalidRequest("resume_from", problem, START_AGAIN)
    return [], [Segment("")]


def _half_listed(
    records: Sequence[ListingResults], opened: list[Segment], ledger: Ledger
) -> tuple[Sequence[ListingResults], list[Segment]]:
    """A round that was opened and not closed: each of its segments has a record, or is listed now."""
    found = side_by_side(lambda one: ledger.find(segment_key(one.id)), opened, _READS_IN_FLIGHT)
    frontier = [segment for segment, record in zip(opened, found, strict=True) if record is None]
    frontier += [one for record in found if record is not None for one in record.left]
    return [*records, *(record for record in found if record is not None)], frontier


def _parts(records: Sequence[ListingResults], ledger: Ledger) -> Iterator[tuple[rules.CarriedPart, int]]:
    """All that is taken over, in parts with their weights; each object that is to be there is."""
    outcome_files = [key for record in records for key in record.outcome_files]
    check_held(outcome_files, "outcomes/listed/", ledger)
    for key in outcome_files:
        yield rules.CarriedOutcomes(key), OUTCOMES_PER_FILE
    counted = {keys.big_file_key(big.id) for record in records for big in record.big_files}
    check_held(counted, keys.BIG_FILES_BEGUN, ledger)
    for key in ledger.keys(keys.BIG_FILES_BEGUN):
        yield rules.CarriedBigFile(key, key in counted), _PART_WEIGHT
    carried = (key for record in records for key in record.directories)
    for key, rows in directories_held(carried, ledger).items():
        # The outcomes that belong to a file without rows do not count: its directories are copied again.
        if rows is not None or keys.copied_directories(key) is None:
            yield rules.CarriedDirectories(key, rows), _PART_WEIGHT
    yield from _partitioned(records, ledger) if is_partitioned(ledger) else _not_partitioned(records, ledger)


def _not_partitioned(records: Sequence[ListingResults], ledger: Ledger) -> Iterator[tuple[rules.CarriedPart, int]]:
    shards = [shard for record in records for shard in record.shards + record.loose]
    names = [file for record in records for file in record.names]
    check_held((shard.key for shard in shards), keys.SHARD_FILES, ledger)
    check_held((file.key for file in names), keys.LISTED_NAMES, ledger)
    for shard in shards:
        yield rules.CarriedShard(shard), _PART_WEIGHT + shard.entries
    for file in names:
        yield rules.CarriedNames(file.key, file.entries), _PART_WEIGHT + file.entries


def _partitioned(records: Sequence[ListingResults], ledger: Ledger) -> Iterator[tuple[rules.CarriedPart, int]]:
    """The shards; one whose copies have further names goes together with these."""
    found = read_partition(ledger, sum(map(entries_to_copy, records)))
    shards = {shard.id: shard for shard in found.shards if shard.blocks is None}
    links = [one.shard for one in found.links]
    check_held((shard.key for shard in [*shards.values(), *links]), keys.SHARD_FILES, ledger)
    for link in found.links:
        copies = shards.pop(link.copied_by, None)
        weight = link.shard.entries + (copies.entries if copies else 0)
        yield rules.CarriedLinks(link.shard, copies), _PART_WEIGHT + weight
    for shard in shards.values():
        yield rules.CarriedShard(shard), _PART_WEIGHT + shard.entries


def ended_ns(ledger: Ledger) -> int | None:
    """The time at which the earlier run wrote its summary, to the second below; ``None`` where it has none."""
    summary = ledger.find_json(keys.SUMMARY)
    ended = summary.get("ended") if isinstance(summary, dict) else None
    return parse_time(ended) if isinstance(ended, str) else None


def entry_of(outcome: Outcome) -> Entry:
    """The entry of an outcome, which knows none of its times."""
    return Entry(outcome.path, Kind(outcome.kind), outcome.size)


def began(ledger: Ledger) -> float:
    """The time at which the earlier run began, in seconds since 1970: what it found unchanged was there before."""
    found = ledger.find(keys.phase_key("plan"))
    return found.began if found is not None else 0.0


def outcomes_of(shard_id: str, ledger: Ledger) -> dict[int, Outcome]:
    """The outcomes of a shard that count, by the index of their entry."""
    return timed_outcomes_of(shard_id, ledger)[0]


def timed_outcomes_of(shard_id: str, ledger: Ledger) -> tuple[dict[int, Outcome], dict[int, float]]:
    """The outcomes that count, and by when each was done, in seconds since 1970; 0 where it is unknown.

    Of several attempts, which may all have copied, the last one's time counts.
    """
    found = records(shard_id, ledger)
    outcomes = {index: outcome for _, index, outcome in each_once(found, ledger)}
    times: dict[int, float] = {}
    for record in found:
        times |= {index: max(record.at, times.get(index, 0.0)) for index in indexes_of(record.ranges)}
    return outcomes, {index: times.get(index, 0.0) for index in outcomes}
