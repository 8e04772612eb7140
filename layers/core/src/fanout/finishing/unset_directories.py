"""The directories of a run that did not get their attributes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from msgspec import Struct, convert

from fanout.ledger import keys
from fanout.ledger.ledger import Ledger
from fanout.model.entry import Entry, Kind
from fanout.model.entry_outcome import Outcome
from fanout.model.outcome import Reason


class Unset(Struct, frozen=True):
    """A directory whose attributes could not be set, and why: a row of ``directories/failures/``."""

    path: str
    reason: Reason
    message: str


def directories_failed(ledger: Ledger) -> dict[str, Outcome]:
    """The directories that did not get their attributes, by path. They stay as they were made: closed."""
    read = partial(convert, type=Unset)
    failures = (one for key in ledger.keys(keys.DIRECTORY_FAILURES) for one in ledger.read_rows_as(key, read))
    return {one.path: Outcome.because(Entry(one.path, Kind.DIRECTORY), one.reason, one.message) for one in failures}


def unset_notes(unset: Mapping[str, Outcome]) -> list[str]:
    """The note on directories that did not get their attributes; none for none."""
    if not unset:
        return []
    return [f"the attributes of {len(unset)} directories could not be set: {next(iter(unset.values())).reason}"]
