"""What to do after a run: the table as literal rows."""

from __future__ import annotations

from typing import Any

import pytest

from fanout.books.failures import FailureClass
from fanout.books.next_step import RULES, EndedRun, Left, left_of, next_step
from fanout.books.step import Verb
from fanout.model.errors import TASK_ERRORS
from fanout.model.outcome import Result
from fanout.request.course import Mode

COPY, SYNC, MOVE, VERIFY, PLAN, ROLLBACK = Mode.COPY, Mode.SYNC, Mode.MOVE, Mode.VERIFY, Mode.PLAN, Mode.ROLLBACK
FAILED, CHANGED, REJECTED, DIFFERS = Left.FAILED, Left.CHANGED, Left.REJECTED, Left.DIFFERS
ROWS = [
    (EndedRun(COPY, "SUCCEEDED"), Verb.NONE, "nothing"),
    (EndedRun(COPY, "SUCCEEDED", nothing_listed=True), Verb.SOURCE, "check the bucket"),
    (EndedRun(PLAN, "SUCCEEDED"), Verb.COPY, "copy what was planned"),
    (EndedRun(ROLLBACK, "SUCCEEDED", nothing_listed=True), Verb.NONE, "nothing"),
    (EndedRun(ROLLBACK, "FAILED", "InvalidRequest"), Verb.FIELD, "correct the field"),
    (EndedRun(ROLLBACK, "FAILED", "Superseded"), Verb.RETRY, "wait"),
    (EndedRun(ROLLBACK, "FAILED", "Infrastructure"), Verb.RETRY, "from the beginning"),
    (EndedRun(ROLLBACK, "ABORTED", "Stopped"), Verb.RETRY, "from the beginning"),
    (EndedRun(SYNC, "SKIPPED"), Verb.WATCH_HOLDER, "follow"),
    (EndedRun(COPY, "RUNNING"), Verb.WATCH, "follow"),
    (EndedRun(COPY, "ABORTED", "Stopped"), Verb.RETRY, "copies what is left"),
    (EndedRun(SYNC, "ABORTED", "Stopped"), Verb.RETRY, "lists both ends again"),
    (EndedRun(PLAN, "ABORTED", "Stopped"), Verb.RETRY, "from the beginning"),
    (EndedRun(None, "ABORTED", "Stopped"), Verb.RETRY, "from the beginning"),
    (EndedRun(VERIFY, "TIMED_OUT"), Verb.RETRY, "not compare again what is proven"),
    (EndedRun(COPY, "FAILED", "OutOfTime"), Verb.RETRY, "got no further, raise the limit"),
    (EndedRun(SYNC, "FAILED", "OutOfTime"), Verb.RETRY, "got no further, raise the limit"),
    (EndedRun(COPY, "FAILED", "OutOfBudget"), Verb.RETRY, "got no further, raise the limit"),
    (EndedRun(COPY, "FAILED", "BudgetRefused"), Verb.DOLLARS, "max_dollars"),
    (EndedRun(COPY, "FAILED", "FinishRefused"), Verb.FINISH, "finish_by"),
    (EndedRun(None, "FAILED", "InvalidRequest"), Verb.FIELD, "correct the field"),
    (EndedRun(None, "FAILED", "AccessDenied"), Verb.RETRY, "remedy"),
    (EndedRun(SYNC, "FAILED", "DeleteRefused"), Verb.PLAN_SYNC, "delete_guard"),
    (EndedRun(COPY, "FAILED", "DestinationBusy"), Verb.RETRY, "wait"),
    (EndedRun(COPY, "FAILED", "LedgerBroken"), Verb.AGAIN, "anew"),
    (EndedRun(COPY, "FAILED_WITH_ITEMS", left=frozenset({FAILED, REJECTED})), Verb.RETRY, "copies what is left"),
    (EndedRun(COPY, "FAILED_WITH_ITEMS", left=frozenset({REJECTED})), Verb.AGAIN, "rename"),
    (EndedRun(COPY, "FAILED_WITH_ITEMS", left=frozenset({CHANGED})), Verb.AGAIN, "nobody writes"),
    (EndedRun(COPY, "FAILED_WITH_ITEMS", left=frozenset({DIFFERS})), Verb.COPY_ALWAYS, "copy everything again"),
    (EndedRun(SYNC, "FAILED_WITH_ITEMS", left=frozenset({REJECTED})), Verb.RETRY, "lists both ends"),
    (EndedRun(MOVE, "ABORTED", "Stopped"), Verb.RETRY, "copies what is left"),
    (EndedRun(MOVE, "FAILED", "DeleteRefused"), Verb.AGAIN, "only if a limit of delete_guard is named"),
    (EndedRun(MOVE, "FAILED_WITH_ITEMS", left=frozenset({FAILED})), Verb.RETRY, "copies what is left"),
    (EndedRun(MOVE, "FAILED_WITH_ITEMS", left=frozenset({CHANGED})), Verb.AGAIN, "nobody writes"),
    (EndedRun(MOVE, "FAILED_WITH_ITEMS", left=frozenset({DIFFERS})), Verb.COPY_ALWAYS, "copy everything again"),
    (EndedRun(MOVE, "FAILED_WITH_ITEMS", left=frozenset({Left.NOT_DELETED})), Verb.AGAIN, "start the move again"),
    (EndedRun(VERIFY, "FAILED_WITH_ITEMS", left=frozenset({DIFFERS})), Verb.COPY_CHECKSUM, "copy what differs"),
    (EndedRun(VERIFY, "FAILED_WITH_ITEMS", left=frozenset({DIFFERS, Left.EXTRA})), Verb.COPY_CHECKSUM, "copy what"),
    (
        EndedRun(VERIFY, "FAILED_WITH_ITEMS", left=frozenset({Left.EXTRA})),
        Verb.PLAN_SYNC,
        "see what a sync would delete",
    ),
    (EndedRun(COPY, "SUCCEEDED", nothing_taken=True), Verb.FIELD, "correct the patterns"),
    (EndedRun(PLAN, "SUCCEEDED", nothing_planned=True), Verb.NONE, "nothing is to be copied"),
]


