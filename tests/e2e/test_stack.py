"""The deployed stack: StartExecution in, destination and ledger out, and what it does under faults."""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Stack
from tests.e2e.processes import environment_of, listening_addresses

pytestmark = pytest.mark.e2e
HOSTILE = ["../x", "/abs", "a//b", "a/./b", "n" * 256, "f/below"]


def fill(local: Stack, bucket: str, objects: dict[str, bytes]) -> None:
    s3 = local.stack.clients.s3
    s3.create_bucket(Bucket=bucket)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda item: s3.put_object(Bucket=bucket, Key=item[0], Body=item[1]), objects.items()))


def run(local: Stack, run_id: str, source: str, destination: str, **options: Any) -> dict[str, Any]:
    request = {"source": source, "destination": destination, **options}
    return local.stack.wait(local.stack.start_execution(request, run_id))


def ledger(local: Stack, run_id: str, name: str) -> Any:
    body = local.stack.clients.s3.get_object(Bucket=local.stack.work_bucket, Key=f"runs/{run_id}/{name}")["Body"].read()
    return [json.loads(line) for line in body.splitlines()] if name.endswith("l") else json.loads(body)


def files(directory: Path) -> dict[str, bytes]:
    return {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def task_starts(local: Stack, function: str) -> Counter[str]:
    """How often each shard was begun, from the function's own log."""
    logs = local.stack.clients.logs
    groups = [group["logGroupName"] for group in logs.describe_log_groups()["logGroups"]]
    [group] = [name for name in groups if function in name and "Second" not in name]
    starts: Counter[str] = Counter()
    for page in logs.get_paginator("filter_log_events").paginate(logGroupName=group):
        for event in page["events"]:
            for line in event["message"].splitlines():
                if '"task_began"' in line:
                    starts[json.loads(line[line.index("{") :])["shard_id"]] += 1
    return starts


def test_there_and_back_through_the_deployed_state_machine(local: Stack) -> None:
    objects = {f"in/d{number % 5}/f{number}": b"x" * number for number in range(60)} | {"in/big": b"b" * 20_000_000}
    fill(local, "there", objects)
    split = {"split_bytes": 8 * 1024 * 1024, "shard_seconds": 0.1}
    there = run(local, "there", "s3://there/in/", "efs:///there", limits=split)
    assert there["status"] == "SUCCEEDED"
    assert files(local.mount / "there") == {key.removeprefix("in/"): body for key, body in objects.items()}
    assert len([row for row in ledger(local, "there", "shards.json") if "blocks" in row["shard"]]) == 3
    back = run(local, "back", "efs:///there", "s3://there/back/", limits=split, verify="all")
    assert back["status"] == "SUCCEEDED"
    verification = ledger(local, "back", "summary.json")["verification"]
    assert verification["source_digest"] == verification["destination_digest"]
    assert verification["compared"]["entries"] == 61 + 5
    only = run(local, "only", "s3://there/in/", "efs:///there", mode="verify")
    assert only["status"] == "SUCCEEDED"
    copied = run(local, "copied", "s3://there/in/", "efs:///again", limits=split, verify="copied")
    assert copied["status"] == "SUCCEEDED"
    assert ledger(local, "copied", "summary.json")["verification"]["compared"]["entries"] == 61
    summary = ledger(local, "back", "summary.json")
    assert summary["totals"]["copied"] == {"entries": 61 + 5, "bytes": sum(map(len, objects.values()))}
    s3 = local.stack.clients.s3
    for key, body in objects.items():
        found = s3.get_object(Bucket="there", Key=key.replace("in/", "back/", 1), ChecksumMode="ENABLED")
        assert found["Body"].read() == body
        assert found["ChecksumCRC64NVME"]


def test_from_one_directory_of_the_mount_to_another_with_links_and_holes(local: Stack) -> None:
    source = local.mount / "linked"
    (source / "d").mkdir(parents=True)
    (source / "a").write_text("content")
    os.link(source / "a", source / "d/b")
    (source / "c").symlink_to("a")
    with (source / "holes").open("wb") as file:
        file.truncate(2**30)
    ended = run(local, "linked", "efs:///linked", "efs:///linked-copy")
    assert ended["status"] == "SUCCEEDED"
    copy = local.mount / "linked-copy"
    assert (copy / "a").stat().st_ino == (copy / "d/b").stat().st_ino != (source / "a").stat().st_ino
    assert os.readlink(copy / "c") == "a"
    assert ((copy / "holes").stat().st_size, (copy / "holes").stat().st_blocks) == (2**30, 0)
    assert (copy / "d").stat().st_mtime_ns == (source / "d").stat().st_mtime_ns
    followed = run(local, "followed", "efs:///linked", "efs:///followed", symlinks="follow")
    assert followed["status"] == "SUCCEEDED"
    assert (local.mount / "followed/c").read_text() == "content"
    assert not (local.mount / "followed/c").is_symlink()


def test_the_states_pass_references_only(local: Stack) -> None:
    fill(local, "small", {f"in/{'long-name-' * 20}{number}": b"" for number in range(200)})
    ended = run(local, "references", "s3://small/in/", "efs:///references")
    client = local.stack.clients.stepfunctions
    events = client.get_execution_history(executionArn=ended["executionArn"], maxResults=1000)["events"]
    details = [value for event in events for value in event.values() if isinstance(value, dict)]
    payloads = [len(detail[name]) for detail in details for name in ("input", "output") if name in detail]
    assert payloads
    assert max(payloads) < 4_000


def test_hostile_keys_are_rejected_and_nothing_lies_outside_the_root(local: Stack) -> None:
    before = set(local.mount.iterdir())
    fill(local, "hostile", {f"in/{key}": b"!" for key in [*HOSTILE, "f", "good"]})
    ended = run(local, "hostile", "s3://hostile/in/", "efs:///hostile")
    assert (ended["status"], ended["error"]) == ("FAILED", "FailedWithItems")
    assert sorted(row["path"] for row in ledger(local, "hostile", "failures.jsonl")) == sorted(HOSTILE)
    assert ledger(local, "hostile", "summary.json")["balanced"]
    assert files(local.mount / "hostile") == {"f": b"!", "good": b"!"}
    assert set(local.mount.iterdir()) - before == {local.mount / "hostile"}


@pytest.mark.parametrize(
    ("name", "request_", "error", "says"),
    [
        ("no-bucket", ("s3://not-there/in/", "efs:///x"), "InvalidRequest", "not-there"),
        ("no-directory", ("efs:///not-there", "s3://refused/x/"), "InvalidRequest", "not a directory of the mount"),
        ("no-mount", ("s3://refused/in/", "efs://nas/x"), "InvalidRequest", "unknown mount"),
        ("no-permission", ("s3://refused/in/", "efs://sealed/x"), "AccessDenied", "access point's identity"),
        ("inside-itself", ("efs:///a", "efs:///a/b"), "InvalidRequest", "inside"),
    ],
)
def test_what_can_not_be_done_is_refused_by_name(
    local: Stack, name: str, request_: tuple[str, str], error: str, says: str
) -> None:
    if not name.startswith("no-bucket"):
        fill(local, "refused", {"in/a": b"a"})
    ended = run(local, name, *request_)
    assert (ended["status"], ended["error"]) == ("FAILED", error)
    assert says in ended["cause"]
    assert not (local.mount / "x").exists()


def test_a_killed_worker_costs_a_retry_of_its_shard_and_nothing_else(local: Stack) -> None:
    objects = {f"in/d{number % 9}/f{number}": b"k" * 6000 for number in range(4000)}
    fill(local, "killed", objects)
    before = task_starts(local, "CopyShard")
    request = {
        "source": "s3://killed/in/",
        "destination": "efs:///killed",
        # One worker at a time: when a file is there, it is the one in the middle of a shard. A run in a window has a
        # function for each shard, however small it is.
        "limits": {"shard_seconds": 0.3, "max_concurrency": 1, "window": open_now()},
    }
    execution = local.stack.start_execution(request, "killed")
    wait_for_a_file(local.mount / "killed")
    assert local.workers.kill_busy("CopyShard", within_seconds=10)
    ended = local.stack.wait(execution)
    assert ended["status"] == "SUCCEEDED"
    assert files(local.mount / "killed") == {key.removeprefix("in/"): body for key, body in objects.items()}
    starts = task_starts(local, "CopyShard") - before
    shards = ledger(local, "killed", "shards.json")
    assert len(shards) > 2
    assert sorted(starts.values()) == [1] * (len(shards) - 1) + [2]
    assert not list((local.mount / "killed").glob(".fanout*"))


def test_a_killed_function_of_a_small_run_is_taken_over(local: Stack) -> None:
    objects = {f"in/d{number % 9}/f{number}": b"k" * 6000 for number in range(2000)}
    fill(local, "taken-over", objects)
    request = {"source": "s3://taken-over/in/", "destination": "efs:///taken-over", "limits": {"shard_seconds": 0.3}}
    execution = local.stack.start_execution(request, "taken-over")
    wait_for_a_file(local.mount / "taken-over")
    assert local.workers.kill_busy("ShortWay", within_seconds=10)
    ended = local.stack.wait(execution)
    assert ended["status"] == "SUCCEEDED"
    assert files(local.mount / "taken-over") == {key.removeprefix("in/"): body for key, body in objects.items()}
    assert ledger(local, "taken-over", "summary.json")["totals"]["copied"]["entries"] == len(objects)
    assert not list((local.mount / "taken-over").glob(".fanout*"))


def wait_for_a_file(tree: Path) -> None:
    """Until one of the files that ``fill`` made is copied."""
    deadline = time.monotonic() + 60
    while not any(tree.glob("d*/f*")) and time.monotonic() < deadline:
        time.sleep(0.01)


def open_now() -> str:
    """A window that opened an hour ago and is open for half a day."""
    opened = datetime.now(UTC) - timedelta(hours=1)
    return f"{opened:%H:%M}-{opened + timedelta(hours=12):%H:%M} UTC"


def test_a_shard_that_is_delivered_twice_at_once_has_one_result(local: Stack) -> None:
    objects = {f"in/f{number}": bytes([number % 251]) * 3000 for number in range(600)}
    fill(local, "twice", objects)
    run(local, "twice", "s3://twice/in/", "efs:///twice")
    [row] = ledger(local, "twice", "shards.json")
    functions = local.stack.clients.functions
    names = [function["FunctionName"] for function in functions.list_functions()["Functions"]]
    [name] = [name for name in names if "CopyShard" in name and "Second" not in name]
    s3, bucket = local.stack.clients.s3, local.stack.work_bucket
    for item in s3.list_objects_v2(Bucket=bucket, Prefix="runs/twice/outcomes/")["Contents"]:
        s3.delete_object(Bucket=bucket, Key=item["Key"])
    for path in (local.mount / "twice").iterdir():
        path.unlink()
    # The run has ended, and with it its right to write: it is as one at work again.
    staged = local.mount / "twice/.fanout-staging-twice"
    staged.mkdir(mode=0o700)
    note = {**ledger(local, "twice", "fencing/staged.json"), "inode": str(staged.stat().st_ino), "mark": ""}
    s3.put_object(Bucket=bucket, Key="runs/twice/fencing/staged.json", Body=json.dumps(note).encode())
    s3.delete_object(Bucket=bucket, Key="runs/twice/summary.json")
    reference = {"id": "twice", "bucket": bucket, "prefix": "runs/twice/"}
    event = json.dumps({"step": "CopyShard", "run": reference, "shard": row["shard"], "cursor": 0}).encode()

    def deliver(_: int) -> Any:
        return json.loads(functions.invoke(FunctionName=name, Payload=event)["Payload"].read())

    with ThreadPoolExecutor(2) as pool:
        assert [answer["done"] for answer in pool.map(deliver, range(2))] == [True, True]
    expected = {key.removeprefix("in/"): body for key, body in objects.items()}
    assert {path: body for path, body in files(local.mount / "twice").items() if path in expected} == expected


def test_the_emulator_listens_on_the_loopback_alone(local: Stack) -> None:
    process = local.stack.emulator_pid
    loopback = {"0100007F", "00000000000000000000000001000000"}
    assert listening_addresses(process)
    assert listening_addresses(process) <= loopback


def test_every_function_has_the_limits_of_the_template_and_idle_ones_are_frozen(local: Stack) -> None:
    """That each limit binds is in test_function_limits.py."""
    fill(local, "limits", {"in/file": b"x"})
    assert run(local, "limits", "s3://limits/in/", "efs:///limits")["status"] == "SUCCEEDED"
    megabytes = {"PlanTransfer": "1024", **dict.fromkeys(("CopyShard", "FinishTree"), "1769")}
    workers = {name: list(local.workers.running(name)) for name in megabytes}
    time.sleep(0.5)
    for name, pids in workers.items():
        assert pids
        for pid in pids:
            environment = environment_of(pid)
            assert environment["AWS_LAMBDA_FUNCTION_MEMORY_SIZE"] == megabytes[name]
            assert environment["TMPDIR"] == "/tmp"
            [files_limit] = [line for line in Path(f"/proc/{pid}/limits").read_text().splitlines() if "files" in line]
            assert files_limit.split()[3:5] == ["1024", "1024"]
            assert Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"
