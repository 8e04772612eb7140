"""Traces: what X-Ray's daemon gets of a task, and that a function loads no SDK for it."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fanout.adapters.aws.xray import traced_by
from fanout.model.errors import Transient
from fanout.runtime.telemetry import observed
from tests.functions.conftest import forget_telemetry

ROOT = Path(__file__).parents[2]
ROOT_ID = "1-5759e988-bd862e3fe1be46a994272793"
HEADER = f"Root={ROOT_ID};Parent=53995c3f42cd8ad8;Sampled=1;Lineage=25:a87bd80c:1"


class Called:
    aws_request_id = "request"


@pytest.fixture
def daemon(monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listening:
        listening.bind(("127.0.0.1", 0))
        listening.settimeout(10)
        monkeypatch.setenv("_X_AMZN_TRACE_ID", HEADER)
        monkeypatch.setenv("AWS_XRAY_DAEMON_ADDRESS", f"127.0.0.1:{listening.getsockname()[1]}")
        monkeypatch.setenv("POWERTOOLS_SERVICE_NAME", "fanout")
        monkeypatch.setenv("POWERTOOLS_METRICS_NAMESPACE", "FanOutTransfer")
        forget_telemetry()
        yield listening


def received(daemon: socket.socket) -> Any:
    header, _, document = daemon.recv(65_536).partition(b"\n")
    assert json.loads(header) == {"format": "json", "version": 1}
    return json.loads(document)


def test_a_task_is_a_subsegment_of_its_function_with_its_run(daemon: socket.socket) -> None:
    with observed("CopyShard", "run-1", Called()):
        pass
    sent = received(daemon)
    assert (sent["type"], sent["name"], sent["annotations"]) == ("subsegment", "CopyShard", {"run_id": "run-1"})
    assert (sent["trace_id"], sent["parent_id"]) == (ROOT_ID, "53995c3f42cd8ad8")
    assert len(bytes.fromhex(sent["id"])) == 8 and 0 <= sent["end_time"] - sent["start_time"] < 60
    assert "fault" not in sent


def test_a_failed_one_says_the_class_of_its_error_and_no_message(daemon: socket.socket) -> None:
    with pytest.raises(Transient), observed("CopyShard", "run-1", Called()):
        raise Transient("of /secret/path")
    sent = received(daemon)
    assert sent["fault"] is True and "secret" not in json.dumps(sent)
    assert [one["type"] for one in sent["cause"]["exceptions"]] == ["Transient"]


def test_a_trace_that_can_not_be_sent_fails_nothing(
    daemon: socket.socket, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("AWS_XRAY_DAEMON_ADDRESS", "host.invalid:2000")
    with observed("CopyShard", "run-1", Called()) as counts:
        counts["count"] = 1
    assert "trace_not_sent" in caplog.text


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"_X_AMZN_TRACE_ID": HEADER},
        {"AWS_XRAY_DAEMON_ADDRESS": "127.0.0.1:2000"},
        {"_X_AMZN_TRACE_ID": HEADER.replace("Sampled=1", "Sampled=0"), "AWS_XRAY_DAEMON_ADDRESS": "127.0.0.1:2000"},
        {"_X_AMZN_TRACE_ID": "Sampled=1", "AWS_XRAY_DAEMON_ADDRESS": "127.0.0.1:2000"},
        {"_X_AMZN_TRACE_ID": HEADER, "AWS_XRAY_DAEMON_ADDRESS": "127.0.0.1"},
    ],
)
def test_what_is_not_traced_sends_nothing(environment: dict[str, str]) -> None:
    assert traced_by(environment) is None


def test_a_task_loads_no_sdk() -> None:
    """At its first call, not only at its import: half a second of a processor in each cold start."""
    task = (
        "from fanout.runtime.telemetry import observed\n"
        "with observed('S', 'r', type('C', (), {'aws_request_id': 'x'})): pass"
    )
    environment = {
        "PYTHONPATH": str(ROOT / "layers/core/src"),
        "PATH": os.environ["PATH"],
        "_X_AMZN_TRACE_ID": HEADER,
        "AWS_XRAY_DAEMON_ADDRESS": "127.0.0.1:9",
        "POWERTOOLS_SERVICE_NAME": "fanout",
        "POWERTOOLS_METRICS_NAMESPACE": "FanOutTransfer",
    }
    command = [sys.executable, "-X", "importtime", "-c", task]
    found = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stderr
    modules = {line.rpartition("|")[2].strip() for line in found.splitlines() if line.startswith("import time:")}
    assert "aws_lambda_powertools" in modules
    assert not modules & {"aws_xray_sdk", "boto3", "botocore.session", "wrapt"}
