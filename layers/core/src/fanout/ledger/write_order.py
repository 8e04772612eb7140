"""The order in which a task that keeps its ledger writes, which a loss at any moment leaves whole.

One wave of requests follows another; the kind of an object has its wave (``kind``):

| wave          | what is written                                                            | it waits        |
|---------------|----------------------------------------------------------------------------|-----------------|
| first         | rows (``.jsonl.gz``), which records name; notes, which no attempt after a  | always          |
|               | record repeats; what must be there where shards.json is                    |                 |
| record        | all that has no other wave                                                 | if it ``waits`` |
| after records | what is there only where those are: shards.json, a mark of a finished tree | if it ``waits`` |
| last          | the summary, which names all of it                                         | never           |
| alone         | what says something by itself: no record of the same step says that it is  | always          |
|               | there; each state but the one that writes it comes after the end of that   |                 |

What waits is sent with the next write that does not, or at the end of a step. What ``waits`` is read by nobody else
before the step has ended: whoever walks on sends it before it acts on it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from fanout.ledger.kind import ALONE, FIRST, LAST, RECORD, ObjectKind

_ROWS: Final = ".jsonl.gz"


def waits(key: str) -> bool:
    """Whether a write of the key waits for the next one that does not."""
    return _wave(key) in (ALONE, FIRST) or (isinstance(key, ObjectKind) and key.waits)


def waves_of(waiting: Iterable[str], key: str = "") -> list[list[str]]:
    """The writes that wait, wave by wave; a write of ``key``, if there is one, belongs to the last one."""
    ranked: dict[int, list[str]] = {}
    alone: list[str] = []
    for one in waiting:
        (alone if _wave(one) == ALONE else ranked.setdefault(_wave(one), [])).append(one)
    is_again = key in alone or any(key in one for one in ranked.values())
    if key and (is_again or _wave(key) != ALONE):
        ranked.setdefault(LAST + 1 if is_again else max(_wave(key), *ranked, 0), [])
    if is_again or min(ranked, default=FIRST) == LAST:
        ranked.setdefault(FIRST, [])
    waves = [ranked[wave] for wave in sorted(ranked)] or [[]]
    waves[0] += alone
    return waves


def _wave(key: str) -> int:
    """The wave of a key of the store; what no kind names is rows, or a record."""
    if isinstance(key, ObjectKind):
        return key.wave
    return FIRST if key.endswith(_ROWS) else RECORD
