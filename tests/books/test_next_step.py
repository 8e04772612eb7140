"""What to do after a run: the table as literal rows."""

from __future__ import annotations

from typing import Any

import pytest

from fanout.books.failures import FailureClass
from fanout.books.next_step import RULES, Ended, Left, left_of, next_step
from fanout.books.step import Verb
from fanout.model.errors import TASK_ERRORS
from fanout.model.outcome import Result
from fanout.request.course import Mode

COPY, SYNC, MOVE, VERIFY, PLAN, ROLLBACK = Mode.COPY, Mode.SYNC, Mode.MOVE, Mode.VERIFY, Mode.PLAN, Mode.ROLLBACK
FAILED, CHANGED, REJECTED, DIFFERS = Left.FAILED, Left.CHANGED, Left.REJECTED, Left.DIFFERS
ROWS = [
    (Ended(COPY, "SUCCEEDED"), Verb.NONE, "nothing"),
    (Ended(COPY, "SUCCEEDED", nothing_listed=True), Verb.SOURCE, "check the bucket"),
    (Ended(PLAN, "SUCCEEDED"), Verb.COPY, "copy what was planned"),
    (Ended(ROLLBACK, "SUCCEEDED", nothing_listed=True), Verb.NONE, "nothing"),
    (Ended(ROLLBACK, "FAILED", "InvalidRequest"), Verb.FIELD, "correct the field"),
    (Ended(ROLLBACK, "FAILED", "Superseded"), Verb.RETRY, "wait"),
    (Ended(ROLLBACK, "FAILED", "Infrastructure"), Verb.RETRY, "from the beginning"),
    (Ended(ROLLBACK, "ABORTED", "Stopped"), Verb.RETRY, "from the beginning"),
    (Ended(SYNC, "SKIPPED"), Verb.WATCH_HOLDER, "follow"),
    (Ended(COPY, "RUNNING"), Verb.WATCH, "follow"),
    (Ended(COPY, "ABORTED", "Stopped"), Verb.RETRY, "copies what is left"),
    (Ended(SYNC, "ABORTED", "Stopped"), Verb.RETRY, "from the beginning"),
    (Ended(None, "ABORTED", "Stopped"), Verb.RETRY, "from the beginning"),
    (Ended(VERIFY, "TIMED_OUT"), Verb.RETRY, "from the beginning"),
    (Ended(COPY, "FAILED", "OutOfTime"), Verb.RETRY, "got no further, raise the limit"),
    (Ended(SYNC, "FAILED", "OutOfTime"), Verb.RETRY, "got no further, raise the limit"),
    (Ended(COPY, "FAILED", "OutOfBudget"), Verb.RETRY, "got no further, raise the limit"),
    (Ended(COPY, "FAILED", "BudgetRefused"), Verb.DOLLARS, "max_dollars"),
    (Ended(COPY, "FAILED", "FinishRefused"), Verb.FINISH, "finish_by"),
    (Ended(None, "FAILED", "InvalidRequest"), Verb.FIELD, "correct the field"),
    (Ended(None, "FAILED", "AccessDenied"), Verb.RETRY, "remedy"),
    (Ended(SYNC, "FAILED", "DeleteRefused"), Verb.PLAN_SYNC, "delete_guard"),
    (Ended(COPY, "FAILED", "DestinationBusy"), Verb.RETRY, "wait"),
    (Ended(COPY, "FAILED", "LedgerBroken"), Verb.AGAIN, "anew"),
    (Ended(COPY, "FAILED_WITH_ITEMS", left=frozenset({FAILED, REJECTED})), Verb.RETRY, "copies what is left"),
    (Ended(COPY, "FAILED_WITH_ITEMS", left=frozenset({REJECTED})), Verb.AGAIN, "rename"),
    (Ended(COPY, "FAILED_WITH_ITEMS", left=frozenset({CHANGED})), Verb.AGAIN, "nobody writes"),
    (Ended(COPY, "FAILED_WITH_ITEMS", left=frozenset({DIFFERS})), Verb.COPY_ALWAYS, "copy everything again"),
    (Ended(SYNC, "FAILED_WITH_ITEMS", left=frozenset({REJECTED})), Verb.RETRY, "lists both ends"),
    (Ended(MOVE, "ABORTED", "Stopped"), Verb.RETRY, "copies what is left"),
    (Ended(MOVE, "FAILED", "DeleteRefused"), Verb.AGAIN, "only if a limit of delete_guard is named"),
    (Ended(MOVE, "FAILED_WITH_ITEMS", left=frozenset({FAILED})), Verb.RETRY, "copies what is left"),
    (Ended(MOVE, "FAILED_WITH_ITEMS", left=frozenset({CHANGED})), Verb.AGAIN, "nobody writes"),
    (Ended(MOVE, "FAILED_WITH_ITEMS", left=frozenset({DIFFERS})), Verb.COPY_ALWAYS, "copy everything again"),
    (Ended(MOVE, "FAILED_WITH_ITEMS", left=frozenset({Left.NOT_DELETED})), Verb.AGAIN, "start the move again"),
    (Ended(VERIFY, "FAILED_WITH_ITEMS", left=frozenset({DIFFERS})), Verb.COPY_CHECKSUM, "copy what differs"),
    (Ended(VERIFY, "FAILED_WITH_ITEMS", left=frozenset({DIFFERS, Left.EXTRA})), Verb.COPY_CHECKSUM, "copy what"),
    (Ended(VERIFY, "FAILED_WITH_ITEMS", left=frozenset({Left.EXTRA})), Verb.PLAN_SYNC, "see what a sync would delete"),
    (Ended(COPY, "SUCCEEDED", nothing_taken=True), Verb.FIELD, "correct the patterns"),
    (Ended(PLAN, "SUCCEEDED", nothing_planned=True), Verb.NONE, "nothing is to be copied"),
]


