"""How far the shards of a phase are, how fast, and for how much longer: from the records and notes of tasks.

Pure: times are given. Records and notes carry the time of the functions' clocks, which may differ from the watcher's.
The notes that arrived soonest after their writing show the difference.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Mapping
from heapq import heapify, heappop, heappush
from math import inf

from msgspec import Struct

from fanout.model.books import Count
from fanout.model.shard import Rates, Shard
from fanout.shards.tasks.attempt import NOTE_EVERY_SECONDS, Attempt, AttemptEnd

# Chosen: the rate, and the speed of a task, is that of so many seconds, and of less where the phase is younger.
AVERAGE_SECONDS = 30.0
# Chosen: below this share, or this many seconds, of a phase no estimate of its end means anything.
LEAST_SHARE, LEAST_SECONDS = 0.05, 5.0
# Chosen: a task whose note is older may have ended, and is taken to have done nothing since.
STALE_SECONDS = 2 * NOTE_EVERY_SECONDS + 5.0
# Chosen: the recent tasks whose speed counts for those that have not said theirs.
RECENT_TASKS = 200
# Chosen: with more shards than that the rate alone predicts the end.
SHARDS_RECKONED = 5_000


class WorkAmount(Struct, frozen=True):
    """Entries and bytes, and the seconds that were predicted for them."""

    entries: float = 0.0
    bytes: float = 0.0
    seconds: float = 0.0

    def __add__(self, other: WorkAmount) -> WorkAmount:
        return WorkAmount(self.entries + other.entries, self.bytes + other.bytes, self.seconds + other.seconds)

    def __sub__(self, other: WorkAmount) -> WorkAmount:
        return WorkAmount(self.entries - other.entries, self.bytes - other.bytes, self.seconds - other.seconds)


class ShardProgress(Struct, frozen=True):
    """How far the shards of a phase are.

    ``done`` was noted, so it is up to 10 s old; ``estimated`` is what is taken to be done by now. ``tasks`` are those
    at work. ``staged`` was noted where the source is mounted, of shards that wait for the destination's side: what a
    copy has staged, or a verification has read.
    """

    done: Count
    total: Count
    share: float
    estimated: WorkAmount
    tasks: int
    shards: int
    total_shards: int
    failures: Mapping[str, int]
    eta_seconds: float | None
    entries_per_second: float | None
    bytes_per_second: float | None
    staged: Count = Count()


class _RunningTask(Struct, frozen=True):
    """A task at work: predicted seconds that are left of its shard, and those that it does in a second."""

    left: float
    speed: float


class ShardsAtWork:
    """The shards of a phase that copies or verifies."""

    def __init__(self, shards: Iterable[Shard], rates: Rates) -> None:
        self._shards = {shard.id: shard for shard in shards}
        self._rates = rates
        self._seconds = {one.id: self._weight(one.entries, one.bytes) for one in self._shards.values()}
        self._total = WorkAmount(
            sum(one.entries for one in self._shards.values()),
            sum(one.bytes for one in self._shards.values()),
            sum(self._seconds.values()),
        )
        self._pending = dict(self._seconds)
        self._open: dict[str, dict[str, Attempt]] = {}
        self._closed, self._ended = WorkAmount(), 0
        self._failures: Counter[str] = Counter()
        self._recent: deque[tuple[float, float]] = deque(maxlen=RECENT_TASKS)
        self._notes: dict[str, deque[Attempt]] = {}
        self._samples: deque[tuple[float, WorkAmount]] = deque()
        self._behind, self._began = inf, inf
        self._staged: dict[str, dict[str, Attempt]] = {}

    def take(self, at: float, attempts: Iterable[Attempt]) -> None:
        """Take records and notes that were found now; those that are known already change nothing."""
        for one in attempts:
            known = self._open.get(one.shard_id)
            if one.shard_id not in self._shards or (known is None and one.shard_id not in self._pending):
                continue
            self._began = min(self._began, one.began)
            self._behind = min(self._behind, at - (one.began if one.ended is None else one.ended))
            self._pending.pop(one.shard_id, None)
            known = self._open.setdefault(one.shard_id, {})
            before = known.get(one.nonce)
            if before is None or _age(before) <= _age(one):
                known[one.nonce] = one
                if one.end is AttemptEnd.AT_WORK:
                    self._keep_note(one)
                if one.end is AttemptEnd.DONE or one.end is AttemptEnd.HANDED_BACK:
                    self._recent.append((self._worked(one), one.seconds))
                if one.end is AttemptEnd.DONE:
                    self._close(self._shards[one.shard_id])

    def take_staged(self, notes: Iterable[Attempt]) -> None:
        """Take notes of the tasks that stage or read shards at the source, between two file systems."""
        for one in notes:
            known = self._staged.setdefault(one.shard_id, {})
            if one.nonce not in known or _age(known[one.nonce]) < _age(one):
                known[one.nonce] = one

    def _waiting(self) -> Count:
        """Staged entries and bytes of shards whose copying has not begun."""
        found = Count()
        for shard_id, attempts in self._staged.items():
            if shard_id in self._pending:
                shard = self._shards[shard_id]
                entries = sum(one.entries for one in attempts.values())
                size = sum(one.bytes for one in attempts.values())
                found += Count(min(entries, shard.entries), min(size, shard.bytes))
        return found

    def progress(self, at: float, running: int = 0) -> ShardProgress:
        """How far the shards are; ``running`` tasks are at work if the Map says so."""
        noted = estimated = self._closed
        tasks: list[_RunningTask] = []
        failures = Counter(self._failures)
        usual = self._usual_speed()
        for shard_id, attempts in self._open.items():
            shard, latest = self._shards[shard_id], list(attempts.values())
            so_far = self._done(shard, latest)
            noted += so_far
            failures.update(_failures(latest))
            at_work = [one for one in latest if one.end in (AttemptEnd.AT_WORK, AttemptEnd.LOST)]
            left = self._seconds[shard_id] - so_far.seconds
            if at_work and left > 0:
                newest = max(at_work, key=lambda one: one.ended or one.began)
                speed = self._speed(newest, usual)
                gone = min(at - self._behind - (newest.ended or newest.began), STALE_SECONDS)
                ahead = min(max(0.0, gone * speed / left), 0.95)
                rest = WorkAmount(shard.entries, shard.bytes, self._seconds[shard_id]) - so_far
                estimated += so_far + WorkAmount(rest.entries * ahead, rest.bytes * ahead, rest.seconds * ahead)
                if gone < STALE_SECONDS:
                    tasks.append(_RunningTask(left * (1.0 - ahead), speed))
            else:
                estimated += so_far
        rate = self._rate(at, estimated)
        total = self._total
        return ShardProgress(
            done=Count(round(noted.entries), round(noted.bytes)),
            total=Count(round(total.entries), round(total.bytes)),
            share=noted.seconds / total.seconds if total.seconds else 1.0,
            estimated=estimated,
            tasks=len(tasks),
            shards=self._ended,
            total_shards=len(self._shards),
            failures=failures,
            eta_seconds=self._eta(at, estimated, rate, tasks, running),
            entries_per_second=rate.entries if rate else None,
            bytes_per_second=rate.bytes if rate else None,
            staged=self._waiting(),
        )

    def _close(self, shard: Shard) -> None:
        """All entries of the shard have an outcome."""
        attempts = self._open.pop(shard.id)
        for nonce in attempts:
            self._notes.pop(nonce, None)
        self._failures.update(_failures(attempts.values()))
        self._closed += WorkAmount(shard.entries, shard.bytes, self._seconds[shard.id])
        self._ended += 1

    def _weight(self, entries: float, size: float) -> float:
        return self._rates.seconds(entries, size)  # type: ignore[arg-type]

    def _worked(self, one: Attempt) -> float:
        """The predicted seconds of what a task has done; of a part of a big file no block is an entry."""
        return self._weight(one.entries if self._shards[one.shard_id].entries else 0, one.bytes)

    def _done(self, shard: Shard, attempts: list[Attempt]) -> WorkAmount:
        """The done part of a shard; a task that runs twice counts once."""
        entries = min(max(one.cursor for one in attempts), shard.entries)
        size = min(sum(one.bytes for one in attempts), shard.bytes)
        return WorkAmount(entries, size, self._weight(entries, size))

    def _usual_speed(self) -> float:
        """Predicted seconds that a task does in a second: of those that ended lately, and those that noted."""
        noted = [one for attempts in self._open.values() for one in attempts.values() if one.end is AttemptEnd.AT_WORK]
        pairs = [*self._recent, *((self._worked(one), one.seconds) for one in noted)]
        busy = sum(seconds for _, seconds in pairs)
        return sum(done for done, _ in pairs) / busy if busy > 0 else 0.0

    def _speed(self, task: Attempt, usual: float) -> float:
        """Predicted seconds that a task does in a second: lately, or since its begin; the usual ones before a note."""
        notes = self._notes.get(task.nonce)
        if task.end is not AttemptEnd.AT_WORK or not notes:
            return usual
        since, before = (notes[0].ended, self._worked(notes[0])) if len(notes) > 1 else (task.began, 0.0)
        assert since is not None and task.ended is not None
        passed = task.ended - since
        return (self._worked(task) - before) / passed if passed > 0 else usual

    def _keep_note(self, note: Attempt) -> None:
        """Keep the notes of the last seconds; the speed counts from the first of them."""
        notes = self._notes.setdefault(note.nonce, deque())
        if not notes or (notes[-1].ended or 0.0) < (note.ended or 0.0):
            notes.append(note)
        while len(notes) > 2 and (note.ended or 0.0) - (notes[1].ended or 0.0) >= AVERAGE_SECONDS:
            notes.popleft()

    def _rate(self, at: float, estimated: WorkAmount) -> WorkAmount | None:
        """The work of a second, averaged over the last ``AVERAGE_SECONDS``."""
        self._samples.append((at, estimated))
        while len(self._samples) > 1 and at - self._samples[1][0] >= AVERAGE_SECONDS:
            self._samples.popleft()
        since, before = self._samples[0]
        began = self._began + self._behind
        if at - since < AVERAGE_SECONDS / 2 and at - began > 0:
            since, before = began, WorkAmount()  # watched for too short a time: the average since the begin
        passed, gained = at - since, estimated - before
        if not (0 < passed < inf) or gained.seconds <= 0:
            return None
        return WorkAmount(gained.entries / passed, gained.bytes / passed, gained.seconds / passed)

    def _eta(
        self, at: float, estimated: WorkAmount, rate: WorkAmount | None, tasks: list[_RunningTask], running: int
    ) -> float | None:
        """Seconds until the last shard is done; ``None`` where they are not known."""
        total = self._total.seconds
        left = total - estimated.seconds
        if left <= 0:
            return 0.0
        is_early = estimated.seconds < LEAST_SHARE * total or at - self._began - self._behind < LEAST_SECONDS
        if rate is None or is_early:
            return None
        return max(left / rate.seconds, self._last_shard(tasks, running))

    def _last_shard(self, tasks: list[_RunningTask], running: int) -> float:
        """Seconds until the last shard ends, if each task keeps its speed and then takes the next shard."""
        usual = self._usual_speed()
        ends = [task.left / task.speed for task in tasks if task.speed > 0]
        slots = max(len(ends), running)
        if not slots or usual <= 0 or len(self._pending) > SHARDS_RECKONED:
            return max(ends, default=0.0)
        ends += [0.0] * (slots - len(ends))
        last = max(ends)
        heapify(ends)
        for seconds in self._pending.values():
            end = heappop(ends) + seconds / usual
            last = max(last, end)
            heappush(ends, end)
        return last


def _age(one: Attempt) -> tuple[bool, float]:
    """Orders what is known of a task: its begin, its notes by their time, its end."""
    return one.end not in (AttemptEnd.AT_WORK, AttemptEnd.LOST), one.ended or 0.0


def _failures(attempts: Iterable[Attempt]) -> Counter[str]:
    return sum((Counter(dict(one.failures)) for one in attempts), Counter())
