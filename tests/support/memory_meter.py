"""A meter in memory: file systems as they are described to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct, field

from fanout.model.errors import FanoutError, NotFound
from fanout.model.file_system import LOOK_BACK_SECONDS, Behind, Described, Reading, Readings


class MemoryMeter(Struct):
    """See ``ports.tree.Meter``. Raises ``refuses`` at each question, if it is set."""

    systems: dict[str, Described] = field(default_factory=dict)
    metrics: dict[str, Mapping[str, Sequence[Reading]]] = field(default_factory=dict)
    refuses: FanoutError | None = None
    shown: dict[str, Behind] = field(default_factory=dict)

    def describe(self, file_system_id: str) -> Described:
        """See ``ports.tree.Meter``."""
        if self.refuses is not None:
            raise self.refuses
        if file_system_id not in self.systems:
            raise NotFound(f"there is no {file_system_id}")
        return self.systems[file_system_id]

    def readings(self, file_system_id: str, now: float) -> Readings:
        """See ``ports.tree.Meter``."""
        if self.refuses is not None:
            raise self.refuses
        series = self.metrics.get(file_system_id, {})
        recent = {
            name: [row for row in rows if 0 <= now - row.at <= LOOK_BACK_SECONDS] for name, rows in series.items()
        }
        return {name: rows for name, rows in recent.items() if rows}

    def shows(self, access_point: str) -> Behind:
        """See ``ports.tree.Meter``."""
        if self.refuses is not None:
            raise self.refuses
        if access_point not in self.shown:
            raise NotFound(f"there is no {access_point}")
        return self.shown[access_point]
