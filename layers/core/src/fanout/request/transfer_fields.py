"""Classifies each field of a request, once: what it decides, and so between which runs it may differ.

| class  | decides                               | a resumed run | the same transfer | the index of another run |
|--------|---------------------------------------|---------------|-------------------|--------------------------|
| work   | how fast and at what price it works   | may differ    | may differ        | may differ               |
| object | how objects are read or written       | may differ    | the same          | may differ               |
| action | what is done with what differs        | the same      | the same          | may differ               |
| trees  | what is listed and what counts as new | the same      | the same          | the same                 |
"""

from __future__ import annotations

from enum import IntEnum


class Decides(IntEnum):
    """The classes of the table above, in its order."""

    WORK = 1
    OBJECT = 2
    ACTION = 3
    TREES = 4


# Every field of ``Request``.
FIELDS = {
    "limits": Decides.WORK,
    "prices": Decides.WORK,
    "calibration": Decides.WORK,
    "function": Decides.WORK,
    "allow_empty_source": Decides.WORK,
    "report_entries": Decides.WORK,
    "source_bucket": Decides.WORK,
    "destination_bucket": Decides.WORK,
    "checksums": Decides.WORK,
    "verify": Decides.OBJECT,
    "certificate": Decides.OBJECT,
    "objects": Decides.OBJECT,
    "archived": Decides.OBJECT,
    "restore": Decides.OBJECT,
    "mode": Decides.ACTION,
    "delete_guard": Decides.ACTION,
    "publish": Decides.ACTION,
    "backup_to": Decides.ACTION,
    "source": Decides.TREES,
    "destination": Decides.TREES,
    "compare": Decides.TREES,
    "overwrite": Decides.TREES,
    "attributes": Decides.TREES,
    "symlinks": Decides.TREES,
    "on_conflict": Decides.TREES,
    "filters": Decides.TREES,
    "manifest": Decides.TREES,
}


def fields_up_to(last: Decides) -> frozenset[str]:
    """The fields of this class and of those before it."""
    return frozenset(name for name, decides in FIELDS.items() if decides <= last)
