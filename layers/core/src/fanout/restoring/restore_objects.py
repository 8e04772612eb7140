"""RestoreObjects: has S3 restore what lies in an archive, and hands what is restored to a Map that copies it.

| round | visits                                                      | ends with                        |
|-------|-------------------------------------------------------------|----------------------------------|
| 0     | every shard: asks for each entry that is not on its way     | the copy of what is not archived |
| later | the shards that are left, each up to an entry not restored  | a copy of the ready ones, a wait |

Asking is apart from copying and comes first: S3 restores all entries at the same time, while the others are copied.
Every visit looks before it asks, so a task may run twice, and a run that resumes asks for no entry again that is on its
way. When the wait is over, the shards that are left are copied all the same: an entry that is still archived fails with
the reason.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import islice
from math import inf

from msgspec import Struct, field
from msgspec.structs import replace

from fanout.facts import tuning
from fanout.model.books import Count
from fanout.model.deadline import Deadline
from fanout.model.document import Json
from fanout.model.entry import Entry
from fanout.model.entry_outcome import Outcome
from fanout.model.errors import ItemError, Throttled, Transient
from fanout.model.shard import Shard, failed_block
from fanout.ports.s3_services import ObjectArchive, ObjectLook
from fanout.request.plan import Plan
from fanout.shards.held import COPIES_AT_ONCE, PROGRESS, HeldProgress, asked_back, copies_key, progress_key
from fanout.shards.partitioned import MapItem, shards_of
from fanout.shards.record import read_receipts, write_receipts
from fanout.shards.tasks.outcome_writer import OutcomeWriter, settled_indexes
from fanout.work.context import Context
from fanout.work.parallel import ahead

# Chosen: with two requests an entry, below the thousand a second that S3 takes.
REQUESTS_IN_FLIGHT = 32
# Chosen: entries of a shard that are looked at together, so that a shard which waits costs few requests.
LOOKED_AT_TOGETHER = 64
# Chosen: the wait ends after so many times the seconds that S3 names; it is looked so many times in one of them.
PATIENCE, LOOKS = 2, 12
LEAST_WAIT_SECONDS = 60


def restore_objects(key: str, context: Context) -> Json:
    """Go on where ``key`` says, or begin with every held shard: visit the shards, then answer what comes next.

    Returns ``step``: ``again`` where the time was up, ``copy`` the shards under ``copies``, or ``wait`` for so many
    seconds; ``archived`` shards are left. Raises ``OutOfTime`` and ``OutOfBudget``.
    """
    ledger = context.ledger
    plan = ledger.read_plan()
    context = context.within(plan)
    archive = context.ends.s3_services.archive(plan)
    assert archive is not None
    shards = {shard.id: shard for shard in shards_of(ledger) if shard.held}
    so_far = ledger.read(PROGRESS.at(key)) if key else _begun(list(shards), context)
    # With what an attempt asked for whose answer did not arrive.
    so_far = replace(so_far, asked=asked_back(ledger))
    so_far = _visit_all(so_far, shards, archive, plan, context)
    if so_far.cursor < len(so_far.left):
        answer = _answer("again", so_far, context)
    else:
        answer = _ended_round(so_far, shards, plan, context)
    return {**answer, "paced": False} if key else answer  # the pace is that of what is copied at once


def _begun(left: list[str], context: Context) -> HeldProgress:
    now = context.clock.now()
    return HeldProgress(
        at=now,
        round=0,
        cursor=0,
        left=left,
        ready=[],
        asked={},
        refused=0,
        missed=0,
        waiting=Count(),
        asked_at=now,
        expected_at=now,
        ends_at=now,
    )


def _visit_all(
    so_far: HeldProgress, shards: dict[str, Shard], archive: ObjectArchive, plan: Plan, context: Context
) -> HeldProgress:
    """Visit the shards that are left in this round, as far as there is time; notes on the way what was asked for."""
    deadline, noted_at = context.deadline(), context.clock.now()
    missed, asked = so_far.missed, defaultdict(Count, so_far.asked)
    ready, refused, cursor = list(so_far.ready), so_far.refused, so_far.cursor
    for shard_id in so_far.left[so_far.cursor :]:
        if deadline.passed:
            break
        visit = _Visit(shards[shard_id], archive, plan, context, deadline)
        is_ready = visit.look(thorough=so_far.asks)
        for name, count in visit.asked.items():
            asked[name] += count
        refused, missed = refused + visit.refused, missed + visit.missed
        if visit.asked and context.clock.now() - noted_at >= tuning.CHECKPOINT_SECONDS:
            noted_at = context.clock.now()
            known = replace(so_far, at=noted_at, cursor=cursor, asked=dict(asked), refused=refused, missed=missed)
            context.ledger.write(progress_key(noted_at, context.nonce), known)
        if visit.cut_off:  # the next task visits it again, and finds on their way what this one asked for
            break
        cursor += 1
        if is_ready:
            ready.append(shard_id)
    return replace(so_far, cursor=cursor, ready=ready, asked=dict(asked), refused=refused, missed=missed)


def _ended_round(so_far: HeldProgress, shards: dict[str, Shard], plan: Plan, context: Context) -> Json:
    now, ledger = context.clock.now(), context.ledger
    if so_far.round == 0:
        longest = max((plan.request.restore.seconds_from(one.held) for one in shards.values()), default=0.0)
        so_far = replace(so_far, asked_at=now, expected_at=now + longest, ends_at=now + PATIENCE * longest)
    given = so_far.left if now >= so_far.ends_at else so_far.ready
    at_once = ledger.read(COPIES_AT_ONCE) if so_far.round == 0 else []
    names = set(given)
    left = [one for one in so_far.left if one not in names]
    _note(so_far, len(given) - len(so_far.ready), plan, context)
    waiting = _held([shards[one] for one in left])
    asks = so_far.missed > 0
    after = replace(so_far, round=so_far.round + 1, cursor=0, left=left, ready=[], missed=0, asks=asks, waiting=waiting)
    if not given and not at_once:
        return _answer("wait", after, context, wait=wait_seconds(now, so_far.expected_at, so_far.ends_at, plan.ends_at))
    key = copies_key(now, context.nonce)
    ledger.write(key, [*at_once, *(MapItem(shards[one]) for one in given)])
    return _answer("copy", after, context, copies=ledger.prefix + key)


def wait_seconds(now: float, expected_at: float, ends_at: float, run_ends_at: float | None) -> int:
    """Seconds until the next look: a twelfth of what S3 takes, within the wait's end and the run's."""
    pause = (ends_at - expected_at) / (PATIENCE - 1) / LOOKS
    end = min(ends_at, inf if run_ends_at is None else run_ends_at)
    return max(1, round(min(max(pause, LEAST_WAIT_SECONDS), end - now)))


def _answer(step: str, so_far: HeldProgress, context: Context, copies: str = "", wait: int = 0) -> Json:
    now = context.clock.now()
    key = progress_key(now, context.nonce)
    context.ledger.write(key, replace(so_far, at=now))
    return {"step": step, "restores": key, "copies": copies, "wait": wait, "archived": len(so_far.left)}


def _held(shards: Sequence[Shard]) -> Count:
    """Entries and bytes of shards; a big file counts once."""
    big = {shard.key for shard in shards if shard.blocks is not None}
    return Count(sum(shard.entries for shard in shards) + len(big), sum(shard.bytes for shard in shards))


def _note(so_far: HeldProgress, given_up: int, plan: Plan, context: Context) -> None:
    restore = plan.request.restore
    said = [
        f"S3 was asked to restore {count.entries:,} objects of {count.bytes:,} bytes from {archive}"
        f" (tier {restore.tier.value}, {restore.days} days)"
        for archive, count in sorted(so_far.asked.items())
    ]
    if so_far.refused:
        said.append(f"S3 refused to restore {so_far.refused:,} objects")
    if given_up:
        said.append(f"{given_up:,} shards of archived objects were not restored in twice the time that S3 names")
    context.ledger.note("restore", said)


class _Asked(Struct, frozen=True):
    """The result of a visit to one entry: where it lay; whether it was asked for, refused, or is to be asked again."""

    look: ObjectLook = field(default_factory=ObjectLook)
    asked: bool = False
    refused: ItemError | None = None
    missed: bool = False

    @property
    def waits(self) -> bool:
        """Whether it has to be waited for."""
        return self.missed or (bool(self.look.archive) and self.refused is None)


class _Visit:
    """One look at the entries of a shard, which asks for those that were not asked for yet."""

    def __init__(self, shard: Shard, archive: ObjectArchive, plan: Plan, context: Context, deadline: Deadline) -> None:
        self._shard, self._archive, self._plan = shard, archive, plan
        self._context, self._deadline = context, deadline
        self.asked: defaultdict[str, Count] = defaultdict(Count)
        self.refused = self.missed = 0
        self.cut_off = False

    def look(self, *, thorough: bool) -> bool:
        """Whether all entries can be copied, or have an outcome; unless ``thorough``, stops where some cannot."""
        writer = OutcomeWriter(self._shard, self._context, plan=self._plan)
        waits = False
        entries = self._entries()
        while some := list(islice(entries, LOOKED_AT_TOGETHER)):
            for (index, entry), one in ahead(lambda item: self._one(item[1]), some, REQUESTS_IN_FLIGHT):
                waits = waits or one.waits
                self.missed += one.missed
                if one.asked:
                    self.asked[one.look.archive] += Count(1, entry.size)
                if one.refused is not None:
                    self._refuse(index, entry, one.refused, writer)
            if waits and not thorough:
                break
        writer.flush([])
        return not waits

    def _entries(self) -> Iterator[tuple[int, Entry]]:
        """The entries that have no outcome, or the big file that the shard is a part of."""
        ledger, shard = self._context.ledger, self._shard
        if shard.blocks is not None:
            if len(read_receipts(shard.id, ledger)) < shard.items:
                yield 0, ledger.read_big_file(shard.key).entry
            return
        settled = settled_indexes(shard, ledger)
        yield from ((index, entry) for index, entry in enumerate(ledger.read_shard(shard)) if index not in settled)

    def _one(self, entry: Entry) -> _Asked:
        try:
            look = self._archive.look(entry)
        except ItemError:  # the copy says what it is
            return _Asked()
        except (Throttled, Transient):
            return _Asked(missed=True)
        if not look.archive or look.asked:
            return _Asked(look)
        refusal = self._plan.request.restore.refusal(look.archive)
        if refusal is not None:
            return _Asked(look, refused=refusal)
        if self._deadline.passed or not self._context.limiter.admit(self._deadline):
            self.cut_off = True
            return _Asked(look)
        try:
            self._archive.ask(entry, look, self._plan.request.restore)
        except ItemError as error:
            return _Asked(look, refused=error)
        except (Throttled, Transient):  # expedited requests without capacity, too
            return _Asked(look, missed=True)
        return _Asked(look, asked=True)

    def _refuse(self, index: int, entry: Entry, error: ItemError, writer: OutcomeWriter) -> None:
        self.refused += 1
        shard, ledger = self._shard, self._context.ledger
        if shard.blocks is None:
            writer.add(index, Outcome.because(entry, error.reason, error.message), [])
            return
        known = read_receipts(shard.id, ledger)
        failed = {one: failed_block(one, error) for one in range(*shard.blocks) if one not in known}
        write_receipts(shard.id, f"{self._context.nonce}-restore", failed, 0, ledger)
