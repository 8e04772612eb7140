"""The roles of the stack hold what its functions and its state machine need, and each statement counts.

The emulator evaluates every call over TLS under the role of its caller.
docs/develop/local-stack.md says what it does not see.
"""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from fanout_cli.local import LocalPaths, LocalStack, find_toolchain
from tests.e2e.roles import NAME, UNSEEN, Role, also_allowed, denied, listed, permissions, roles_of
from tests.template.templates import resources

# Data lies in these buckets alone: a role that may read any bucket reads the ledger without the ledger's statement.
READ, WRITE, MOVES = "read-permission", "write-permission", "write-moves"
PARAMETERS = {
    "ReadBucketArns": f"arn:aws:s3:::read-*,arn:aws:s3:::{MOVES}",
    "WriteBucketArns": "arn:aws:s3:::write-*",
    "ComputedChecksums": "true",
    "EventBucketName": READ,
    "EventRequest": """'{"source":"s3://read-permission/none/","destination":"efs:///none"}'""",
    "ScheduleExpression": "'rate(1 day)'",
    "ScheduleState": "DISABLED",
    "ScheduleRequest": """'{"source":"s3://read-permission/none/","destination":"efs:///none"}'""",
}
ROLES = sorted(name for name, one in resources().items() if one["Type"] == "AWS::IAM::Role")
ONE_TASK = {
    "StartAt": "Only",
    "States": {
        "Only": {
            "Type": "Task",
            "Resource": "arn:aws:states:::lambda:invoke",
            "Parameters": {"FunctionName.$": "$.function", "Payload": {}},
            "End": True,
        }
    },
}
ONE_MAP = {
    "StartAt": "Only",
    "States": {
        "Only": {
            "Type": "Map",
            "ItemReader": {
                "Resource": "arn:aws:states:::s3:getObject",
                "ReaderConfig": {"InputType": "JSON"},
                "Parameters": {"Bucket.$": "$.bucket", "Key": "runs/items.json"},
            },
            "ItemProcessor": {
                "ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"},
                "StartAt": "Item",
                "States": {"Item": {"Type": "Pass", "End": True}},
            },
            "ResultWriter": {
                "Resource": "arn:aws:states:::s3:putObject",
                "Parameters": {"Bucket.$": "$.bucket", "Prefix": "runs/none/map-results/list"},
            },
            "End": True,
        }
    },
}


