"""The parts of the self-test: its cases, its budget, its data sets, its removal, its page, its refusals."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fanout.request.parse import parse_request
from fanout_cli.command_error import CommandError
from fanout_cli.selftest import cleanup
from fanout_cli.selftest.budget import MARGIN, Expected, SelftestBudget, expect, expect_removal
from fanout_cli.selftest.cases import DELETED_EVERY, SelftestPlace, cases_of, removal_requests
from fanout_cli.selftest.cleanup import remove_all
from fanout_cli.selftest.data_sets import DataSets, delete_keys, name_of, remove_prefix
from fanout_cli.selftest.data_sizes import PROFILES
from fanout_cli.selftest.page import write
from fanout_cli.selftest.runner import CaseRow, Runner, fill
from fanout_cli.selftest.whole import bucket_of
from fanout_cli.stacks import Stack, deployed_stack
from tests.cli.conftest import BUCKET, Aws
from tests.support.selftests import PLACE, hostile, proven, summary_of

SMALL = PROFILES["small"]
CASES = cases_of(PLACE, SMALL)
DATA = "data-bucket"


def stack_with(**parameters: str) -> Stack:
    def client(_: str) -> Any:
        raise AssertionError("nothing is asked of AWS")

    return Stack("mine", {"StateMachineArn": "arn:aws:states:eu-west-1:1:stateMachine:x"}, client, "", 0.0, parameters)


@pytest.fixture
def s3(aws: Aws) -> Any:
    found = aws.client("s3")
    found.create_bucket(Bucket=DATA, CreateBucketConfiguration={"LocationConstraint": "eu-west-1"})
    return found


def keys_of(s3: Any, bucket: str = DATA) -> list[str]:
    return [row["Key"] for row in s3.list_objects_v2(Bucket=bucket).get("Contents", [])]


@pytest.mark.parametrize("size", PROFILES)
def test_every_request_is_valid_and_stays_in_its_place(size: str) -> None:
    requests = [case.request for case in cases_of(PLACE, PROFILES[size])]
    for request in (*requests, *removal_requests(PLACE)):
        parse_request(request, ("data",), 100)
        for end in ("source", "destination"):
            assert request[end].startswith((f"s3://{DATA}/{PLACE.name}/", f"efs:///{PLACE.name}"))


def test_the_standard_self_test_is_within_the_default_budget() -> None:
    cases = cases_of(PLACE, PROFILES["standard"])
    assert [(case.entries, case.bytes) for case in cases[-2:]] == [(1, 20 << 30), (100_000, 100_000 * 4096)]
    total = SelftestBudget(20.0, expect_removal(PLACE, cases)).require([expect(case) for case in cases])
    assert 1 < total < 20


def test_more_than_the_budget_is_refused_before_anything_is_spent() -> None:
    with pytest.raises(CommandError, match=r"may cost \$31\.00, over the budget of \$20\.00; raise --budget-dollars"):
        SelftestBudget(20.0, 1.0).require([Expected(1, 15.0), Expected(1, 5.0)])


def test_a_case_that_could_pass_the_budget_is_left_out(aws: Aws) -> None:
    budget = SelftestBudget(1.0, reserved=0.2, spent=0.8 - MARGIN * expect(CASES[0]).dollars + 0.0001)
    row = CaseRow(CASES[0].name, CASES[0].title)
    Runner(stack_with(), PLACE, DataSets(None, PLACE, SMALL), budget, print).run(CASES[0], row)
    assert row.status == "not run" and "pass the budget" in row.problems[0]
    budget.spent -= 0.0002
    assert budget.allows(expect(CASES[0]))


def test_data_sets_are_made_thinned_out_and_removed(s3: Any) -> None:
    s3.put_object(Bucket=DATA, Key="mine", Body=b"")
    sizes = replace(SMALL, files=41, many=5)
    data = DataSets(s3, PLACE, sizes)
    for name in ("files", "many", "large"):
        data.make(name)
    base = f"{PLACE.name}/"
    assert len([key for key in keys_of(s3) if key.startswith(f"{base}files/")]) == 41
    large = s3.get_object(Bucket=DATA, Key=f"{base}large/large.bin")["Body"].read()
    assert len(large) == sizes.large_bytes
    parts = {large[at : at + 4096] for at in range(0, len(large), sizes.part_bytes)}
    assert len(parts) == -(-sizes.large_bytes // sizes.part_bytes)  # two blocks that change places are seen
    data.drop_some("files")
    left = [key for key in keys_of(s3) if key.startswith(f"{base}files/")]
    assert len(left) == 41 - 3 and f"{base}files/{name_of(DELETED_EVERY)}" not in left
    s3.create_multipart_upload(Bucket=DATA, Key=f"{base}half")
    remove_prefix(s3, DATA, base)
    assert keys_of(s3) == ["mine"]
    assert "Uploads" not in s3.list_multipart_uploads(Bucket=DATA)


def test_an_object_that_cannot_be_deleted_is_named() -> None:
    class Refusing:
        def delete_objects(self, **_: Any) -> Any:
            return {"Errors": [{"Key": "k", "Code": "AccessDenied", "Message": "no"}]}

    with pytest.raises(CommandError, match="s3://b/k cannot be deleted: AccessDenied: no"):
        delete_keys(Refusing(), "b", iter(["k"]))


def test_one_step_of_the_removal_that_fails_keeps_no_other_from_being_done(
    aws: Aws, s3: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> None:
        raise CommandError("the mount is sealed")

    monkeypatch.setattr(cleanup, "_remove_from_efs", refuse)
    aws.start(f"{PLACE.name}-s3-to-efs", seconds=60)
    aws.put(f"runs/{PLACE.name}-s3-to-efs/plan.json", {})
    aws.put("runs/another/plan.json", {})
    s3.put_object(Bucket=DATA, Key=f"{PLACE.name}/files/x", Body=b"")
    assert remove_all(deployed_stack("mine"), PLACE) == ["the mount is sealed"]
    ledger = f"runs/{PLACE.name}-s3-to-efs/plan.json"  # only the stack's roles may delete there, and none does
    assert (keys_of(s3), keys_of(s3, BUCKET)) == ([], ["runs/another/plan.json", ledger])
    [arn] = aws.executions()
    assert aws.client("stepfunctions").describe_execution(executionArn=arn)["status"] == "ABORTED"


def test_what_is_not_as_expected_is_a_problem() -> None:
    case, row = CASES[1], CaseRow("no-change", "Nothing changed")
    summary = summary_of(case, copied=2, unchanged=598) | {"verification": {"differences": 3}}
    fill(row, case, summary, 5.0)
    assert row.status == "failed"
    assert row.problems == ["copied: 2 entries, not 0", "unchanged: 598 entries, not 600", "verify all: 3 differences"]
    fill(unproven := CaseRow("a", "b"), case, summary_of(case) | {"verification": None}, 5.0)
    assert unproven.problems == ["both trees were not compared"]


def test_the_page_holds_what_the_document_does(tmp_path: Path) -> None:
    document = proven()
    assert (document["status"], document["wrong"]) == ("SUCCEEDED", [])
    paths = write(document, tmp_path / "new")
    assert json.loads(Path(paths["json"]).read_text()) == document
    page = Path(paths["page"]).read_text()
    assert all(case["title"] in page for case in document["cases"])
    wrong = hostile()
    assert wrong["status"] == "FAILED" and len(wrong["wrong"]) == 4
    assert "<script>" not in Path(write(wrong, tmp_path)["page"]).read_text()


@pytest.mark.parametrize(
    ("read", "write", "found"),
    [
        ("arn:aws:s3:::a,arn:aws:s3:::b", "arn:aws:s3:::b", "b"),
        ("arn:aws-cn:s3:::b", "arn:aws-cn:s3:::b", "b"),
        ("arn:aws:s3:::*", "arn:aws:s3:::*", None),
        ("arn:aws:s3:::a", "arn:aws:s3:::b", None),
        ("", "", None),
    ],
)
def test_the_bucket_is_one_that_may_be_read_and_written(read: str, write: str, found: str | None) -> None:
    stack = stack_with(ReadBucketArns=read, WriteBucketArns=write)
    assert bucket_of(stack, "named") == "named"
    if found:
        assert bucket_of(stack, "") == found
    else:
        with pytest.raises(CommandError, match="with --bucket"):
            bucket_of(stack, "")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--with-datasync"], "--with-datasync is not supported"),
        (["--size", "huge"], "take standard or small"),
        (["--clean", "../x"], "is not an id of a self-test"),
        (["--bucket", DATA, "--budget-dollars", "0.01"], "over the budget of $0.01"),
        ([], "name one that the stack may read and write"),
    ],
)
def test_it_is_refused_by_name(aws: Aws, arguments: list[str], says: str) -> None:
    ended = aws.fanout("selftest", "--stack", "mine", *arguments)
    assert ended.exit_code == 2
    assert says in ended.output
    assert aws.executions() == []


def test_nothing_is_made_before_somebody_said_yes(aws: Aws, s3: Any, tmp_path: Path) -> None:
    ended = aws.fanout("selftest", "--stack", "mine", "--bucket", DATA, "--size", "small")  # standard input is empty
    assert ended.exit_code != 0 and "Go on?" in ended.output
    assert (keys_of(s3), aws.executions(), list(tmp_path.glob("fanout-selftest-*"))) == ([], [], [])


def test_the_place_of_a_self_test_is_named_after_it() -> None:
    place = SelftestPlace("b", "1")
    assert (place.s3("files"), place.efs("files")) == (
        "s3://b/fanout-selftest-1/files/",
        "efs:///fanout-selftest-1/files",
    )
