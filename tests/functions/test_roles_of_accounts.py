"""A role of another account, through the handlers: who signs for which bucket, and what is refused by name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import boto3
import pytest

from fanout.adapters.aws import session_policy
from fanout.model.errors import AccessDenied, InvalidRequest
from fanout.runtime import clients
from tests.functions.cells import fill, held, remove, runs_or_is_refused
from tests.support.handler_flow import HandlerFlow
from tests.support.http import Head
from tests.support.wire import SOURCE, TARGET, Wire

ROLE = "arn:aws:iam::444455556666:role/their-data"
THEIRS = "their-bucket"
FILES = {"a": b"a", "d/b": b"bb"}
OWN = "123456789012"
OWN_KEY = "Credential=testing/"
ENDS = {"theirs": f"s3://{THEIRS}/{{}}/", "ours": f"s3://{TARGET}/{{}}/", "mount": "efs:///{}"}
OF_END = {"source_bucket": {"role": ROLE, "external_id": "for-fanout"}}
NO_WAY = "assumes no role (WayOut=none)"
CELLS = [
    *(("none", *ends, NO_WAY) for ends in (("theirs", "ours"), ("ours", "theirs"), ("theirs", "mount"))),
    *(("buckets", *ends, "") for ends in (("theirs", "ours"), ("ours", "theirs"))),
    *(("buckets", *ends, "from buckets alone") for ends in (("theirs", "mount"), ("mount", "theirs"))),
    *(("mounts", *ends, "") for ends in (("theirs", "ours"), ("theirs", "mount"), ("mount", "theirs"))),
]


@pytest.fixture
def accounts(wire: Wire, s3: Any, s3_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Wire]:
    """A bucket of another account, which lets in that account alone, and no service but S3 in a network."""
    monkeypatch.setenv("FANOUT_ROLES", ROLE)
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", s3_url)
    clients._assumed.cache_clear()
    sts: Any = boto3.client("sts", endpoint_url=s3_url, region_name="us-east-1")
    given = sts.assume_role(RoleArn=ROLE, RoleSessionName="test")["Credentials"]
    names = {"access_key_id": "AccessKeyId", "secret_access_key": "SecretAccessKey", "session_token": "SessionToken"}
    keys = {f"aws_{name}": given[value] for name, value in names.items()}
    their: Any = boto3.client("s3", endpoint_url=s3_url, region_name="us-east-1", **keys)
    their.create_bucket(Bucket=THEIRS)

    def judge(head: Head) -> str:
        wire.keep(head)
        is_own = OWN_KEY in head.headers.get("authorization", OWN_KEY)
        return "403 AccessDenied" if head.target.startswith(f"/{THEIRS}/?") and is_own and head.method != "HEAD" else ""

    wire.proxy.choose = judge
    yield wire
    remove(s3, THEIRS, their)
    clients._assumed.cache_clear()


@pytest.mark.parametrize(("way", "source", "destination", "refused"), CELLS)
def test_a_cell_is_green_or_refused_by_name(
    accounts: Wire,
    s3: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    way: str,
    source: str,
    destination: str,
    refused: str,
) -> None:
    monkeypatch.setenv("FANOUT_WAY_OUT", way)
    fill(s3, tmp_path / "data" if source == "mount" else THEIRS if source == "theirs" else TARGET, FILES)
    field = "source_bucket" if source == "theirs" else "destination_bucket"
    request = {"source": ENDS[source].format("in"), "destination": ENDS[destination].format("out"), "verify": "all"}
    request[field] = {"role": ROLE, "external_id": "for-fanout"}  # type: ignore[assignment]
    if not runs_or_is_refused(accounts, request, refused, (f"{field}.role",)):
        return
    signed = {
        bucket: {OWN_KEY in one.headers["authorization"] for one in accounts.of(bucket)}
        for bucket in (THEIRS, TARGET, "work-bucket")
    }
    assert signed[THEIRS] == {False} and signed["work-bucket"] == {True}
    assert "mount" in (source, destination) or signed[TARGET] == {False}  # S3 copies for one identity


def test_a_role_that_the_stack_does_not_name_is_refused(accounts: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FANOUT_WAY_OUT", "buckets")
    other = f"{ROLE}-too"
    request = {"source": f"s3://{THEIRS}/in/", "destination": f"s3://{SOURCE}/out/", "source_bucket": {"role": other}}
    with pytest.raises(InvalidRequest, match=f"{other} is not of the stack's AssumableRoleArns") as caught:
        accounts.flow.plan("other", request)
    assert caught.value.field == "source_bucket.role"
    assert HandlerFlow.running == ""


def test_the_bucket_of_another_account_is_refused_to_the_stack_s_own_role(accounts: Wire) -> None:
    with pytest.raises(Exception, match=f"ListObjectsV2 on s3://{THEIRS}"):
        accounts.flow.plan("own", {"source": f"s3://{THEIRS}/in/", "destination": "efs:///out"})


@pytest.mark.parametrize(
    ("others", "bound"),
    [("", [OWN, "444455556666"]), ("777788889999", [OWN, "444455556666", "777788889999"]), ("any", None)],
)
def test_a_session_of_the_role_is_bound_to_the_accounts_that_the_stack_names(
    accounts: Wire, monkeypatch: pytest.MonkeyPatch, others: str, bound: list[str] | None
) -> None:
    monkeypatch.setenv("FANOUT_OTHER_ACCOUNTS", others)
    monkeypatch.setenv("FANOUT_WAY_OUT", "buckets")
    asked: list[Sequence[str]] = []
    real = session_policy.session_policy

    def policy(accounts: Sequence[str], *others: Any) -> str:
        asked.append(accounts)
        return real(accounts, *others)

    monkeypatch.setattr(session_policy, "session_policy", policy)
    request = {"source": f"s3://{THEIRS}/in/", "destination": f"s3://{TARGET}/out/", "allow_empty_source": True}
    accounts.flow.plan("bound", {**request, **OF_END})
    assert {tuple(one) for one in asked} == {tuple(bound or ())}


def test_a_role_for_which_a_later_function_has_no_session_is_refused_before_anything_is_made(
    accounts: Wire, s3: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The policy of PlanTransfer's own session is short enough with these accounts, and that of ShortWay is not."""
    monkeypatch.setenv("FANOUT_OTHER_ACCOUNTS", ",".join(f"{number:012d}" for number in range(75)))
    monkeypatch.setenv("FANOUT_WAY_OUT", "buckets")
    request = {"source": f"s3://{THEIRS}/in/", "destination": f"s3://{TARGET}/out/", "mode": "sync", **OF_END}
    with pytest.raises(InvalidRequest, match="OtherBucketAccountIds") as caught:
        accounts.flow.plan("too-many", request)
    assert (caught.value.field, TARGET in str(caught.value)) == ("source_bucket.role", True)
    assert not [one for one in accounts.of(THEIRS) + accounts.of(TARGET) if "authorization" in one.headers]
    assert "Contents" not in s3.list_objects_v2(Bucket="work-bucket", Prefix="runs/too-many/")
    assert "Contents" not in s3.list_objects_v2(Bucket="work-bucket", Prefix="locks/")


