"""Whole runs by a role of another account: each request is held against the policy of the session that signs it.

The role itself may do everything, so what a run lacks is lacking in the session's policy.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest
from botocore.awsrequest import AWSPreparedRequest
from botocore.httpsession import URLLib3Session

from fanout.adapters.aws.session_policy import POLICY_CHARACTERS
from fanout.runtime import clients
from tests.functions.cells import fill, held, remove
from tests.support.actions import Need, needs
from tests.support.handler_flow import HandlerFlow
from tests.support.http import Head
from tests.support.iam import is_allowed, statements_in
from tests.support.wire import Wire

ROLE = "arn:aws:iam::444455556666:role/their-data"
DATA, REPORTS, LISTS = "their-data", "their-reports", "lists/a.csv"
FILES = {"a": b"a", "d/b": b"bb", "d/deep/c": b"", "big": b"b" * 9_000_000}
BY_ROLE = {"role": ROLE, "external_id": "for-fanout"}
TO, BACK = (f"s3://{DATA}/in/", f"s3://{REPORTS}/out/"), (f"s3://{REPORTS}/in/", f"s3://{DATA}/out/")
WITHIN = (f"s3://{DATA}/in/", f"s3://{DATA}/out/")
FROM_S3, TO_S3 = (f"s3://{DATA}/in/", "efs:///out"), ("efs:///in", f"s3://{REPORTS}/out/")
OTHER_NAME = (f"s3://{DATA}/in/", f"s3://{REPORTS}/in/")
# Where objects are deleted: a move's source, a sync's destination.
PREFIXES = {DATA: "in/", REPORTS: "out/"}
ALL = {"verify": "all"}
RUNS: dict[str, tuple[tuple[str, str], dict[str, Any]]] = {
    "copy": (TO, ALL),
    "copy back": (BACK, ALL),
    "copy within one bucket": (WITHIN, ALL),
    "copy below one prefix": (OTHER_NAME, ALL),
    "copy from a bucket to a mount": (FROM_S3, ALL),
    "copy from a mount to a bucket": (TO_S3, ALL),
    "sync": (TO, {"mode": "sync"}),
    "sync to a bucket from a mount": (TO_S3, {"mode": "sync"}),
    "move": (TO, {"mode": "move"}),
    "move to a mount": (FROM_S3, {"mode": "move"}),
    "move from a mount": (TO_S3, {"mode": "move"}),
    "tags and ACL": (TO, {"object_tags": {"team": "b"}, "object_acl": "bucket-owner-full-control"}),
    "restore": (TO, {"archived": "restore"}),
    "manifest": (TO, {"manifest": f"s3://{DATA}/{LISTS}"}),
    "plan": (TO, {"mode": "plan"}),
}


class Sessions:
    """The sessions that were assumed, each with its policy, and what was refused to them."""

    def __init__(self, wire: Wire) -> None:
        self.policies: dict[str, str] = {}
        self.names: list[tuple[str, str]] = []
        self.refused: list[tuple[str, Need]] = []
        self.asked: Counter[str] = Counter()
        wire.proxy.choose = self.judge

    def add(self, body: str, answer: str) -> None:
        """A session that the service gave."""
        asked = {name: values[0] for name, values in parse_qs(body).items()}
        if asked.get("Action") == "AssumeRole":
            [key] = re.findall("<AccessKeyId>(.+?)</AccessKeyId>", answer)
            self.policies[key] = asked["Policy"]
            self.names.append((HandlerFlow.running, asked["RoleSessionName"]))

    def judge(self, head: Head) -> str:
        """The answer of S3, by the session's policy alone."""
        bucket = head.target.lstrip("/").partition("/")[0].partition("?")[0]
        if bucket not in (DATA, REPORTS) or "authorization" not in head.headers:
            return ""
        [key] = re.findall(r"Credential=([^/]+)/", head.headers["authorization"])
        self.asked[key] += 1
        statements = statements_in(json.loads(self.policies[key]))
        account = {"aws:ResourceAccount": "444455556666"}
        asked = needs(head.method, f"http://s3{head.target}", dict(head.headers), b"")
        if head.method == "POST" and "?delete" in head.target:  # the keys are in the body, which is not seen
            asked = [Need("s3:DeleteObject", f"arn:aws:s3:::{bucket}/{PREFIXES[bucket]}d/x")]
        assert asked
        wrong = [
            one
            for one in asked
            if not is_allowed(Need(one.action, one.resource, {**one.context, **account}), statements)
        ]
        self.refused += [(HandlerFlow.running, one) for one in wrong]
        return "403 AccessDenied Access Denied" if wrong else ""


