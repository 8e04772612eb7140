"""A run at work whose functions somebody invokes by hand: the flow, the events, and who sends them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fanout.ledger.ledger import Ledger
from fanout.model.document import Json
from fanout.model.errors import FanoutError
from fanout.runtime import bootstrap, clients
from tests.functions.conftest import Invoke
from tests.functions.hand_made import event_of, seen
from tests.support.handler_flow import HandlerFlow

RUN = "at-work"
REFUSED = "is not as .* holds it|is missing|is not one of a run"
BUCKET, MOUNT, OTHER = "s3://data-bucket/in/", "efs://data/out", "efs://archive/in"


@pytest.fixture
def flow(invoke: Invoke, s3: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> HandlerFlow:
    """A state machine over two mounts, each with a few files, as the bucket holds them."""
    for name in ("data", "archive"):
        (tmp_path / name / "in").mkdir(parents=True)
    for name in "abc":
        s3.put_object(Bucket="data-bucket", Key=f"in/{name}", Body=b"good")
        (tmp_path / "archive/in" / name).write_bytes(b"good")
    return HandlerFlow(invoke, s3, monkeypatch, {"data": tmp_path / "data", "archive": tmp_path / "archive"}, bootstrap)


def ledger(prefix: str = "") -> Ledger:
    """The ledger of the run."""
    return Ledger(clients.make_work_store(), RUN, prefix)


def sent(state: str, prefix: str = f"runs/{RUN}/", **fields: Any) -> Json:
    """An event of the run."""
    event = event_of(RUN, state)
    return {**event, "run": {**event["run"], "prefix": prefix}, **fields}


def files(place: Path) -> set[str]:
    """The names of the files in a directory."""
    return {one.name for one in place.iterdir() if one.is_file()}


class Forger:
    """Sends events before a state, all of which are refused and change no end and nothing in the ledger."""

    def __init__(self, flow: HandlerFlow, s3: Any, mount: Path) -> None:
        self.flow, self.s3, self.mount, self.said = flow, s3, mount, list[str]()

    def send(self, name: str, event: Json, says: str = REFUSED) -> None:
        """Send one."""
        before = seen(self.s3, self.mount)
        with pytest.raises(FanoutError, match=says) as caught:
            self.flow.step(name, event)
        self.said.append(str(caught.value))
        assert seen(self.s3, self.mount) == before

    def before(self, *states: str, send: Callable[[], None]) -> None:
        """Once these states were entered, in this order."""
        state, *others = states
        self.flow.before[state] = (lambda: self.before(*others, send=send)) if others else send


@pytest.fixture
def forger(flow: HandlerFlow, s3: Any, tmp_path: Path) -> Forger:
    return Forger(flow, s3, tmp_path)


def shard_of(row: Json) -> Json:
    found: Json = row["shard"]
    return found
