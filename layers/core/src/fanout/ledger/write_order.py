"""The order in which a task that keeps its ledger writes, which a loss at any moment leaves whole.

One wave of requests follows another:

| wave   | what is written                                                                           | it waits        |
|--------|-------------------------------------------------------------------------------------------|-----------------|
| first  | rows (``.jsonl.gz``), which records name; notes, which no attempt after a record repeats; | always          |
|        | what must be there where shards.json is                                                   |                 |
| second | records: all that is not named here                                                       | in ``_WAITING`` |
| third  | what is there only where those are: shards.json, the mark that a tree is finished         | in ``_WAITING`` |
| last   | the summary, which names all of it                                                        | never           |
| any    | what says something alone                                                                 | always          |

What waits is sent with the next write that does not, or at the end of a step.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from fanout.ledger import keys
from fanout.ledger.run_places import MOUNTS, run_prefix

_ROWS: Final = ".jsonl.gz"
_FIRST, _SECOND, _THIRD, _LAST = range(4)
# The waves of what is neither rows nor written in the second one.
_WAVES: Final = {
    keys.NOTES: _FIRST,
    keys.LINKS: _FIRST,
    keys.BIG_FILES: _FIRST,
    f"{keys.SHARDS}-": _FIRST,
    keys.SHARDS: _THIRD,
    keys.FINISHED: _THIRD,
    keys.SUMMARY: _LAST,
}
# Whoever walks on sends these before it acts on them; nobody else reads them before the step has ended.
_WAITING: Final = (keys.SEGMENTS_DONE, "segments/round-", keys.OUTCOMES, keys.SHARDS)
_ROUND_TO_LIST: Final = re.compile(r"segments/round-\d+\.json")
# No record of the same step tells that these are there; each state but the one that writes them comes after its end.
_SAID_ALONE: Final = (
    *(keys.REQUEST, "phases/", keys.EARLIER, keys.FILE_SYSTEMS, keys.CLOCKS, keys.OWNERS, keys.FENCED),
    *(keys.SOURCE_FENCED, keys.FORECAST, keys.PACING_PLAN, "attempts/"),
    *(keys.FAILURES, keys.REPORT, keys.DIRECTORIES_SET),
)
_SAID_OUTSIDE: Final = run_prefix(MOUNTS)


class WriteOrder:
    """The order of what is written below the prefix of a run, the ledger inside of it included.

    What lies outside of the run is a record, but for what is said of mounts.
    """

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix

    def waits(self, key: str) -> bool:
        """Whether a write of the key waits for the next one that does not."""
        return self._is_said_alone(key) or self._wave(key) == _FIRST or self._name(key).startswith(_WAITING)

    def waves(self, waiting: Iterable[str], key: str = "") -> list[list[str]]:
        """The writes that wait, wave by wave; a write of ``key``, if there is one, belongs to the last one."""
        ranked: dict[int, list[str]] = {}
        alone: list[str] = []
        for one in waiting:
            (alone if self._is_said_alone(one) else ranked.setdefault(self._wave(one), [])).append(one)
        is_again = key in alone or any(key in one for one in ranked.values())
        if key and (is_again or not self._is_said_alone(key)):
            ranked.setdefault(_LAST + 1 if is_again else max(self._wave(key), *ranked, 0), [])
        if is_again or min(ranked, default=_FIRST) == _LAST:
            ranked.setdefault(_FIRST, [])
        waves = [ranked[wave] for wave in sorted(ranked)] or [[]]
        waves[0] += alone
        return waves

    def _name(self, key: str) -> str:
        """The name of a key in the ledger of the run, or in the one inside it; empty of one that is outside."""
        return key.removeprefix(self._prefix).removeprefix(keys.VERIFICATION) if key.startswith(self._prefix) else ""

    def _is_said_alone(self, key: str) -> bool:
        name = self._name(key)
        is_alone = name.startswith(_SAID_ALONE) or _ROUND_TO_LIST.fullmatch(name) is not None
        return is_alone or key.startswith(_SAID_OUTSIDE)

    def _wave(self, key: str) -> int:
        name = self._name(key)
        if name.endswith(_ROWS):
            return _FIRST
        return next((wave for start, wave in _WAVES.items() if name.startswith(start)), _SECOND)