@pytest.mark.parametrize(("ended", "verb", "said"), ROWS)
def test_the_row_that_fits(ended: Ended, verb: Verb, said: str) -> None:
    step = next_step(ended)
    assert step.verb is verb
    assert said in step.text


@pytest.mark.parametrize("mode", [None, *Mode])
@pytest.mark.parametrize("error", ["", "Infrastructure", *(one.__name__ for one in TASK_ERRORS)])
def test_only_what_copies_alone_is_told_that_a_retry_does_not_list(mode: Mode | None, error: str) -> None:
    assert mode in (COPY, MOVE) or "copies what is left" not in next_step(Ended(mode, "FAILED", error)).text


def test_every_rule_is_reached() -> None:
    assert {next(rule for rule in RULES if rule.fits(ended)) for ended, _, _ in ROWS} == set(RULES)


def test_what_the_classes_leave() -> None:
    def of(phase: str, outcome: Result, reason: str) -> FailureClass:
        return FailureClass(phase, outcome, reason, 1, 1, "")

    assert left_of([of("list", Result.REJECTED, "name")]) == {REJECTED}
    assert left_of([of("copy", Result.FAILED, "source changed"), of("finish", Result.FAILED, "x")]) == {CHANGED, FAILED}
    assert left_of([of("verify", Result.FAILED, "source changed")]) == {DIFFERS}
    assert left_of([of("delete", Result.FAILED, "cannot be deleted at the source")]) == {Left.NOT_DELETED}


def test_a_command_names_the_run_and_the_holder() -> None:
    assert next_step(Ended(COPY, "ABORTED")).command("r-1") == "fanout retry r-1"
    assert next_step(Ended(COPY, "SKIPPED")).command("r-1", "h-1") == "fanout watch h-1"
    assert next_step(Ended(COPY, "SUCCEEDED")).command("r-1") == ""


ASKED = {"source": "s3://a/in/", "destination": "efs:///out", "mode": "plan", "exclude": ["*.tmp"]}


@pytest.mark.parametrize(
    ("ended", "request_", "line"),
    [
        (Ended(PLAN, "SUCCEEDED"), ASKED, "fanout copy s3://a/in/ efs:///out --exclude '*.tmp'"),
        (Ended(PLAN, "SUCCEEDED"), {"resume_from": "r-0"}, "fanout retry r-1 --set mode=copy"),
        (
            Ended(VERIFY, "FAILED_WITH_ITEMS", left=frozenset({DIFFERS})),
            {**ASKED, "mode": "verify"},
            "fanout copy s3://a/in/ efs:///out --exclude '*.tmp' --compare checksum",
        ),
        (
            Ended(VERIFY, "FAILED_WITH_ITEMS", left=frozenset({Left.EXTRA})),
            {**ASKED, "mode": "verify"},
            "fanout sync s3://a/in/ efs:///out --exclude '*.tmp' --dry-run",
        ),
        (
            Ended(None, "FAILED", "InvalidRequest"),
            {**ASKED, "mode": "copy"},
            "fanout copy s3://a/in/ efs:///out --exclude '*.tmp'",
        ),
        (Ended(None, "FAILED", "InvalidRequest"), {**ASKED, "exclud": 1}, "fanout retry r-1 --set FIELD=VALUE"),
    ],
)
def test_a_command_that_names_the_ends_has_the_options_that_were_given(ended: Ended, request_: Any, line: str) -> None:
    assert next_step(ended).command("r-1", request=request_) == line
