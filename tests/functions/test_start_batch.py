"""A batch of events becomes a manifest and one run, which copies exactly what the events name."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import boto3
import pytest

from fanout.model.errors import InvalidRequest
from fanout.runtime import clients
from tests.functions.conftest import Invoke
from tests.functions.test_handlers import started
from tests.planning.test_event_batches import eventbridge, notification

TEMPLATE = {"source": "s3://data-bucket/in/", "destination": "efs:///out"}
WAITS = {"StartAt": "Wait", "States": {"Wait": {"Type": "Wait", "Seconds": 600, "End": True}}}


@pytest.fixture
def steps(s3: Any, s3_url: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Step Functions of the same server, with a state machine that batches start."""
    make: Any = boto3.client
    client = make("stepfunctions", endpoint_url=s3_url, region_name="us-east-1")
    role = "arn:aws:iam::123456789012:role/transfer"
    machine = client.create_state_machine(name="batches", definition=json.dumps(WAITS), roleArn=role)
    for found in client.list_executions(stateMachineArn=machine["stateMachineArn"])["executions"]:
        client.stop_execution(executionArn=found["executionArn"])
    monkeypatch.setenv("FANOUT_STATE_MACHINE", machine["stateMachineArn"])
    monkeypatch.setenv("FANOUT_EVENT_REQUEST", json.dumps(TEMPLATE))
    clients.settings.cache_clear()
    return client


def queued(*bodies: str, name: str = "m") -> dict[str, Any]:
    return {"Records": [{"messageId": f"{name}-{number}", "body": body} for number, body in enumerate(bodies)]}


def runs(steps: Any) -> list[dict[str, Any]]:
    machine = os.environ["FANOUT_STATE_MACHINE"]  # other tests make some of their own on the same server
    found = steps.list_executions(stateMachineArn=machine, statusFilter="RUNNING")["executions"]
    return [steps.describe_execution(executionArn=one["executionArn"]) for one in found]


def inside(key: str) -> str:
    return json.dumps(json.loads(eventbridge(key, bucket="data-bucket")))


def test_a_batch_is_one_run_that_copies_what_came_and_nothing_else(
    s3: Any, steps: Any, invoke: Invoke, tmp_path: Path
) -> None:
    for key in ("in/d/a b+c", "in/ü", "in/untold", "other/x"):
        s3.put_object(Bucket="data-bucket", Key=key, Body=key.encode())
    encoded = notification("in/d/a b+c").replace("my-data", "data-bucket")
    gone = eventbridge("in/gone", "02", "Object Deleted", "data-bucket")
    answer = invoke(
        "StartBatch", queued(encoded, encoded, inside("in/ü"), inside("in/gone"), gone, inside("other/x"), "what?")
    )
    assert answer == {"batchItemFailures": [{"itemIdentifier": "m-6"}]}
    [run] = runs(steps)
    request = json.loads(run["input"])
    manifest = f"runs/batches/{run['name']}.jsonl"
    assert request == {**TEMPLATE, "manifest": f"s3://work-bucket/{manifest}"}
    rows = s3.get_object(Bucket="work-bucket", Key=manifest)["Body"].read().splitlines()
    assert [json.loads(row) for row in rows] == [{"key": key, "may_be_missing": True} for key in ("in/d/a b+c", "in/ü")]

    # The request is one that the plan takes, and the run copies these two.
    state = invoke("PlanTransfer", {"request": request, **started(run["name"])})
    invoke("CheckMount", {"run": state["run"]})
    invoke("ListSegment", {"run": state["run"], "segment": state["list"]["segment"]})
    state["list"] = invoke("GatherSegments", state)
    shards = invoke("PartitionShards", {"run": state["run"]})
    listed = json.loads(s3.get_object(Bucket="work-bucket", Key=shards["key"])["Body"].read())
    for row in listed:
        invoke("CopyShard", {"run": state["run"], "shard": row["shard"], "cursor": 0})
    copied = {str(path.relative_to(tmp_path / "out")) for path in (tmp_path / "out").rglob("*") if path.is_file()}
    assert copied == {"d/a b+c", "ü"}


