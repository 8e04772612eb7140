"""The policies of docs/how-to/other-account.md: whole runs pass with them, and without a right each is refused by name.

S3 here is moto behind a proxy, which looks every request up in the page. Only what the other account says is looked up;
what the stack's roles say is in ``test_roles``. A denial is worded as S3 words it: of a bucket of another account it
gives no reason, of a key it does.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fanout.model.errors import FanoutError
from tests.support.actions import Need, needs
from tests.support.http import Head
from tests.support.iam import Statement, is_allowed
from tests.support.wire import Wire

PAGE = Path(__file__).parents[2] / "docs/how-to/other-account.md"
DATA, REPORTS = "their-data", "their-reports"
KEYS = {name: f"arn:aws:kms:us-east-1:444455556666:key/of-{name}" for name in (DATA, REPORTS)}
ROLE = "arn:aws:iam::111122223333:role/fanout-CopyShardFunctionRole-1A2B3C"
# That the role has it and no other: tests/template/test_other_account.py.
CONDITION = {
    "StringEquals": {"aws:PrincipalTag/fanout-stack": "eu-west-1/fanout"},
    "ArnLike": {"aws:PrincipalArn": "arn:aws:iam::111122223333:role/*"},
}
FROM, TO, INSIDE = "from their bucket", "to their bucket", "between their buckets"
ENDS = {
    FROM: (f"s3://{DATA}/in/", "efs:///out"),
    TO: ("efs:///in", f"s3://{REPORTS}/out/"),
    INSIDE: (f"s3://{DATA}/in/", f"s3://{REPORTS}/out/"),
}
# Each right of the page, and a run that is refused without it.
TAKEN = [
    (DATA, "s3:ListBucket", FROM),
    (DATA, "s3:GetObject", FROM),
    (DATA, "s3:GetObject", INSIDE),
    (DATA, "s3:GetObjectTagging", INSIDE),
    (REPORTS, "s3:ListBucket", TO),
    (REPORTS, "s3:PutObject", TO),
    (REPORTS, "s3:PutObject", INSIDE),
    (REPORTS, "s3:PutObjectTagging", INSIDE),
    (REPORTS, "s3:GetObject", TO),
    (REPORTS, "s3:AbortMultipartUpload", TO),
    (f"key of {DATA}", "kms:Decrypt", FROM),
    (f"key of {DATA}", "kms:Decrypt", INSIDE),
    (f"key of {REPORTS}", "kms:GenerateDataKey", TO),
    (f"key of {REPORTS}", "kms:GenerateDataKey", INSIDE),
    (f"key of {REPORTS}", "kms:Decrypt", TO),
]
# A run passes without these: they look at an upload that nobody answered, and ask what a note says.
OWNERSHIP = "s3:GetBucketOwnershipControls"
SPARED = {(REPORTS, "s3:ListMultipartUploadParts"), (REPORTS, OWNERSHIP)}
BLOCK = re.compile(r'^```json title="([^"]+)"\n(.*?)^```$', re.MULTILINE | re.DOTALL)


def policies() -> dict[str, list[dict[str, Any]]]:
    """The statements of each policy of the page, by its title."""
    found = {title: json.loads(text) for title, text in BLOCK.findall(PAGE.read_text(encoding="utf-8"))}
    return {title: one.get("Statement", [one]) for title, one in found.items()}


def page() -> dict[str, list[dict[str, Any]]]:
    """Those that let the stack's own roles in; of a role of the other account: ``test_policies_of_a_role``."""
    return {title: said for title, said in policies().items() if not title.endswith(" of fanout-data")}


