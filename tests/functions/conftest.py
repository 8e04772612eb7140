"""The handlers in this process, with moto's S3 and a directory for EFS."""

from __future__ import annotations

import importlib.util
import json
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto.s3.models import FakeKey, s3_backends
from moto.server import ThreadedMotoServer

from fanout.flow.evidence import Evidence
from fanout.flow.steps import STEPS
from fanout.runtime import bootstrap, clients, telemetry
from tests.support.handler_flow import HandlerFlow
from tests.support.s3_proxy import S3Proxy
from tests.support.started import machine_of, started
from tests.support.wire import SOURCE, TARGET, Wire

FUNCTIONS = Path(__file__).parents[2] / "functions"
ACCOUNT = "123456789012"  # moto's
Invoke = Callable[[str, dict[str, Any]], Any]


@dataclass
class LambdaContext:
    """What the handlers use of Lambda's context."""

    aws_request_id: str = "request-1"
    remaining_milliseconds: int = 300_000

    def get_remaining_time_in_millis(self) -> int:
        """See Lambda's context."""
        return self.remaining_milliseconds


def forget_telemetry() -> None:
    """Have the next task make its logger and metrics anew: they keep the standard output of the test before."""
    logging.Logger.manager.loggerDict.pop("fanout", None)
    telemetry._logger.cache_clear()
    telemetry._metrics.cache_clear()


@pytest.fixture(scope="module")
def s3_url() -> Iterator[str]:
    """The URL of moto's server."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def s3(s3_url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Any]:
    """A client of it; the environment is that of a deployed function."""
    environment = {
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": s3_url,
        "FANOUT_WORK_BUCKET": "work-bucket",
        "FANOUT_ACCOUNT": ACCOUNT,
        "FANOUT_MOUNTS": json.dumps({"data": str(tmp_path)}),
        "POWERTOOLS_SERVICE_NAME": "fanout",
        "POWERTOOLS_METRICS_NAMESPACE": "FanOutTransfer",
    }
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    caches = (clients.settings, clients.stack_client, clients._data_client, bootstrap.make_executions)
    for cached in caches:
        cached.cache_clear()
    forget_telemetry()
    client: Any = boto3.client("s3", endpoint_url=s3_url, region_name="us-east-1")
    for bucket in ("work-bucket", "data-bucket"):
        _make_empty(client, bucket)
    yield client
    for cached in caches:
        cached.cache_clear()


@pytest.fixture
def invoke(call: Invoke, monkeypatch: pytest.MonkeyPatch) -> Invoke:
    """The same as the state machine does it: the execution of a run that is planned has been started, and runs."""

    def within(name: str, event: dict[str, Any]) -> Any:
        step = STEPS.get(event.get("step", name))
        if step is None or step.evidence not in (Evidence.REQUEST, Evidence.EXECUTION):
            return call(name, event)
        machine = "fanout-Probe" if step.use_case.startswith("probe.") else "fanout-transfer"
        run_id = event["run_id"] if "run_id" in event else event["run"]["id"]
        execution = event.get("execution", f"arn:aws:states:us-east-1:{ACCOUNT}:execution:{machine}:{run_id}")
        with monkeypatch.context() as patch:
            patch.setenv("FANOUT_STATE_MACHINE", machine_of(execution))
            clients.settings.cache_clear()
            try:
                at = HandlerFlow.at.get(run_id, (event.get("step", name), event.get("state")))
                with started(execution, event.get("request", {}), at):
                    return call(name, event)
            finally:
                clients.settings.cache_clear()

    return within


@pytest.fixture
def call(s3: Any) -> Invoke:
    """Calls the handler of the function of a step with the event of that step, unless the event names another one."""

    def call(name: str, event: dict[str, Any]) -> Any:
        event = {"step": name, **event}
        function = STEPS[name].function if name in STEPS else name  # some answer questions, and are no states
        folder = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in function)
        spec = importlib.util.spec_from_file_location(f"functions{folder}", FUNCTIONS / folder[1:] / "app.py")
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        answer = module.handler(json.loads(json.dumps(event)), LambdaContext())
        return json.loads(json.dumps(answer))

    return call


def _make_empty(client: Any, bucket: str) -> None:
    """One with nothing in it, whatever the test before left on the same server."""
    found = s3_backends[ACCOUNT]["aws"].buckets.get(bucket)
    if found is None:
        client.create_bucket(Bucket=bucket)
    else:  # by requests this took a fifth of some tests' time
        for key in list(found.keys):
            for version in found.keys.getlist(key):
                if isinstance(version, FakeKey):  # a marker of a deletion holds nothing
                    version.dispose()
        found.keys.clear()
        found.versioning_status = None


@pytest.fixture
def wire(s3: Any, s3_url: str, invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Wire]:
    """Two buckets behind a proxy that keeps what is asked."""
    for bucket in (SOURCE, TARGET):
        _make_empty(s3, bucket)
    mounts = {name: tmp_path / name for name in ("data", "archive")}
    for mount in mounts.values():
        mount.mkdir()
    proxy = S3Proxy(s3_url)
    monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.url)
    found = Wire(HandlerFlow(invoke, s3, monkeypatch, mounts, bootstrap), proxy)
    proxy.choose = found.keep
    yield found
    proxy.close()