def test_a_batch_that_is_delivered_twice_is_one_run(s3: Any, steps: Any, invoke: Invoke) -> None:
    batch = queued(inside("in/a"), name="twice")
    assert invoke("StartBatch", batch) == invoke("StartBatch", batch) == {"batchItemFailures": []}
    assert len(runs(steps)) == 1


def test_a_batch_of_which_nothing_is_left_starts_nothing(s3: Any, steps: Any, invoke: Invoke) -> None:
    gone = eventbridge("in/a", "02", "Object Deleted", "data-bucket")
    assert invoke("StartBatch", queued(inside("in/a"), gone, inside("in/"))) == {"batchItemFailures": []}
    assert runs(steps) == [] and "Contents" not in s3.list_objects_v2(Bucket="work-bucket", Prefix="runs/batches/")


@pytest.mark.parametrize(
    ("template", "words"),
    [
        ("", "EventRequest: is not JSON"),
        ("[]", "EventRequest: names no source"),
        ('{"source": "efs:///x", "destination": "efs:///y"}', "EventRequest.source"),
        # Events name the bucket, so every one of them would be outside the source, and nothing would say so.
        (json.dumps({**TEMPLATE, "source": "s3://in-abc123-s3alias/in/"}), "EventRequest.source: .* behind it"),
        (json.dumps({**TEMPLATE, "manifest": "s3://a-bucket/m.csv"}), "EventRequest.manifest"),
        (json.dumps({**TEMPLATE, "resume_from": "run-1"}), "EventRequest.resume_from"),
        # PlanTransfer would refuse these, and the events would be lost.
        (json.dumps({**TEMPLATE, "mode": "sync"}), "EventRequest.manifest"),
        (json.dumps({**TEMPLATE, "publish": {"link": "current"}}), "EventRequest.publish|EventRequest.manifest"),
        (json.dumps({**TEMPLATE, "verfy": "all"}), "EventRequest.verfy"),
        (json.dumps({**TEMPLATE, "destination": "out/"}), "EventRequest.destination"),
        (json.dumps({"source": TEMPLATE["source"]}), "EventRequest.destination"),
        (json.dumps({**TEMPLATE, "limits": {"max_concurrency": 10**6}}), "EventRequest.limits.max_concurrency"),
    ],
)
def test_a_request_that_no_batch_can_have_fails_so_that_no_message_is_lost(
    steps: Any, invoke: Invoke, monkeypatch: pytest.MonkeyPatch, template: str, words: str
) -> None:
    monkeypatch.setenv("FANOUT_EVENT_REQUEST", template)
    clients.settings.cache_clear()
    with pytest.raises(InvalidRequest, match=words):
        invoke("StartBatch", queued(inside("in/a")))
    assert runs(steps) == []


def test_an_event_made_by_hand_chooses_keys_below_the_source_and_nothing_else(
    s3: Any, steps: Any, invoke: Invoke
) -> None:
    """Whoever may invoke the function, or send to its queue, starts the stack's own request."""
    told = json.loads(inside("in/a"))
    request = {
        "source": "s3://other/",
        "destination": "efs:///elsewhere",
        "mode": "sync",
        "manifest": "s3://other/m.csv",
    }
    for place in (told, told["detail"], told["detail"]["object"], told["detail"]["bucket"]):
        place |= {"request": request, **request, "run_id": "nightly"}
    bodies = [json.dumps(told), eventbridge("x", bucket="other"), inside("in/../x"), inside("other/x")]
    event = queued(*bodies, name="../../nightly") | {"request": request, "run_id": "nightly"}
    event |= {"machine": "arn:aws:states:us-east-1:123456789012:stateMachine:another", "bucket": "other", **request}
    invoke("StartBatch", event)
    [run] = runs(steps)
    manifest = f"runs/batches/{run['name']}.jsonl"
    assert json.loads(run["input"]) == {**TEMPLATE, "manifest": f"s3://work-bucket/{manifest}"}
    rows = s3.get_object(Bucket="work-bucket", Key=manifest)["Body"].read().splitlines()
    assert [json.loads(row)["key"] for row in rows] == ["in/../x", "in/a"]
    assert "nightly" not in run["name"] and "/" not in run["name"]