def listed(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else value


def parsed(title: str, statement: dict[str, Any], without: str) -> Statement:
    """A statement that lets the stack's role in, less an action."""
    assert statement["Condition"] == CONDITION
    assert statement["Principal"]["AWS"].split(":")[4] == ROLE.split(":")[4]
    actions = tuple(one for one in listed(statement["Action"]) if one != without)
    return Statement(title, statement["Effect"], actions, tuple(listed(statement["Resource"])), ())


def with_keys(head: Head, bucket: str, asked: list[Need]) -> Iterator[Need]:
    """What S3 needs for a request, and of the key with which it keeps the bucket's objects."""
    yield from asked
    actions = {one.action for one in asked if one.resource.startswith(f"arn:aws:s3:::{bucket}/")}
    if "s3:PutObject" in actions:
        yield Need("kms:GenerateDataKey", KEYS[bucket])
        if "uploadId" in head.target:
            yield Need("kms:Decrypt", KEYS[bucket])
    if "s3:GetObject" in actions and head.method == "GET":
        yield Need("kms:Decrypt", KEYS[bucket])
    if f"{DATA}/" in head.headers.get("x-amz-copy-source", ""):
        yield Need("kms:Decrypt", KEYS[DATA])


class Accounts:
    """Two buckets of another account, with the policies of the page less one right."""

    def __init__(self, wire: Wire) -> None:
        self.wire, self.without = wire, ("", "")
        wire.proxy.choose = self.judge

    def judge(self, head: Head) -> str:
        bucket = head.target.split("/")[1].partition("?")[0]
        if bucket not in KEYS or "authorization" not in head.headers:
            return ""
        asked = needs(head.method, f"http://s3{head.target}", dict(head.headers), b"")
        for need in with_keys(head, bucket, asked):
            if not is_allowed(need, [*self.statements(need)]):
                return f"403 AccessDenied {self.words(need)}"
        return ""

    def statements(self, need: Need) -> Iterator[Statement]:
        for title, statements in page().items():
            of_key = KEYS.get(title.removeprefix("key of ")) if title.startswith("key of ") else None
            if of_key in (None, need.resource):
                yield from (parsed(title, one, self.without[1] * (self.without[0] == title)) for one in statements)

    @staticmethod
    def words(need: Need) -> str:
        if not need.action.startswith("kms:"):
            return "Access Denied"
        why = "no resource-based policies allow access, or a resource-based policy explicitly denies access"
        on = f"{need.action} on resource: {need.resource}"
        return (
            f"User: {ROLE} is not authorized to perform: {on} because the resource does not exist in this Region, {why}"
        )


@pytest.fixture
def accounts(wire: Wire, s3: Any, tmp_path: Path) -> Iterator[Accounts]:
    files = {"a": b"a", "d/b": b"b" * 9_000_000}
    for bucket in KEYS:
        s3.create_bucket(Bucket=bucket)
    for name, data in files.items():
        s3.put_object(Bucket=DATA, Key=f"in/{name}", Body=data)
        (tmp_path / "data/in" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "data/in" / name).write_bytes(data)
    yield Accounts(wire)
    for bucket in KEYS:
        for one in s3.list_objects_v2(Bucket=bucket).get("Contents", []):
            s3.delete_object(Bucket=bucket, Key=one["Key"])
        s3.delete_bucket(Bucket=bucket)


def run(accounts: Accounts, s3: Any, cell: str, **options: Any) -> tuple[bool, str]:
    """Whether a run succeeds, and all that it says of what failed."""
    source, destination = ENDS[cell]
    request = {"source": source, "destination": destination, "verify": "all", **options}
    try:
        summary = accounts.wire.flow.run("run", request)
    except FanoutError as error:
        return False, str(error)
    found = s3.list_objects_v2(Bucket="work-bucket", Prefix="runs/run/").get("Contents", [])
    said = [s3.get_object(Bucket="work-bucket", Key=one["Key"])["Body"].read() for one in found]
    failures = [data.decode("utf-8", "replace") for one, data in zip(found, said, strict=True) if "fail" in one["Key"]]
    return summary["status"] == "SUCCEEDED", json.dumps(summary) + "".join(failures)


@pytest.mark.parametrize("cell", ENDS)
def test_the_policies_of_the_page_are_enough(accounts: Accounts, s3: Any, cell: str) -> None:
    succeeded, said = run(accounts, s3, cell)
    assert succeeded, said


@pytest.mark.parametrize(("title", "action", "cell"), TAKEN)
def test_a_right_that_is_taken_away_is_refused_by_name(
    accounts: Accounts, s3: Any, title: str, action: str, cell: str
) -> None:
    accounts.without = (title, action)
    succeeded, said = run(accounts, s3, cell)
    assert not succeeded
    assert action in said
    bucket = title.removeprefix("key of ")
    assert (KEYS[bucket] if title.startswith("key of ") else bucket) in said


@pytest.mark.parametrize(
    ("without", "said"),
    [
        ("", f"{REPORTS} will belong to account 123456789012, which writes them: its Object Ownership is ObjectWriter"),
        (OWNERSHIP, f"GetBucketOwnershipControls on s3://{REPORTS}/ is not permitted; allow {OWNERSHIP}"),
    ],
)
def test_whose_the_objects_will_be_is_noted_and_without_the_right_that_it_is_not_known(
    accounts: Accounts, s3: Any, without: str, said: str
) -> None:
    accounts.without = (REPORTS, without)
    succeeded, _ = run(accounts, s3, TO, destination_bucket={"expected_owner": "444455556666"})
    assert succeeded
    summary = json.load(s3.get_object(Bucket="work-bucket", Key="runs/run/summary.json")["Body"])
    assert [note for note in summary["notes"] if said in note and "object_acl" in note], summary["notes"]


def test_every_right_of_the_page_is_taken_away() -> None:
    known = {(title, action) for title, said in page().items() for one in said for action in listed(one["Action"])}
    assert known == {(title, action) for title, action, _ in TAKEN} | SPARED
