"""A state machine walked through the handlers of the functions, each seeing the mounts that it sees when deployed."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import pytest

from fanout.flow.steps import STEPS
from fanout.flow.walker import StateFailed, Walker, never
from fanout.pacing import pace_copy
from tests.support.definitions import definition

MOUNTED = frozenset(step.function for step in STEPS.values() if step.mount) | {"ExamineNetwork"}
PROBING = ("PlanProbe", "OpenProbe", "RunExperiment", "CloseProbe")
WORK = "work-bucket"
EXECUTIONS = "arn:aws:states:us-east-1:123456789012:execution:fanout-transfer"


class HandlerFlow:
    """Walks the machine of a transfer or of a probe. An error ends the walk: it is neither retried nor caught."""

    running: ClassVar[str] = ""
    """The function that is at work, as the template calls it; empty for none."""
    in_network: ClassVar[bool] = False
    """Whether it is in the network of a mount."""
    at: ClassVar[dict[str, tuple[str, Any]]] = {}
    """The task that each run entered last, and the state's data that it was sent."""

    def __init__(
        self,
        invoke: Callable[[str, dict[str, Any]], Any],
        s3: Any,
        monkeypatch: pytest.MonkeyPatch,
        mounts: Mapping[str, Path],
        bootstrap: ModuleType,
        maps_url: str = "",
    ) -> None:
        """``maps_url`` is where Step Functions knows the Maps of runs; without it nothing is paced.

        ``before`` is called before a step, once. ``short``: runs that may go the short way do. ``entered`` are the
        states, but for the last two.
        """
        self._invoke, self._s3, self._monkeypatch, self._bootstrap = invoke, s3, monkeypatch, bootstrap
        self._maps_url = maps_url
        self._mounts = {name: str(path) for name, path in mounts.items()}
        self._fails = False
        self.at.clear()
        self.short = False
        self.called: list[str] = []
        self.entered: list[str] = []
        self.before: dict[str, Callable[[], None]] = {}
        for name in ("FIRST_MAP_SECONDS", "MAP_SECONDS", "DECIDE_SECONDS", "END_SECONDS", "END_LATER_SECONDS"):
            monkeypatch.setattr(pace_copy, name, 0.0)

    def now(self) -> float:
        """The time of the machine."""
        return time.time()

    def sleep(self, seconds: float) -> None:
        """Nothing is waited for: the S3 here restores at once."""

    def run(self, run_id: str, request: dict[str, Any], *, fail_shards: bool = False) -> Any:
        """A whole run; what SummariseTransfer says. With ``fail_shards`` each shard is recorded as failed."""
        self._fails = fail_shards
        return self._walked("transfer", run_id, request, "TransferSucceeded?")["summary"]

    def plan(self, run_id: str, request: dict[str, Any]) -> Any:
        """PlanTransfer alone, as of a run that is stopped after it."""
        return self._walked("transfer", run_id, request, "AlreadyRunning?")

    def probe(self, probe_id: str, request: dict[str, Any]) -> Any:
        """A probe of the first mount, one function at a time; what SummariseProbe says."""
        return self._walked("probe", probe_id, request, "ProbeSucceeded?")["summary"]

    def _walked(self, machine: str, run_id: str, request: dict[str, Any], stop: str) -> Any:
        self.called.clear()
        self.entered.clear()
        found, execution = definition(machine), {"Id": f"{EXECUTIONS}:{run_id}", "Name": run_id}
        # PaceCopy comes before the copying, so that it has a Map to look at.
        walker = Walker(
            found, self._task, self._rows, self, execution, never, lambda numbers: numbers[::-1], self.entered.append
        )
        return walker.walk(found["StartAt"], request, {stop})[1]

    def batch(self, machine: str, request: dict[str, Any], bodies: Sequence[str]) -> Any:
        """StartBatch with messages of a queue; what it says of them."""
        self._monkeypatch.setenv("FANOUT_STATE_MACHINE", machine)
        self._monkeypatch.setenv("FANOUT_EVENT_REQUEST", json.dumps(request))
        records = [{"messageId": f"m-{number}", "body": body} for number, body in enumerate(bodies)]
        return self._call("StartBatch", {"step": "StartBatch", "Records": records})

    def doctor(self) -> list[Any]:
        """Everything that ``fanout doctor`` asks the functions; their findings."""
        network = self._call("ExamineNetwork", {"step": "ExamineNetwork", "kms_key_id": ""})
        turns = self._call("ExamineTurns", {"step": "ExamineTurns", "execution": f"{EXECUTIONS}:doctor"})
        return [*network["findings"], *turns["findings"]]

    def step(self, name: str, event: dict[str, Any]) -> Any:
        """One step of a run, by the function that its plan chose."""
        function = event["run"]["functions"].get(name, STEPS[name].function)
        return self._call(function, {"step": name, **event})

    def _task(self, function: str, event: dict[str, Any]) -> Any:
        name = event["step"]
        self.called.append(name)
        self.at[event["run_id"] if "run_id" in event else event["run"]["id"]] = name, event.get("state")
        self.before.pop(name, lambda: None)()
        if name in ("PaceCopy", "EndPacing"):
            return self._paced(function, event)
        if self._fails and name in ("CopyShard", "UnpackShard"):
            raise StateFailed("Broken", '{"errorMessage": "no answer"}')
        answer = self._call(function, event)
        if name == "PlanTransfer" and not self.short:
            answer.get("run", {}).pop("short", None)
        return answer

    def _paced(self, function: str, event: dict[str, Any]) -> Any:
        if not self._maps_url:
            return {"run": event["run"], "shards": event["shards"], "done": True, "until": ""}
        with self._monkeypatch.context() as patch:
            if event["step"] == "PaceCopy":
                patch.setenv("AWS_ENDPOINT_URL_SFN", self._maps_url)
            answer = self._call(function, event)
        assert event["step"] == "EndPacing" or answer["done"]
        return answer

    def _rows(self, bucket: str, key: str) -> Any:
        return json.loads(self._s3.get_object(Bucket=bucket, Key=key)["Body"].read())

    def _call(self, function: str, event: dict[str, Any]) -> Any:
        first, second = self._mounts.items()
        set_of = {"Second": dict([second]), "Outside": {}}
        prefix = next((one for one in set_of if function.startswith(one)), "")
        word = function.removeprefix(prefix)
        seen = set_of.get(prefix, dict([first])) if word in (*MOUNTED, *PROBING) else self._mounts
        self._monkeypatch.setenv("FANOUT_MOUNTS", json.dumps(seen))
        self._bootstrap.settings.cache_clear()
        HandlerFlow.running, HandlerFlow.in_network = f"{word}Function", word in MOUNTED and bool(seen)
        try:
            return self._invoke(word, event)
        finally:
            HandlerFlow.running = ""