@pytest.fixture
def sessions(wire: Wire, s3: Any, s3_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Sessions]:
    found, send = Sessions(wire), URLLib3Session.send

    def sending(self: URLLib3Session, request: AWSPreparedRequest) -> Any:
        answer = send(self, request)
        body = request.body.decode() if isinstance(request.body, bytes) else str(request.body)
        if "Action=AssumeRole" in body:
            found.add(body, answer.content.decode())
        return answer

    for name, value in (("ROLES", ROLE), ("WAY_OUT", "mounts")):
        monkeypatch.setenv(f"FANOUT_{name}", value)
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", s3_url)
    clients._assumed.cache_clear()
    for bucket in (DATA, REPORTS):
        s3.create_bucket(Bucket=bucket)
    monkeypatch.setattr(URLLib3Session, "send", sending)
    yield found
    for bucket in (DATA, REPORTS):
        remove(s3, bucket)
    clients._assumed.cache_clear()


def prepared(s3: Any, tmp_path: Path, named: str) -> dict[str, Any]:
    """The request of a run, after its source is filled."""
    (source, destination), options = RUNS[named]
    bucket = source.removeprefix("s3://").partition("/")[0]
    fill(s3, tmp_path / "data" if source.startswith("efs") else bucket, FILES)
    request = {"source": source, "destination": destination, **options}
    for field, end in (("source_bucket", source), ("destination_bucket", destination)):
        if end.startswith("s3"):
            request[field] = BY_ROLE
    if named == "tags and ACL" or named == "move":
        tags = {"TagSet": [{"Key": "k", "Value": "v"}]}
        s3.put_object_tagging(Bucket=DATA, Key="in/a", Tagging=tags)
    if named == "restore":
        s3.put_object(Bucket=DATA, Key="in/cold", Body=b"cold", StorageClass="GLACIER")
    if named == "manifest":
        s3.put_object(Bucket=DATA, Key=LISTS, Body=b"key\nin/a\nin/d/b\n")
    if options.get("mode") == "sync":
        for name in ("a", "extra", "d/extra", "gone/"):
            s3.put_object(Bucket=REPORTS, Key=f"out/{name}", Body=b"")
        request["delete_guard"] = {"max_count": 10, "max_percent": 100}
    return request


@pytest.mark.parametrize("short", [False, True])
@pytest.mark.parametrize("named", RUNS)
def test_a_run_passes_with_the_sessions_of_its_functions(
    sessions: Sessions, wire: Wire, s3: Any, tmp_path: Path, named: str, short: bool
) -> None:
    wire.flow.short = short
    request = prepared(s3, tmp_path, named)
    found = wire.flow.run("run-1", request)
    assert (sessions.refused, found["status"]) == ([], "SUCCEEDED")
    assert sessions.policies and all(len(one) <= POLICY_CHARACTERS for one in sessions.policies.values())
    assert max(Counter(sessions.names).values()) == 1, "a function assumes the role once a run"
    for function, name in sessions.names:
        assert name == f"fanout.{function.removesuffix('Function')}.run-1"
    if named in ("copy", "sync", "move"):
        assert {one: data for one, data in held(s3, REPORTS).items() if one in FILES} == FILES
    if request.get("mode") == "sync":
        assert not {"extra", "d/extra"} & set(held(s3, REPORTS))
    if request.get("mode") == "move" and request["source"].startswith("s3"):
        assert held(s3, DATA, "in/") == {}


def test_two_runs_in_one_process_have_sessions_of_their_own(
    sessions: Sessions, wire: Wire, s3: Any, tmp_path: Path
) -> None:
    request = prepared(s3, tmp_path, "copy")
    for run_id in ("run-1", "run-2"):
        assert wire.flow.run(run_id, request)["status"] == "SUCCEEDED"
    assert {name.rpartition(".")[2] for _, name in sessions.names} == {"run-1", "run-2"}
    by_run = Counter(name.rpartition(".")[2] for _, name in sessions.names)
    assert by_run["run-1"] >= by_run["run-2"] > 0


def test_a_comparison_alone_writes_nothing_and_passes(sessions: Sessions, wire: Wire, s3: Any, tmp_path: Path) -> None:
    request = prepared(s3, tmp_path, "copy")
    assert wire.flow.run("run-1", request)["status"] == "SUCCEEDED"
    del request["verify"]
    assert wire.flow.run("run-2", {**request, "mode": "verify"})["status"] == "SUCCEEDED"
    assert sessions.refused == []
