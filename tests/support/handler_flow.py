"""The state machine's flow through the handlers of the functions, each seeing the mounts that it sees when deployed."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import pytest

from fanout.pacing import pace_copy

MOUNTED = (
    "CheckMount",
    "ListSegment",
    "CopyShard",
    "FinishTree",
    "FinishShard",
    "VerifyShard",
    "DeleteShard",
    "RemoveDirectories",
)
PROBING = ("PlanProbe", "OpenProbe", "RunExperiment", "CloseProbe")
OFFERED = [{name: f"{prefix}{name}" for name in MOUNTED} for prefix in ("", "Second")]
WORK = "work-bucket"
EXECUTIONS = "arn:aws:states:us-east-1:123456789012:execution:fanout-transfer"
TASKS = 1_000
"""More tasks than any state here takes until it is done."""


class HandlerFlow:
    """Calls handlers in the order of ``statemachine/transfer.asl.json`` or of a probe's, without its error handling."""

    running: ClassVar[str] = ""
    """The function that is at work, as the template calls it; empty for none."""

    def __init__(
        self,
        invoke: Callable[[str, dict[str, Any]], Any],
        s3: Any,
        monkeypatch: pytest.MonkeyPatch,
        mounts: Mapping[str, Path],
        bootstrap: ModuleType,
        maps_url: str = "",
    ) -> None:
        """``maps_url`` is where Step Functions knows the Maps of runs; without it nothing is paced."""
        self._invoke, self._s3, self._monkeypatch, self._bootstrap = invoke, s3, monkeypatch, bootstrap
        self._maps_url = maps_url
        self._mounts = {name: str(path) for name, path in mounts.items()}

    def run(self, run_id: str, request: dict[str, Any], *, fail_shards: bool = False) -> Any:
        """A whole run; what SummariseTransfer says. With ``fail_shards`` each shard is recorded as failed."""
        state = self.plan(run_id, request)
        run = state["run"]
        chosen = run["functions"]
        self._call(chosen["CheckMount"], {"run": run})
        if run["apart"]:
            self._call(chosen["CheckOtherMount"], {"run": run})
        self._list(state)
        shards = self._call("PartitionShards", {"run": run})
        if shards["next"] == "verify":
            self._verify(run, shards["key"])
        elif shards["next"] != "plan":
            paced = {"run": run, "shards": shards, "execution": f"{EXECUTIONS}:{run_id}"}
            if shards["paced"] and self._maps_url:
                self._pace(paced)
            shards = self._restored(run, shards) if shards["archived"] else shards
            for row in self._rows(shards["copies"]):
                self._fail(run, row["shard"]) if fail_shards else self._copy(run, row["shard"])
            while shards["archived"]:
                shards = self._restored(run, shards)
                for row in self._rows(shards["copies"]):
                    self._copy(run, row["shard"])
            if shards["paced"] and self._maps_url:
                assert self._call("PaceCopy", {**paced, "copied": True})["done"]
            self._finish(run, {**state, "shards": shards})
            if shards["extras"]:
                self._delete(run)
            if shards["verify"] == "copied":
                self._verify(run, shards["key"])
            elif shards["verify"] == "all":
                inner = self._call("BeginVerification", {"run": run})
                self._list(inner)
                self._verify(inner["run"], self._call("PartitionShards", {"run": inner["run"]})["key"])
                if "moves" in inner["run"]:
                    self._delete(inner["run"])
        return self._call("SummariseTransfer", {"state": {**state, "shards": shards}})

    def _restored(self, run: dict[str, Any], shards: dict[str, Any]) -> Any:
        """RestoreObjects until something can be copied; the S3 here restores at once, so nothing is waited for."""
        for _ in range(TASKS):
            shards = self._call(run["functions"]["RestoreObjects"], {"run": run, "shards": shards})
            if shards["step"] == "copy":
                return shards
        raise AssertionError("nothing is ever restored")

    def plan(self, run_id: str, request: dict[str, Any]) -> Any:
        """PlanTransfer alone, as of a run that is stopped after it."""
        event = {
            "request": request,
            "run_id": run_id,
            "execution": f"{EXECUTIONS}:{run_id}",
            "functions": OFFERED,
        }
        return self._call("PlanTransfer", event)

    def probe(self, probe_id: str, request: dict[str, Any]) -> Any:
        """A probe of the first mount, one function at a time; what SummariseProbe says."""
        state = self._call("PlanProbe", {"request": request, "run_id": probe_id})
        run = state["run"]
        self._call("OpenProbe", {"run": run})
        for one in state["rounds"]:
            for member in one["members"]:
                self._call("RunExperiment", {"run": run, "round": one["number"], "member": member})
        self._call("CloseProbe", {"run": run})
        return self._call("SummariseProbe", {"state": state})

    def batch(self, machine: str, request: dict[str, Any], bodies: Sequence[str]) -> Any:
        """StartBatch with messages of a queue; what it says of them."""
        self._monkeypatch.setenv("FANOUT_STATE_MACHINE", machine)
        self._monkeypatch.setenv("FANOUT_EVENT_REQUEST", json.dumps(request))
        records = [{"messageId": f"m-{number}", "body": body} for number, body in enumerate(bodies)]
        return self._call("StartBatch", {"Records": records})

    def doctor(self) -> list[Any]:
        """Everything that ``fanout doctor`` asks the functions; their findings."""
        asked = (("CheckMount", {"kms_key_id": ""}), ("PlanTransfer", {"execution": f"{EXECUTIONS}:doctor"}))
        return [row for name, about in asked for row in self._call(name, {"doctor": about})["findings"]]

    def _list(self, state: dict[str, Any]) -> None:
        run, listed = state["run"], state["list"]
        while listed["count"]:
            for segment in self._rows(listed["key"]):
                event = {"run": run, "segment": segment}
                if run["apart"]:
                    self._call(run["functions"]["ListDestination"], {**event, "end": "destination"})
                self._call(run["functions"]["ListSegment"], event)
            listed = self._call("GatherSegments", {"run": run, "list": listed})

    def _pace(self, event: dict[str, Any]) -> None:
        """PaceCopy, which asks and decides at once and not after some seconds, until the Map says that it has ended."""
        for name in ("FIRST_MAP_SECONDS", "MAP_SECONDS", "DECIDE_SECONDS", "END_SECONDS", "END_LATER_SECONDS"):
            self._monkeypatch.setattr(pace_copy, name, 0.0)
        self._monkeypatch.setenv("AWS_ENDPOINT_URL_SFN", self._maps_url)
        assert self._call("PaceCopy", {**event, "copied": False})["done"]
        self._monkeypatch.delenv("AWS_ENDPOINT_URL_SFN")

    def _finish(self, run: dict[str, Any], state: dict[str, Any]) -> None:
        for _ in range(TASKS):
            finish = self._call(run["functions"]["FinishTree"], {"run": run, "state": state})
            if finish["done"]:
                return
            for row in self._rows(finish["key"]) if finish["count"] else ():
                self._repeat(run["functions"]["FinishShard"], {"run": run, "shard": row["shard"]})
            state = {**state, "finish": finish}
        raise AssertionError("the tree is never finished")

    def _copy(self, run: dict[str, Any], shard: Any) -> None:
        event = {"run": run, "shard": shard, "cursor": 0}
        if not run["apart"]:
            self._repeat(run["functions"]["CopyShard"], event)
            return
        if run["digests"]:
            self._repeat(run["functions"]["DigestDestination"], {**event, "end": "destination"})
        for _ in range(TASKS):
            packed = self._call(run["functions"]["PackShard"], {**event, "end": "source"})
            step = {**event, "cursor": packed["cursor"]}
            unpacked = {"next": "unpack"}
            while unpacked["next"] == "unpack":
                unpacked = self._call(run["functions"]["UnpackShard"], {**step, "end": "destination"})
                step = {**step, "cursor": unpacked["cursor"]}
            if unpacked["next"] == "done":
                return
            event = {**event, "cursor": unpacked["cursor"]}
        raise AssertionError("the shard never ends")

    def _fail(self, run: dict[str, Any], shard: Any) -> None:
        if run["apart"]:
            self._call(run["functions"]["PackShard"], {"run": run, "shard": shard, "cursor": 0, "end": "source"})
        error = {"Error": "Transient", "Cause": '{"errorMessage": "no answer"}'}
        self._call("RecordShardFailure", {"run": run, "shard": shard, "cursor": 0, "error": error})

    def _delete(self, run: dict[str, Any]) -> None:
        deletion = self._call("BeginDeletion", {"run": run})
        for row in self._rows(deletion["key"]) if deletion["count"] else []:
            self._delete_shard(run, row["shard"])
        if run["apart"] and "moves" not in run:
            self._repeat(run["functions"]["LookAtDirectories"], {"run": run, "end": "source"})
        self._repeat(run["functions"]["RemoveDirectories"], {"run": run, "state": {"run": run}})

    def _delete_shard(self, run: dict[str, Any], shard: Any) -> None:
        event, done = {"run": run, "shard": shard}, False
        while not done:
            if run["apart"] and "moves" not in run:
                self._call(run["functions"]["LookAtSource"], {**event, "end": "source"})
            done = self._call(run["functions"]["DeleteShard"], event)["done"]

    def _verify(self, run: dict[str, Any], key: str) -> None:
        for row in self._rows(key):
            event = {"run": run, "shard": row["shard"]}
            if run["apart"]:
                self._repeat(run["functions"]["DigestShard"], {**event, "end": "source"})
            self._repeat(run["functions"]["VerifyShard"], event)

    def _repeat(self, function: str, event: dict[str, Any]) -> None:
        for _ in range(TASKS):
            answer = self._call(function, event)
            if answer["done"]:
                return
            event = {**event, **{name: answer[name] for name in ("cursor", "shard") if name in answer}}
        raise AssertionError(f"{function} is never done")

    def _rows(self, key: str) -> list[Any]:
        rows: list[Any] = json.loads(self._s3.get_object(Bucket=WORK, Key=key)["Body"].read())
        return rows

    def _call(self, function: str, event: dict[str, Any]) -> Any:
        word = function.removeprefix("Second")
        first, second = self._mounts.items()
        seen = (
            dict([second if function.startswith("Second") else first]) if word in (*MOUNTED, *PROBING) else self._mounts
        )
        self._monkeypatch.setenv("FANOUT_MOUNTS", json.dumps(seen))
        self._bootstrap.settings.cache_clear()
        folder = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in word).lstrip("_")
        HandlerFlow.running = f"{word}Function"
        try:
            return self._invoke(folder, event)
        finally:
            HandlerFlow.running = ""
