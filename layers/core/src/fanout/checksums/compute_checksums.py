"""ComputeChecksums: has S3 compute the checksums of objects that tell none, and waits for them.

| a task                            | does                                                        | and answers     |
|-----------------------------------|-------------------------------------------------------------|-----------------|
| while there are shards to look at | looks at their objects, and asks S3 for a job about some    | ``again``       |
| later                             | looks at the jobs, and reads the reports of those that end  | ``wait``        |
| when all jobs have ended          | notes how many checksums there are                          | ``verify``      |
| after a day, or the run's time    | cancels the jobs that are at work                           | ``verify``      |

The checksums only save reading. Whatever S3 refuses, fails at or is late with is read by the verification, and noted. A
job is asked for when its manifest and the document about it are written, so a task that runs twice asks for the same
job, by the same token.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from math import inf

from msgspec import Struct

from fanout.checksums.progress import (
    NOTE,
    CreatedJob,
    EndedJob,
    InJob,
    JobBatch,
    JobObjects,
    all_asked,
    asked_key,
    created_key,
    ended_key,
    job_of,
    manifest_key,
    reported,
    shard_key,
)
from fanout.checksums.rows import DESTINATION, SOURCE, manifest_row, to_compute
from fanout.facts import tuning
from fanout.ledger.ledger import Ledger
from fanout.model.checksum import Sums
from fanout.model.document import Json
from fanout.model.entry import Entry, Kind, bare
from fanout.model.errors import (
    AccessDenied,
    FanoutError,
    InvalidRequest,
    LedgerBroken,
    NotFound,
    OutOfBudget,
    OutOfTime,
)
from fanout.model.location import S3Location
from fanout.model.shard import Shard
from fanout.ports.checksum_jobs import ChecksumJobs, JobState, Stored
from fanout.request.plan import Plan
from fanout.shards.partitioned import shards_of
from fanout.work.context import Context
from fanout.work.parallel import ahead

# Chosen: with two requests an entry, far below what a prefix of S3 takes.
LOOKS_IN_FLIGHT = 32
# Chosen: S3 names no time. What is not computed in a day is read.
PATIENCE_SECONDS = 86_400.0
# Chosen: a report was seen to appear some minutes after its job was complete.
REPORT_SECONDS = 900.0
_LEAST_WAIT, _MOST_WAIT = 30.0, 900.0


class _Object(Struct, frozen=True):
    """An object that S3 is to compute the checksum of."""

    end: str
    path: str
    version: str
    size: int


def compute_checksums(context: Context) -> Json:
    """Create jobs that an earlier task asked for, ask for one about the shards that are left, then look at the jobs.

    Returns ``step``, and how many seconds to ``wait``. Raises ``OutOfTime`` and ``OutOfBudget``.
    """
    ledger, whole = context.ledger, context.ledger.whole_run()
    plan = ledger.read_plan()
    jobs = context.ends.s3_services.checksum_jobs(plan)
    if jobs is None:
        whole.note(NOTE, ["the stack has no role for S3 Batch Operations: all objects were read"])
        return {"step": "verify", "wait": 0}
    shards = shards_of(ledger)
    asked = all_asked(ledger)
    try:
        context = context.within(plan)
    except (OutOfTime, OutOfBudget):
        _cancel(asked, jobs, ledger)
        raise
    refused = [said for one in asked for said in _create(one, jobs, ledger)]
    after = asked[-1].after if asked else 0
    if after < len(shards) and not refused:
        one = _ask(len(asked), after, shards, jobs, plan, context)
        refused = _create(one, jobs, ledger)
        if one.after < len(shards) and not refused:
            return {"step": "again", "wait": 0}
        asked.append(one)
    return _looked(asked, refused, jobs, plan, context)


def _create(asked: JobBatch, jobs: ChecksumJobs, ledger: Ledger) -> list[str]:
    """Create the jobs that are not; why S3 refused any."""
    refused = []
    for part in asked.parts:
        key = created_key(asked.number, part.end)
        created = ledger.find(key)
        if created is None:
            try:
                created = CreatedJob(jobs.create(job_of(asked, part, ledger)))
            except (AccessDenied, InvalidRequest) as error:
                created = CreatedJob("", str(error))
            ledger.write(key, created)
        if created.refused:
            refused.append(created.refused)
    return refused


def _ask(number: int, first: int, shards: list[Shard], jobs: ChecksumJobs, plan: Plan, context: Context) -> JobBatch:
    """Look at shards until a job is full or the time is up, at one at least; write the manifests."""
    ledger, deadline = context.ledger, context.deadline()
    found: defaultdict[str, list[_Object]] = defaultdict(list)
    after = first
    for shard in shards[first:]:
        objects = list(_objects(shard, jobs, plan, ledger))
        for one in objects:
            found[one.end].append(one)
        if objects:
            ledger.write(shard_key(shard), InJob(number))
        after += 1
        if deadline.passed or any(len(one) >= tuning.CHECKSUM_JOB_OBJECTS for one in found.values()):
            break
    parts = [_part(number, end, found[end], plan, context) for end in (SOURCE, DESTINATION) if found[end]]
    asked = JobBatch(number, context.clock.now(), first, after, parts)
    return ledger.write_once(asked_key(number), asked, lambda known: known.first == first)


def _part(number: int, end: str, objects: list[_Object], plan: Plan, context: Context) -> JobObjects:
    """The manifest of the objects of an end: all with a version, or all without, as the first is."""
    versioned = bool(objects[0].version)
    listed = [one for one in objects if bool(one.version) is versioned]
    place = end_of(plan, end)
    lines = (manifest_row(place.bucket, place.prefix + one.path, one.version) for one in listed)
    key = manifest_key(number, end, context.nonce)
    context.ledger.write_text(key, "".join(lines))
    return JobObjects(end, context.ledger.prefix + key, versioned, len(listed), sum(one.size for one in listed))


def end_of(plan: Plan, end: str) -> S3Location:
    """The bucket of an end. Raises ``LedgerBroken`` for a mount."""
    found = plan.request.source if end == SOURCE else plan.request.destination
    if not isinstance(found, S3Location):
        raise LedgerBroken(f"{found} holds no objects whose checksums S3 could compute")
    return found


def _objects(shard: Shard, jobs: ChecksumJobs, plan: Plan, ledger: Ledger) -> Iterator[_Object]:
    """The objects of a shard, at either end, whose checksum is to be computed."""
    entries = ledger.read_shard(shard) if shard.blocks is None else _big_file(shard, ledger)
    ends = {SOURCE: plan.request.source, DESTINATION: plan.request.destination}
    keyed = [end for end, place in ends.items() if place.is_keyed]

    def look(entry: Entry) -> list[_Object]:
        stored: dict[str, Stored] = {}
        for end in keyed:
            path = entry.path if end == SOURCE else entry.placed.path
            one = jobs.look(end, path)
            if one is None or (end == SOURCE and one.etag != bare(entry.etag)):
                return []
            stored[end] = one
        known: dict[str, Sums] = {end: one.sums for end, one in stored.items()}
        paths = {SOURCE: entry.path, DESTINATION: entry.placed.path}
        return [_Object(end, paths[end], stored[end].version, entry.size) for end in to_compute(known)]

    files = (entry for entry in entries if entry.kind is not Kind.DIRECTORY and entry.size)
    for _entry, objects in ahead(look, files, LOOKS_IN_FLIGHT):
        yield from objects


def _big_file(shard: Shard, ledger: Ledger) -> list[Entry]:
    """The file that a shard is the first part of; its other parts name it no more."""
    assert shard.blocks is not None
    return [ledger.read_big_file(shard.key).entry] if shard.blocks[0] == 0 else []


def _looked(asked: list[JobBatch], refused: list[str], jobs: ChecksumJobs, plan: Plan, context: Context) -> Json:
    """Look at the jobs that were created; ``verify`` when all have ended, or were given their time."""
    ledger, now = context.ledger, context.clock.now()
    parts = [(one, part) for one in asked for part in one.parts]
    ended: list[EndedJob] = []
    waits = 0
    for one, part in parts:
        created = ledger.read(created_key(one.number, part.end))
        if created.refused:
            continue
        key = ended_key(one.number, part.end)
        known = ledger.find(key)
        if known is None and (known := _end_of_job(created, part, jobs, plan, context)) is not None:
            ledger.write(key, known)
        if known is None:
            waits += 1
        else:
            ended.append(known)
    began = max((one.at for one in asked), default=now)
    is_over = now - began >= PATIENCE_SECONDS
    if waits and not is_over:
        run_ends = inf if plan.ends_at is None else plan.ends_at
        return {"step": "wait", "wait": wait_seconds(now - began, run_ends - now)}
    kept = _cancel(asked, jobs, ledger) if waits else []
    ledger.whole_run().note(NOTE, _notes(parts, ended, refused, waits) + kept)
    return {"step": "verify", "wait": 0}


def _cancel(asked: list[JobBatch], jobs: ChecksumJobs, ledger: Ledger) -> list[str]:
    """Have S3 give up what is at work, as far as it does; a note where it does not."""
    kept = []
    for one in asked:
        for part in one.parts:
            created = ledger.find(created_key(one.number, part.end))
            if created is None or created.refused or ledger.find(ended_key(one.number, part.end)) is not None:
                continue
            try:
                jobs.cancel(created.job_id)
            except FanoutError as error:
                kept.append(f"S3 goes on with the job {created.job_id}: {error}")
    return kept[:1]


def _end_of_job(
    created: CreatedJob, part: JobObjects, jobs: ChecksumJobs, plan: Plan, context: Context
) -> EndedJob | None:
    """How a job ended; ``None`` while it is at work, or its report is still being written."""
    try:
        look = jobs.job(created.job_id)
    except NotFound as error:
        return EndedJob(JobState.FAILED, said=str(error))
    if look.state is not JobState.COMPLETE:
        return None if look.state is JobState.AT_WORK else EndedJob(JobState.FAILED, said=look.said)
    place = end_of(plan, part.end)
    try:
        found = reported(created.job_id, place, None, plan.origin.bucket, context.ledger)
    except (NotFound, ValueError) as error:
        if context.clock.now() - look.ended_at < REPORT_SECONDS:
            return None
        return EndedJob(JobState.FAILED, said=f"its report cannot be read: {error}")
    return EndedJob(JobState.COMPLETE, len(found))


def wait_seconds(waited: float, left: float) -> int:
    """Seconds until the next look: a quarter of those that have passed, within bounds and the run's end."""
    return max(1, round(min(max(waited / 4, _LEAST_WAIT), _MOST_WAIT, left)))


def _notes(parts: list[tuple[JobBatch, JobObjects]], ended: list[EndedJob], refused: list[str], late: int) -> list[str]:
    objects, size = sum(part.objects for _, part in parts), sum(part.bytes for _, part in parts)
    computed = sum(one.objects for one in ended)
    said = [
        f"S3 computed the checksums of {computed:,} of {objects:,} objects of {size:,} bytes that had none; "
        "every other object without a checksum was read"
    ]
    said += [f"S3 refused to compute checksums: {one}" for one in refused[:1]]
    failed = [one.said for one in ended if one.state is JobState.FAILED]
    said += [f"{len(failed):,} jobs of S3 Batch Operations gave none: {failed[0]}"] if failed else []
    return said + ([f"{late:,} jobs of S3 Batch Operations were given up after a day"] if late else [])