@pytest.fixture(scope="module")
def mount(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What stands for EFS."""
    return tmp_path_factory.mktemp("mount")


@pytest.fixture(scope="module")
def stack(state: Path, mount: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalStack]:
    """A stack with everything that has a role, and an object wherever a role may read one."""
    paths = LocalPaths.find(state=state)
    mounts = {"data": mount, "archive": tmp_path_factory.mktemp("archive")}
    with LocalStack(paths, find_toolchain(paths.repo), mounts, parameters=PARAMETERS) as stack:
        s3 = stack.clients.s3
        for bucket in (READ, WRITE, MOVES):
            s3.create_bucket(Bucket=bucket)
            s3.put_object(Bucket=bucket, Key=NAME, Body=b"")
            s3.put_object(Bucket=bucket, Key="in/a/b", Body=b"data")
        for prefix in ("runs", "staged", "locks", "locks/mounts", "probes"):
            s3.put_object(Bucket=stack.work_bucket, Key=f"{prefix}/{NAME}", Body=b"")
        s3.put_object(Bucket=stack.work_bucket, Key="runs/items.json", Body=b"[1,2]")
        yield stack


def run(stack: LocalStack, run_id: str, source: str, destination: str, **options: Any) -> Any:
    return stack.wait(stack.start_execution({"source": source, "destination": destination, **options}, run_id))


@pytest.mark.parametrize("name", ROLES)
def test_what_a_statement_of_a_role_allows_is_denied_without_it(stack: LocalStack, name: str) -> None:
    found = list(roles_of(stack, name))
    assert found
    for role in found:
        said = role.statements()
        client = role.client()
        for one in said:
            for action, arn in permissions(one):
                assert one["Effect"] == "Deny" or not denied(action, arn, client), (action, arn)
        with role.saying(said):
            for position, one in enumerate(said):
                if one["Effect"] == "Deny" or set(listed(one["Action"])) <= UNSEEN:
                    continue
                others = said[:position] + said[position + 1 :]
                role.say(others)
                own = [needed for needed in permissions(one) if not also_allowed(*needed, others)]
                assert own, f"nothing depends on {one}"
                for action, arn in own:
                    assert denied(action, arn, client), (action, arn)


@pytest.mark.parametrize(
    ("source", "destination", "options"),
    [
        (f"s3://{READ}/in/", "efs:///in", {"verify": "all"}),
        (f"s3://{READ}/in/", f"s3://{WRITE}/copy/", {"mode": "sync", "verify": "all"}),
        ("efs:///there", f"s3://{WRITE}/there/", {"verify": "all", "mode": "sync"}),
        ("efs:///there", "efs://archive/there", {"verify": "all"}),
        (f"s3://{MOVES}/moves/", "efs:///moves", {"mode": "move"}),
        ("efs:///moves", "efs://archive/moves", {"mode": "move"}),
    ],
)
def test_the_roles_suffice_for_a_run(
    stack: LocalStack, mount: Path, source: str, destination: str, options: dict[str, Any]
) -> None:
    for name in ("there", "moves"):
        (mount / name).mkdir(exist_ok=True)
        (mount / name / "file").write_bytes(b"data")
    for key in ("moves/d/", "moves/d/object"):
        stack.clients.s3.put_object(Bucket=MOVES, Key=key, Body=b"")
    s3, run_id = stack.clients.s3, f"suffices-{time.time_ns()}"
    bucket, _, prefix = destination.removeprefix("s3://").partition("/")
    if options.get("mode") == "sync":
        for name in ("a/b", "file", "extra"):
            s3.put_object(Bucket=bucket, Key=f"{prefix}{name}", Body=b"")
        options = {**options, "delete_guard": {"max_percent": 100}}
    ended = run(stack, run_id, source, destination, **options)
    assert ended["status"] == "SUCCEEDED", f"{ended.get('cause')}\n{failures(stack, run_id)}"
    if options.get("mode") == "sync":
        found = s3.list_objects_v2(Bucket=bucket, Prefix=prefix)["Contents"]
        assert f"{prefix}extra" not in {one["Key"] for one in found}
    if options.get("mode") == "move" and source.startswith("s3:"):
        assert "Contents" not in s3.list_objects_v2(Bucket=MOVES, Prefix="moves/")
    elif options.get("mode") == "move":
        assert list((mount / "moves").iterdir()) == []


def test_a_run_ends_with_the_name_of_what_the_role_of_a_function_lacks(stack: LocalStack) -> None:
    role = next(roles_of(stack, "GatherSegmentsRole"))
    with role.saying(lacking(role, "s3:GetObject")):
        # A small copy would not ask this function: what one function carries out gathers there.
        ended = run(stack, "lacks-the-ledger", f"s3://{READ}/in/", "efs:///", mode="verify")
    assert ended["status"] == "FAILED"
    assert "AccessDenied" in ended["cause"]


@pytest.mark.parametrize(
    ("definition", "action", "error"),
    [
        (ONE_TASK, "lambda:InvokeFunction", "Lambda.AWSLambdaException"),
        (ONE_MAP, "states:StartExecution", "States.Permissions"),
        (ONE_MAP, "s3:GetObject", "States.ItemReaderFailed"),
        (ONE_MAP, "s3:PutObject", "States.ResultWriterFailed"),
    ],
)
def test_a_state_machine_does_only_what_its_role_allows(
    stack: LocalStack, definition: Any, action: str, error: str
) -> None:
    steps, machine = stack.clients.stepfunctions, stack.state_machine_arn
    real = steps.describe_state_machine(stateMachineArn=machine)["definition"]
    steps.update_state_machine(stateMachineArn=machine, definition=json.dumps(definition))
    given = {"bucket": stack.work_bucket, "function": stack.outputs["PlanTransferFunction"]}
    try:
        allowed = stack.wait(stack.start_execution(given, f"allowed-{time.time_ns()}"))
        role = next(roles_of(stack, "TransferRole"))
        with role.saying(lacking(role, action)):
            refused = stack.wait(stack.start_execution(given, f"refused-{time.time_ns()}"))
    finally:
        steps.update_state_machine(stateMachineArn=machine, definition=real)
    assert "AccessDenied" not in allowed.get("cause", "")
    assert (refused["status"], refused["error"]) == ("FAILED", error)
    assert "AccessDenied" in refused["cause"]


def test_the_work_bucket_is_closed_without_tls(stack: LocalStack) -> None:
    s3 = next(roles_of(stack, "PlanTransferRole")).client()("s3")
    wanted = {"Bucket": stack.work_bucket, "Key": f"runs/{NAME}"}
    assert s3.get_object(**wanted)["Body"].read() == b""

    def came_without_tls(request: Any, **_: Any) -> None:
        request.headers["x-forwarded-proto"] = "http"  # as the emulator hears of it from a proxy

    s3.meta.events.register("before-sign.s3", came_without_tls)
    with pytest.raises(ClientError, match="AccessDenied"):
        s3.get_object(**wanted)


def test_the_stack_answers_over_tls_alone(stack: LocalStack) -> None:
    assert stack.endpoint.startswith("https://")
    plain = http.client.HTTPConnection(stack.endpoint.removeprefix("https://"), timeout=5)
    with pytest.raises((http.client.HTTPException, OSError)):
        plain.request("GET", "/_ministack/health")
        plain.getresponse()
    plain.close()


def failures(stack: LocalStack, run_id: str) -> str:
    """What failed in a run, with its reasons."""
    s3, wanted = stack.clients.s3, {"Bucket": stack.work_bucket, "Key": f"runs/{run_id}/failures.jsonl"}
    try:
        return str(s3.get_object(**wanted)["Body"].read().decode())
    except s3.exceptions.NoSuchKey:
        return ""


def lacking(role: Role, action: str) -> list[Any]:
    """What a role says, less an action."""
    less = [{**said, "Action": [one for one in listed(said["Action"]) if one != action]} for said in role.statements()]
    return [said for said in less if said["Action"]]
