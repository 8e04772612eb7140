"""What the doctor finds from inside: a missing way to S3 in seconds, and a mount by trying it."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fanout.adapters.aws.endpoint import Endpoint
from fanout.adapters.posix.probe import probe
from fanout.adapters.posix.probe.probe import probe_mount
from fanout.adapters.s3.client.reach import reach
from fanout.model.errors import Unreachable
from fanout.ports.finding import Severity
from fanout.runtime import clients
from tests.functions.conftest import Invoke


@pytest.fixture
def blackhole() -> Iterator[str]:
    """An address where no connection ever comes about: a listening socket whose queue is full."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen(0)
        waiting = []
        for _ in range(8):
            one = socket.socket()
            one.setblocking(False)
            one.connect_ex(server.getsockname())
            waiting.append(one)
        yield f"http://127.0.0.1:{server.getsockname()[1]}"
        for one in waiting:
            one.close()


def levels(answer: Any) -> dict[str, str]:
    return {row["name"]: row["level"] for row in answer["findings"]}


def test_an_address_that_never_answers_is_given_up_with_the_remedy(blackhole: str) -> None:
    began = time.monotonic()
    with pytest.raises(Unreachable, match=r"timed out after 2\d\d milliseconds.*\); add a gateway endpoint for S3"):
        reach(Endpoint("us-east-1", blackhole), "work-bucket", connect_seconds=0.2)
    assert time.monotonic() - began < 5


def test_a_refused_connection_is_named() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
        with pytest.raises(Unreachable, match=r"refused"):
            reach(Endpoint("us-east-1", url), "work-bucket")


def test_a_plan_fails_in_seconds_if_s3_does_not_answer(
    s3: Any, s3_url: str, invoke: Invoke, blackhole: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", blackhole)
    monkeypatch.setenv("AWS_ENDPOINT_URL_SFN", s3_url)
    monkeypatch.setattr(reach, "__kwdefaults__", {"connect_seconds": 0.2, "attempts": 2})
    clients.settings.cache_clear()
    began = time.monotonic()
    with pytest.raises(Unreachable, match="S3 cannot be reached from here"):
        invoke("PlanTransfer", {"run_id": "run-1", "request": {}})
    assert time.monotonic() - began < 5


def test_a_run_fails_in_its_check_if_s3_does_not_answer(
    s3: Any, invoke: Invoke, blackhole: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", blackhole)
    monkeypatch.setattr(reach, "__kwdefaults__", {"connect_seconds": 0.2, "attempts": 2})
    clients.settings.cache_clear()
    with pytest.raises(Unreachable, match="S3 cannot be reached from here"):
        invoke("CheckMount", {"run": {"id": "run-1", "prefix": "runs/run-1/"}})
    found = levels(invoke("ExamineNetwork", {"step": "ExamineNetwork"}))
    assert found["network of mount data: S3"] == "fail"
    assert found["mount data"] == "ok"  # one check that fails keeps no other from being made


def test_the_findings_of_a_function_that_is_well(s3: Any, invoke: Invoke, tmp_path: Path) -> None:
    answer = invoke("ExamineNetwork", {"step": "ExamineNetwork", "kms_key_id": "alias/mine"})
    expected = {
        "network of mount data: S3",
        "network of mount data: work bucket",
        "KMS key",
        "mount data",
        "mount data: write",
        "mount data: owners",
        "mount data: space",
    }
    found = levels(answer)
    assert set(found) == expected
    assert {name for name, level in found.items() if level == "fail"} == set()
    assert not list(tmp_path.iterdir())
    assert s3.head_object(Bucket="work-bucket", Key="runs/doctor/probe-kms")["ServerSideEncryption"] == "aws:kms"


def test_a_work_bucket_that_is_not_there_is_a_finding(s3: Any, invoke: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FANOUT_WORK_BUCKET", "no-such-bucket")
    clients.settings.cache_clear()
    assert levels(invoke("ExamineNetwork", {"step": "ExamineNetwork"}))["network of mount data: work bucket"] == "fail"


def test_a_mount_that_is_missing_is_a_finding(tmp_path: Path) -> None:
    [finding] = probe_mount("data", tmp_path / "none", "n")
    assert (finding.level, "is not there" in finding.what) == (Severity.FAIL, True)


@pytest.mark.parametrize("call", ["fsync", "rename", "write"])
def test_each_step_of_writing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    def denied(*_: object, **__: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, call, denied)
    found = {finding.name: finding for finding in probe_mount("data", tmp_path, "n")}
    written = found["mount data: write"]
    assert (written.level, written.what) == (Severity.FAIL, f"{call}: Operation not permitted")
    assert "PosixUser" in written.remedy
    assert not list(tmp_path.iterdir())


def test_owners_that_can_not_be_kept_are_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fchown", lambda *_: None)  # as an access point with an identity of its own does
    found = {finding.name: finding for finding in probe_mount("data", tmp_path, "n")}
    assert found["mount data: owners"].level is Severity.WARN
    assert found["mount data: write"].level is Severity.OK


def test_a_full_mount_is_a_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "FREE_BYTES", 1 << 80)
    assert [finding.level for finding in probe_mount("data", tmp_path, "n")][-1] is Severity.FAIL
