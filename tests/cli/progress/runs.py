"""Runs that were never run: what their tasks would note, second by second."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from fanout.model.shard import Rates, Shard
from fanout.shards.tasks.attempt import FIRST_NOTE_SECONDS, NOTE_EVERY_SECONDS, Attempt, AttemptEnd
from fanout_cli.progress.work import ShardProgress, ShardsAtWork

RATES = Rates(0.1, 1e6)


def shard(name: str, entries: int, size: int = 0, blocks: tuple[int, int] | None = None) -> Shard:
    """A shard; its predicted seconds do not matter here, since they follow from the rates."""
    return Shard(name, f"shards/{name}.jsonl.gz", entries, size, 0.0, blocks)


def note(name: str, began: float, at: float, entries: int, size: int = 0, **more: object) -> Attempt:
    """A note of the first task of a shard."""
    made: dict[str, object] = {"cursor": entries, "end": AttemptEnd.AT_WORK, **more}
    return Attempt(name, f"n-{name}", began, at, entries, size, **made)  # type: ignore[arg-type]


@dataclass
class Simulated:
    """Shards of entries, ``functions`` at once, each of which copies ``speed(second)`` entries a second.

    ``behind`` is by how much the watcher's clock lags behind that of the functions.
    """

    shards: list[Shard]
    functions: int
    speed: Callable[[float], float]
    behind: float = 0.0
    step: float = 0.5
    ended: float = 0.0
    written: list[tuple[float, Attempt]] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Write everything that the tasks write, with its time by the watcher's clock."""
        waiting = list(self.shards)
        at_work: list[tuple[Shard, float, float, float]] = []
        now = 0.0
        while waiting or at_work:
            while waiting and len(at_work) < self.functions:
                at_work.append((waiting.pop(0), now, 0.0, now + FIRST_NOTE_SECONDS))
                self._write(now, Attempt(at_work[-1][0].id, f"n-{at_work[-1][0].id}", now + self.behind))
            now += self.step
            following = []
            for one, began, done, due in at_work:
                done = min(done + self.speed(now) * self.step, one.entries)
                if done >= one.entries:
                    self._write(now, note(one.id, began, now, one.entries, one.bytes, end=AttemptEnd.DONE), moved=True)
                    continue
                if now >= due:
                    size = int(one.bytes * done / one.entries)
                    self._write(now, note(one.id, began, now, int(done), size), moved=True)
                    due = now + (FIRST_NOTE_SECONDS if due == began + FIRST_NOTE_SECONDS else NOTE_EVERY_SECONDS)
                following.append((one, began, done, due))
            at_work = following
        self.ended = now

    def _write(self, now: float, one: Attempt, *, moved: bool = False) -> None:
        if moved:
            assert one.ended is not None
            one = Attempt(
                one.shard_id,
                one.nonce,
                one.began + self.behind,
                one.ended + self.behind,
                one.entries,
                one.bytes,
                one.cursor,
                one.end,
            )
        self.written.append((now, one))

    def over_time(self, look_seconds: float = 5.0, since: float = 0.0) -> list[tuple[float, ShardProgress]]:
        """What a watcher finds that looks every so many seconds."""
        work, found, now = ShardsAtWork(self.shards, RATES), [], since
        while now < self.ended:
            work.take(now, [one for at, one in self.written if at <= now])
            found.append((now, work.progress(now)))
            now += look_seconds
        return found

    def error_at(self, part: float, look_seconds: float = 5.0, since: float = 0.0) -> float:
        """The error of the time left, as a share of it, at a part of the run."""
        now, found = min(self.over_time(look_seconds, since), key=lambda pair: abs(pair[0] - part * self.ended))
        left = self.ended - now
        assert found.eta_seconds is not None
        return abs(found.eta_seconds - left) / left
