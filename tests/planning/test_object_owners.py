"""A plan says whose the objects will be that it writes to a bucket of another account, and is never refused for it."""

from __future__ import annotations

from typing import Any

import pytest

from fanout.model.entry import Kind
from fanout.model.errors import AccessDenied, FanoutError, Transient, Unreachable
from fanout.request.plan import Plan
from fanout.work.context import WayOut
from tests.support.flow import ACCOUNT, World

HERS, ROLE = "444455556666", "arn:aws:iam::444455556666:role/data"
UP: dict[str, Any] = {"source": "efs:///in", "destination": "s3://reports/out/"}
ACROSS = {**UP, "source": "s3://data/in/"}
TO_HERS = {**UP, "destination_bucket": {"expected_owner": HERS}}
BY_ROLE = {**UP, "destination_bucket": {"role": ROLE}}
FULL = {"object_acl": "bucket-owner-full-control"}
DENIED = AccessDenied("GetBucketOwnershipControls", "s3://reports/", "allow s3:GetBucketOwnershipControls to the role")


class Ownership:
    """What a bucket tells, or the error; and for which buckets it was asked."""

    def __init__(self, told: str | FanoutError) -> None:
        self.told = told
        self.asked: list[str] = []

    def __call__(self, plan: Plan) -> str:
        self.asked.append(plan.request.destination.bucket)
        if isinstance(self.told, FanoutError):
            raise self.told
        return self.told


def notes_of(request: dict[str, Any], told: str | FanoutError) -> tuple[list[str], Ownership]:
    """The notes about owners in the summary of a run, which succeeds."""
    world = World(way_out=WayOut.MOUNTS, roles=(ROLE,), ownership=Ownership(told))
    world.source.put("file", Kind.FILE, b"x")  # type: ignore[attr-defined]
    summary = world.run(request)
    assert summary["status"] == "SUCCEEDED"
    found = [one for one in summary.get("notes", []) if "objects of" in one]
    return found, world.ownership  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ("BucketOwnerEnforced", None),
        ("BucketOwnerPreferred", "its Object Ownership is BucketOwnerPreferred"),
        ("ObjectWriter", "its Object Ownership is ObjectWriter"),
        ("SomethingNew", "is not known (SomethingNew)"),
        (DENIED, "allow s3:GetBucketOwnershipControls to the role"),
        (Transient("503"), "is not known (Transient: 503)"),
        (Unreachable("no way"), "is not known (Unreachable: no way)"),
    ],
)
@pytest.mark.parametrize(("request_", "writer"), [(TO_HERS, ACCOUNT), (BY_ROLE, HERS)])
def test_each_answer_has_its_note(
    request_: dict[str, Any], writer: str, told: str | FanoutError, said: str | None
) -> None:
    notes, ownership = notes_of(request_, told)
    assert ownership.asked == ["reports"]
    if said is None:
        assert notes == []
        return
    [note] = notes
    assert said in note
    assert "objects of reports" in note and f"account {writer}" in note
    assert "--object-acl bucket-owner-full-control" in note and "BucketOwnerEnforced" in note


def test_a_plan_says_it_before_anything_is_written() -> None:
    notes, _ = notes_of({**TO_HERS, "mode": "plan"}, "ObjectWriter")
    assert len(notes) == 1


def test_the_role_of_the_source_writes_too_and_the_stack_s_own_bucket_is_then_another_account_s() -> None:
    by_source = {**ACROSS, "source_bucket": {"role": ROLE}}
    [note], ownership = notes_of(by_source, "ObjectWriter")
    assert f"account {HERS}, which writes them" in note and ownership.asked == ["reports"]


@pytest.mark.parametrize(
    "request_",
    [
        UP,
        ACROSS,
        {**UP, "destination_bucket": {"expected_owner": ACCOUNT}},
        {**UP, "destination_bucket": {"role": ROLE, "expected_owner": HERS}},
        {**ACROSS, "source_bucket": {"expected_owner": HERS}},
        {**TO_HERS, **FULL},
        {**BY_ROLE, **FULL},
        {"source": "s3://data/in/", "destination": "efs:///in", "source_bucket": {"role": ROLE}},
    ],
)
def test_nobody_is_asked_where_the_owner_is_the_writer_or_is_given_its_rights(request_: dict[str, Any]) -> None:
    notes, ownership = notes_of(request_, "ObjectWriter")
    assert (notes, ownership.asked) == ([], [])


def test_nobody_is_asked_by_a_run_that_writes_nothing() -> None:
    ownership = Ownership("ObjectWriter")
    world = World(ownership=ownership)
    world.run({**TO_HERS, "mode": "verify", "allow_empty_source": True})
    assert ownership.asked == []
