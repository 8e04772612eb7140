"""The one table of reasons: each has words, one result, and a remedy where something is to be done."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fanout.books.failures import failure_of
from fanout.ledger.rows import outcome_from_row, outcome_row
from fanout.model.entry import Entry, Kind
from fanout.model.entry_outcome import Outcome
from fanout.model.outcome import TROUBLE, Reason, Result
from tests.adversary.scope import OF_ITS_OWN

PACKAGE = Path(__file__).parents[2] / "layers/core/src/fanout"
FILE = Entry("a", Kind.FILE, 3)
# What becomes of an entry; nothing here is computed.
ROWS = {
    "unchanged": """
        SAME DONE_EARLIER
    """,
    "skipped": """
        SPECIAL_FILE SYMLINK EXCLUDED NOT_INCLUDED SIZE_FILTERED TIME_FILTERED EXTRA_IN_MANIFEST NOT_THERE
        KEY_OF_A_FILE HOLDS_KEPT FILTERED_NOT_EMPTY KEPT CAME_LATER HOLDS_MORE NOT_COPIED
    """,
    "rejected": """
        DESTINATION_KIND LINK_LOOP LINK_OUTSIDE LINK_IN_STORE LINK_NO_TARGET CUSTOMER_KEY OUTSIDE_SOURCE
        IN_PUBLISHED MANIFEST_ROW NAME_NOT_ESCAPED OTHER_BUCKET KEY_ENCODED
    """,
    "rejected, or skipped with on_conflict: skip": """
        NAME_EMPTY NAME_DOT NAME_ABSOLUTE NAME_NUL NAME_TOO_LONG NAME_RESERVED PATH_TOO_DEEP
        KEY_TOO_LONG KEY_NOT_UTF8 FILE_AND_DIRECTORY MARKER_AND_DIRECTORY ROW_NOT_BELOW
    """,
    "failed": """
        LINK_DANGLING FIRST_NAME SOURCE_CHANGED SOURCE_VANISHED SOURCE_ARCHIVED NOT_RESTORED SOURCE_DENIED
        UNLISTABLE NOT_AT_SOURCE APPEARED NAME_TOUCHED PUBLISHED IN_BACKUP SOURCE_NOT_DELETED
        LINK_IN_PATH DESTINATION_DENIED LINK_LIMIT NO_SPACE
        DESTINATION_VANISHED DESTINATION_CHANGED NOT_EMPTY CHECKSUM MISSING EXTRA DIFFERS
        MODE_DIFFERS OWNER_DIFFERS MTIME_DIFFERS LINKS_DIFFER METADATA_DIFFERS ATTRIBUTE_UNREADABLE
        NOT_HOLDABLE NOT_VERIFIED
        STAGED_BROKEN TRANSIENT OUT_OF_TIME UNEXPECTED SHARD_FAILED NOT_ATTEMPTED
    """,
}
TABLE = [(code, result) for result, codes in ROWS.items() for code in codes.split()]


@pytest.mark.parametrize(("code", "result"), TABLE)
def test_a_reason_has_one_result_and_only_names_depend_on_the_request(code: str, result: str) -> None:
    usual, skipping = (
        Outcome.because(FILE, Reason[code], "m", left_out=left_out).result.value
        for left_out in ((), [one for one in Reason if one.is_name])
    )
    assert result == (usual if usual == skipping else f"{usual}, or {skipping} with on_conflict: skip")


def test_every_reason_stands_in_the_rows_once() -> None:
    assert sorted(code for code, _ in TABLE) == sorted(Reason.__members__)


@pytest.mark.parametrize("reason", Reason)
def test_a_reason_has_words_and_a_remedy_if_an_entry_is_in_trouble(reason: Reason) -> None:
    assert re.fullmatch(r"[A-Za-z].*[A-Za-z0-9.]", reason.value)
    assert "can not" not in reason.value + reason.remedy
    if reason.result in TROUBLE:
        assert reason.remedy
    if reason.result is Result.REJECTED:
        assert not re.search(r"\bretry\b", reason.remedy)  # a run that resumes keeps what was rejected


@pytest.mark.parametrize("reason", Reason)
def test_the_ledger_and_the_failures_tell_the_reason_in_the_words_of_the_table(reason: Reason) -> None:
    outcome = Outcome.because(FILE, reason, "m")
    assert outcome_from_row(outcome_row(outcome)) == outcome
    failure = failure_of(outcome, "copy")
    assert (failure.outcome, failure.reason, failure.remedy) == (reason.result, reason.value, reason.remedy)


def test_another_reason_brings_its_result() -> None:
    full = Outcome.because(FILE, Reason.NOT_EMPTY, "m").instead(Reason.FILTERED_NOT_EMPTY, "n")
    assert full == Outcome.because(FILE, Reason.FILTERED_NOT_EMPTY, "n")


def test_no_outcome_is_made_of_a_result_and_a_reason_by_hand() -> None:
    by_hand = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if re.search(r"(?<!class )\bOutcome\(", path.read_text())
    }
    assert by_hand == {"ledger/rows.py"}  # which reads what a run has written


def test_the_adversarys_oracle_knows_the_words_of_the_table() -> None:
    assert {reason.value for reason in Reason} >= OF_ITS_OWN
