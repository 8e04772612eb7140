"""Events that somebody makes by hand who may invoke functions, and what a task did with one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from botocore.awsrequest import AWSPreparedRequest
from botocore.httpsession import URLLib3Session

from fanout.adapters.http.transport import Transport
from fanout.flow.steps import MOUNTING
from fanout.model.document import Json
from tests.functions.test_handlers import OFFERED
from tests.support.actions import Need, needs

REQUEST: Json = {"source": "s3://data-bucket/in/", "destination": "efs:///made/by/nobody"}
SHARD: Json = {"id": "0001", "key": "shards/0001.jsonl.gz", "entries": 1, "bytes": 1, "seconds": 1.0}
SHORT: Json = {"round": 1, "key": "runs/x/segments/round-0001.json", "count": 1, "max_concurrency": 1}
MACHINE = "arn:aws:states:us-east-1:123456789012:stateMachine:fanout-transfer"
# The parts of names of operations that change nothing.
_READS = ("Get", "List", "Head", "Describe")


def execution_of(run_id: str, machine: str = MACHINE) -> str:
    """The ARN of the execution of a run."""
    return f"{machine.replace(':stateMachine:', ':execution:')}:{run_id}"


def event_of(run_id: str, state: str, machine: str = MACHINE) -> Json:
    """What the state machine would send, as far as whoever has read it can guess: the fields of all states."""
    run: Json = {"id": run_id, "bucket": "work-bucket", "prefix": f"runs/{run_id}/", "apart": "", "digests": ""}
    run["functions"] = MOUNTING
    more = {"segment": {"id": "s1"}, "shard": SHARD, "cursor": 0, "list": {**SHORT, "segment": {"id": "s1"}}}
    shards = {"key": f"runs/{run_id}/shards.json", "restores": "", "step": "", "copies": "", "count": 1, "extras": 1}
    about = {"entered": "2126-11-28T15:00:00Z", "execution": execution_of(run_id, machine)}
    planned = {"request": REQUEST, "run_id": run_id, "functions": OFFERED}
    error = {"Error": "Broken", "Cause": "{}"}
    whole = {"run": run, "shards": shards, "error": error, **more, **about, **planned, "round": 1, "member": 0}
    return {"step": state, **whole, "state": {"run": run, "shards": shards, "error": error}}


def seen(s3: Any, mount: Path) -> dict[str, Any]:
    """All that lies in the work bucket, in the data and on the mount."""
    found: dict[str, Any] = {str(one): one.stat().st_mtime_ns for one in mount.rglob("*")}
    for bucket in ("work-bucket", "data-bucket"):
        for row in s3.list_objects_v2(Bucket=bucket).get("Contents", ()):
            found[f"{bucket}/{row['Key']}"] = row["ETag"], row["LastModified"]
    return found


def body_of(request: AWSPreparedRequest) -> bytes:
    """What is sent to a service; those of the control plane send bytes or text."""
    body = request.body or b""
    assert isinstance(body, bytes | str)
    return body.encode() if isinstance(body, str) else body


@contextmanager
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[set[Need]]:
    """The permissions that the requests made inside need."""
    found: set[Need] = set()
    begin, send = Transport.begin, URLLib3Session.send

    def recording(self: Transport, method: str, url: str, *others: Any, **named: Any) -> Any:
        if "authorization" in others[0]:  # what only asks whether S3 answers is not signed
            found.update(needs(method, url, *others[:2]))
        return begin(self, method, url, *others, **named)

    def sending(self: URLLib3Session, request: AWSPreparedRequest) -> Any:
        found.update(needs(request.method, request.url, dict(request.headers), body_of(request)))
        return send(self, request)

    with monkeypatch.context() as patch:
        patch.setattr(Transport, "begin", recording)
        patch.setattr(URLLib3Session, "send", sending)
        yield found


def writes(found: set[Need]) -> set[str]:
    """The permissions among them that change something."""
    return {need.action for need in found if not need.action.partition(":")[2].startswith(_READS)}
