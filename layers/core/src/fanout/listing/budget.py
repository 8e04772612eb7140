"""How far one ListSegment lists, and what people see of it meanwhile."""

from __future__ import annotations

from fanout.facts import tuning
from fanout.listing.segment_writer import SegmentWriter
from fanout.model.deadline import Deadline
from fanout.model.segment import Segment
from fanout.shards.tasks.attempts import TaskNotes
from fanout.work.context import Context

# Entries after which the clock is looked at.
_ENTRIES_A_LOOK = 256


class ProgressNotes:
    """Progress of a segment's listing, for people who watch the run."""

    def __init__(self, segment: Segment, context: Context, writer: SegmentWriter) -> None:
        self._writer = writer
        self._notes = TaskNotes("list", segment.id, context.ledger, context.nonce, context.clock.now)

    def look(self, now: float) -> None:
        """Note it if it is time to."""
        if now >= self._notes.due_at:
            self._notes.write(self._writer.listed.count, {})

    def end(self) -> None:
        self._notes.end(self._writer.listed.count)


class Budget:
    """The budget of a segment: entries, and time until a deadline; at least some entries fit always.

    ``seconds``, where there are any, count from the first entry.
    """

    def __init__(self, entries: int, deadline: Deadline, notes: ProgressNotes, seconds: float | None = None) -> None:
        self._notes = notes
        self._entries, self._seconds = min(entries, tuning.SEGMENT_ENTRIES), seconds
        self._deadline, self._end = deadline, deadline.at
        self._listed = self._asked = 0

    def room(self) -> int:
        """How many more entries may be listed."""
        return self._entries - self._listed

    def used(self, entries: int) -> bool:
        """Whether the budget is used up after so many more entries, or by the time that they took."""
        if not self._listed and self._seconds is not None:
            self._end = min(self._deadline.at, self._deadline.now() + self._seconds)
        self._listed += entries
        if self._listed - self._asked < _ENTRIES_A_LOOK:
            return self._listed >= self._entries
        self._asked, now = self._listed, self._deadline.now()
        self._notes.look(now)
        return self._listed >= self._entries or now > self._end