@pytest.mark.parametrize("step", ["CopyShard", "BeginVerification", "DeleteShard"])
def test_a_move_whose_role_is_taken_away_deletes_nothing_unproven_and_goes_on_later(
    accounts: Wire, s3: Any, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    monkeypatch.setenv("FANOUT_WAY_OUT", "buckets")
    fill(s3, THEIRS, FILES)
    judge, taken = accounts.proxy.choose, list[str]()

    def judged(head: Head) -> str:
        is_data = not head.target.startswith("/work-bucket") and "authorization" in head.headers
        return "403 AccessDenied" if taken and is_data else judge(head)

    accounts.proxy.choose = judged
    accounts.flow.before[step] = lambda: taken.append(step)
    request = {"source": f"s3://{THEIRS}/in/", "destination": f"s3://{TARGET}/out/", "mode": "move", **OF_END}
    with pytest.raises(AccessDenied, match=f"on s3://({THEIRS}|{TARGET})/"):
        accounts.flow.run("taken", request)
    assert taken == [step]
    assert held(s3, THEIRS, "in/") == FILES
    taken.clear()
    found = accounts.flow.run("again", {"resume_from": "taken"})
    assert found["status"] == "SUCCEEDED"
    assert "Contents" not in s3.list_objects_v2(Bucket=THEIRS)
    assert held(s3, TARGET) == FILES