@pytest.mark.parametrize(("ended", "verb", "said"), ROWS)
def test_the_row_that_fits(ended: EndedRun, verb: Verb, said: str) -> None:
    step = next_step(ended)
    assert step.verb is verb
    assert said in step.text


@pytest.mark.parametrize("mode", [None, *Mode])
@pytest.mark.parametrize("error", ["", "Infrastructure", *(one.__name__ for one in TASK_ERRORS)])
def test_only_what_copies_alone_is_told_that_a_retry_does_not_list(mode: Mode | None, error: str) -> None:
    assert mode in (COPY, MOVE) or "copies what is left" not in next_step(EndedRun(mode, "FAILED", error)).text


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
    assert next_step(EndedRun(COPY, "ABORTED")).command("r-1") == "fanout retry r-1"
    assert next_step(EndedRun(COPY, "SKIPPED")).command("r-1", "h-1") == "fanout watch h-1"
    assert next_step(EndedRun(COPY, "SUCCEEDED")).command("r-1") == ""


ASKED = {"source": "s3://a/in/", "destination": "efs:///out", "mode": "plan", "exclude": ["*.tmp"]}


@pytest.mark.parametrize(
    ("ended", "request_", "line"),
    [
        (EndedRun(PLAN, "SUCCEEDED"), ASKED, "fanout copy s3://a/in/ efs:///out --exclude '*.tmp'"),
        (EndedRun(PLAN, "SUCCEEDED"), {"resume_from": "r-0"}, "fanout retry r-1 --set mode=copy"),
        (
            EndedRun(VERIFY, "FAILED_WITH_ITEMS", left=frozenset({DIFFERS})),
            {**ASKED, "mode": "verify"},
            "fanout copy s3://a/in/ efs:///out --exclude '*.tmp' --compare checksum",
        ),
        (
            EndedRun(VERIFY, "FAILED_WITH_ITEMS", left=frozenset({Left.EXTRA})),
            {**ASKED, "mode": "verify"},
            "fanout sync s3://a/in/ efs:///out --exclude '*.tmp' --dry-run",
        ),
        (
            EndedRun(None, "FAILED", "InvalidRequest"),
            {**ASKED, "mode": "copy"},
            "fanout copy s3://a/in/ efs:///out --exclude '*.tmp'",
        ),
        (EndedRun(None, "FAILED", "InvalidRequest"), {**ASKED, "exclud": 1}, "fanout retry r-1 --set FIELD=VALUE"),
    ],
)
def test_a_command_that_names_the_ends_has_the_options_that_were_given(
    ended: EndedRun, request_: Any, line: str
) -> None:
    assert next_step(ended).command("r-1", request=request_) == line
