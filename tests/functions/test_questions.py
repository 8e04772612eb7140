"""What the rights of ``fanout doctor`` reach: two functions that answer questions and nothing else."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import pytest

from fanout.flow.steps import STEPS
from fanout.model.errors import InvalidRequest
from fanout.runtime.questions import QUESTIONS
from tests.functions.conftest import Invoke
from tests.functions.hand_made import event_of, seen
from tests.functions.kinds_of_runs import SOURCE, WORK
from tests.functions.test_outside_of_runs import stacks
from tests.support.actions import Need
from tests.support.iam import Given, is_allowed, statements_of

ASKED = {question: function for function, questions in QUESTIONS.items() for question in questions}
# The events of StartBatch are a queue's, and name no step.
FUNCTIONS = sorted({step.function for step in STEPS.values()} - {"StartBatch"})
EXECUTIONS = "arn:aws:states:us-east-1:123456789012:execution:fanout-transfer"


@pytest.mark.parametrize(("function", "question"), product(FUNCTIONS, ASKED))
def test_no_function_of_a_run_answers_a_question(
    s3: Any, call: Invoke, tmp_path: Path, function: str, question: str
) -> None:
    (tmp_path / "fanout-selftest-1").mkdir()
    before = seen(s3, tmp_path)
    with pytest.raises(InvalidRequest, match="is not a step of"):
        call(function, {"step": question, "directory": "fanout-selftest-1", "execution": f"{EXECUTIONS}:doctor"})
    assert seen(s3, tmp_path) == before


@pytest.mark.parametrize(("function", "state"), product(QUESTIONS, STEPS))
def test_a_function_that_is_asked_carries_out_no_state(
    s3: Any, call: Invoke, tmp_path: Path, function: str, state: str
) -> None:
    before = seen(s3, tmp_path)
    with pytest.raises(InvalidRequest, match=f"is no question to {function}"):
        call(function, event_of("nobody", state))
    assert seen(s3, tmp_path) == before


@pytest.mark.parametrize(("function", "question"), product(QUESTIONS, ASKED))
def test_each_answers_its_own_questions(s3: Any, call: Invoke, function: str, question: str) -> None:
    event = {"step": question, "directory": "fanout-selftest-1", "execution": f"{EXECUTIONS}:doctor"}
    if ASKED[question] == function:
        assert call(function, event)
    else:
        with pytest.raises(InvalidRequest, match=f"is no question to {function}"):
            call(function, event)


# What a run reads and writes, by action: none of it is the doctor's.
KEYS = ("runs/r/plan.json", "runs/r/request.json", "runs/indexes/x", "locks/mounts/data.json", "staged/r/1", "seals/r")
FORBIDDEN = [
    *(Need(f"s3:{verb}Object", f"arn:aws:s3:::{WORK}/{key}") for verb in ("Get", "Put", "Delete") for key in KEYS),
    *(Need(f"s3:{verb}Object", f"arn:aws:s3:::{SOURCE}/in/f") for verb in ("Get", "Put", "Delete")),
    Need("s3:ListBucket", f"arn:aws:s3:::{WORK}", {"s3:prefix": "runs/"}),
    Need("s3:ListBucket", f"arn:aws:s3:::{SOURCE}", {"s3:prefix": "in/"}),
    *(Need(f"states:{verb}Execution", f"{EXECUTIONS}:run-1") for verb in ("Start", "Stop", "Describe")),
    Need("states:UpdateMapRun", "arn:aws:states:us-east-1:123456789012:mapRun:fanout-transfer/CopyShards:x"),
    Need("sts:AssumeRole", "arn:aws:iam::444455556666:role/their-data", {"aws:PrincipalTag/fanout-way-out": "true"}),
    Need("elasticfilesystem:DescribeFileSystems", "file-system/fs-1"),
]


@pytest.mark.parametrize(("name", "given"), stacks(), ids=lambda one: one if isinstance(one, str) else "")
def test_their_roles_read_and_write_nothing_of_a_run(name: str, given: Given) -> None:
    with_roles = Given(given.parameters, {**given.conditions, "AssumesRoles": True})
    for function in QUESTIONS:
        statements = statements_of(f"{function}Function", with_roles)
        assert [need for need in FORBIDDEN if is_allowed(need, statements)] == [], (function, name)
        assert is_allowed(Need("s3:PutObject", f"arn:aws:s3:::{WORK}/runs/doctor/probe"), statements)


def test_only_the_one_that_tries_the_mount_may_write_it() -> None:
    [(_, given)] = list(stacks())[:1]
    write = Need(
        "elasticfilesystem:ClientWrite",
        "arn:aws:elasticfilesystem:us-east-1:123456789012:file-system/fs-1",
        {"elasticfilesystem:AccessPointArn": given.parameters["AccessPointArn"]},
    )
    may = {one for one in QUESTIONS if is_allowed(write, statements_of(f"{one}Function", given))}
    assert may == {"ExamineNetwork"}
