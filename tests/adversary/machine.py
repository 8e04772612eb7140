"""One execution: the committed state machine, walked, whose functions a script troubles."""

from __future__ import annotations

import json
import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from typing import Any

from fanout.flow.calls import StackSettings
from fanout.flow.steps import MOUNTING, STEPS, Mount, run_step
from fanout.flow.walker import StateFailed, Walker, by_class
from fanout.ledger.kept_store import KeptStore
from fanout.ledger.ledger import Ledger
from fanout.ledger.run_places import run_prefix
from fanout.model.document import Json
from fanout.model.errors import FanoutError
from fanout.ports.aws import Entered
from fanout.ports.store import WorkStore
from fanout.work.context import Context
from tests.adversary.conductor import Attempt, Killed, Running
from tests.adversary.lab import WORK, Lab
from tests.adversary.plain_user import modes_apply
from tests.adversary.result import Deletion, Result
from tests.adversary.rights import as_role
from tests.adversary.script import Act
from tests.adversary.sleepers import Sleeper
from tests.adversary.states import ENTERED, LABELS, Endless, Stopped, bound_definition


class Machine:
    """One execution."""

    def __init__(self, lab: Lab, act: Act, options: Json) -> None:
        self.lab, self.run_id = lab, act.run
        self.request: Json = {**lab.ends, **options}
        self.listed: tuple[int, int] | None = None
        self.deletions: list[Deletion] = []
        self.looked: int | None = None
        self.holder = ""
        if "resume_from" in act.options:
            self.request = {"resume_from": act.options["resume_from"]}
        self.running = Running(act.run, list(act.faults))
        self.result = Result()
        self._client = lab.client()
        self._moves = options.get("mode") == "move"
        self._prefix = run_prefix(act.run)
        self._again: tuple[str, Json] | None = None
        self.sent: list[tuple[str, Json]] = []
        self.forged: list[str] = []
        self._entered: Counter[str] = Counter()
        self._sleeper: Sleeper | None = None
        self._asleep: list[Sleeper] = []
        self.window = str(options.get("limits", {}).get("window", ""))

    @property
    def verifies_after(self) -> bool:
        """Whether what is listed is listed for the verification that follows a copy."""
        return self._prefix != run_prefix(self.run_id)

    def run(self) -> Result:
        """The whole execution."""
        self.lab.going.add(self.run_id)
        execution = {"Id": self.run_id, "Name": self.run_id}
        walker = Walker(
            bound_definition(), self._task, self._rows, self.lab.clock, execution, self._failure, entered=self._enter
        )
        try:
            walker.run(self.request)
        except Stopped:
            self.result.status = "STOPPED"
            self.lab.stopped.append(self)
        except StateFailed as failed:
            if not self.result.status:
                self.result.status, self.result.error = "FAILED", failed.output()
        finally:
            self.lab.going.discard(self.run_id)
            self._wake(self._asleep)
        if self.result.status not in ("STOPPED", "SKIPPED") and self.result.error is None:
            self._read_summary()
        return self.result

    def _read_summary(self) -> None:
        result, ledger = self.result, Ledger(self.lab.store.plain, self.run_id)
        with self.lab.conductor.paused():
            try:
                result.summary = ledger.read_json("summary.json")
                result.failures = list(ledger.read_rows("failures.jsonl"))
                files = [key for key in ledger.keys("entries/") if key.endswith(".gz")]
                result.reported = [row for key in files for row in ledger.read_rows_as(key, lambda row: row)]
            except FanoutError as missing:
                result.unnamed.append(f"summarise: says {result.status}, and {missing}")
                return
            result.error = result.summary.get("error")

    def _enter(self, state: str) -> None:
        self._entered[state] += 1
        if self._entered[state] > ENTERED:
            raise Endless(f"{state} is entered again and again")

    def _rows(self, _bucket: str, key: str) -> Any:
        """What a Map reads of the ledger, by the service itself."""
        with self.lab.conductor.paused():
            return json.loads(self.lab.store.plain.get(key))

    def _failure(self, error: Exception) -> StateFailed | None:
        """How Step Functions sees what a function raised."""
        return None if isinstance(error, Stopped | Endless) else by_class(error)

    def _task(self, _function: str, event: Json) -> Any:
        """An attempt of the step that an event names, and what is known of the run by its answer."""
        name = event["step"]
        if name == "PaceCopy":
            return self.lab.pauses.answer(self.run_id, event, self.lab.clock.now())
        if name == "EndPacing":  # no Map runs here
            return {"run": event["run"], "shards": event["shards"], "done": True, "until": ""}
        if self.running.stopped:
            raise Stopped
        if name == "PlanTransfer":
            offered = {function: function for function in MOUNTING.values()}
            event["functions"] = [offered] * len(self.lab.mounts)
        elif not STEPS[name].whole_run:
            self._prefix = event["run"]["prefix"]
        for one in self._asleep:
            one.tasks -= 1
        self._wake([one for one in self._asleep if one.tasks <= 0])
        self.lab.at[self.run_id] = Entered(name, deepcopy(event.get("state")))
        self._again = name, event
        self.sent.append((name, deepcopy(event)))
        try:
            answer = self._awake(name, event)
        except Killed:
            if self.running.stopped:
                raise Stopped from None
            raise StateFailed(self.running.lost_as, json.dumps({"errorMessage": "the function was killed"})) from None
        except (FanoutError, StateFailed):
            if self.running.stopped:
                raise Stopped from None
            raise
        except Exception as error:
            self._unnamed(LABELS[name], error)
            raise
        if self.running.stopped:
            raise Stopped
        if name == "PlanTransfer" and "holder" in answer:
            self.result.status, self.holder = "SKIPPED", answer["holder"]
        if name == "PlanTransfer" and not self.lab.script.short:
            answer.get("run", {}).pop("short", None)
        if (answer if name == "FinishTree" else answer.get("finish", {})).get("done"):
            self.result.finished = True
        if name == "SummariseTransfer":
            self.result.status = answer["status"]
        return STEPS[name].answers(event, answer)

    def _awake(self, name: str, event: Json) -> Any:
        """The answer of an attempt, unless it falls asleep."""
        if not any(fault.what == "oversleep" for fault in self.running.faults):
            return self._attempt(name, event)
        self._sleeper = sleeper = Sleeper(self.lab.conductor, lambda: self._attempt(name, event))
        try:
            answer = sleeper.result()
        finally:
            self._sleeper = None
        if sleeper.is_asleep:
            self._asleep.append(sleeper)
            raise StateFailed("States.Timeout", json.dumps({"errorMessage": "the function is frozen"}))
        return answer

    def _wake(self, sleepers: list[Sleeper]) -> None:
        """What they do is no part of the answers of others, and what they raise nobody's."""
        for one in list(sleepers):
            self._asleep.remove(one)
            one.wake_up()

    def oversleep(self, tasks: int) -> None:
        """The function at work freezes until its run has begun so many tasks, or has ended."""
        if self._sleeper is not None:
            sleeper, self._sleeper = self._sleeper, None
            sleeper.fall_asleep(tasks)

    def _attempt(self, name: str, event: Json) -> Any:
        if name == "ShortWay":
            return self._short_way(event)
        if self.window:
            self.lab.clock.wait(30 * (self.lab.script.seed % 11))
        step, state = STEPS[name], LABELS[name]
        mounts = tuple(self.lab.mounts) if self.lab.between_mounts else ("data",)
        prefix = "" if step.whole_run or step.run_id is not None else event["run"]["prefix"]
        with self._begun(state, prefix, self._sees(name), step.acts_as or name) as context:
            return run_step(step, event, context, StackSettings(mounts, 10, WORK))

    @contextmanager
    def _begun(
        self, label: str, prefix: str, sees: str, state: str, kept: WorkStore | None = None
    ) -> Iterator[Context]:
        """An attempt of a state begins."""
        plain = self.lab.script.plain
        with self.lab.watching(self, label), self.lab.conductor.attempt(self.running, label), modes_apply(plain):
            context = self.lab.context(self.run_id, prefix, self._client, sees, state, kept)
            try:
                yield context
            finally:
                context.ends.release()

    def _short_way(self, event: Json) -> Any:
        """The steps of the short way, each an attempt inside of the function's own; a kill of one ends them all."""
        prefix = event["run"]["prefix"]
        kept = KeptStore(as_role(self.lab.store, "ShortWay"), run_prefix(self.run_id))
        with self.lab.conductor.attempt(self.running, LABELS["ShortWay"]) as whole:

            @contextmanager
            def begin(state: str) -> Iterator[Context]:
                try:
                    with self._begun(LABELS[state], prefix, "both", state, kept) as context:
                        yield context
                except Killed:
                    whole.dead = True
                    raise

            outside = self.lab.context(self.run_id, prefix, self._client, "none", "ShortWay", kept)
            try:
                return run_step(STEPS["ShortWay"], event, outside, StackSettings(("data",), 10, WORK, begin=begin))
            finally:
                outside.ends.release()

    def _sees(self, name: str) -> str:
        """The end that the state's function sees; a move deletes at the source."""
        mount = STEPS[name].mount
        if mount is Mount.NONE:
            return "none"
        if not self.lab.between_mounts:
            return "both"
        at_source = mount is Mount.SOURCE or (self._moves and name in ("DeleteShard", "RemoveDirectories"))
        return "source" if at_source else "destination"

    def twice(self, attempt: Attempt) -> None:
        """Carry out the task at work once more, in the middle of itself, as a queue that delivers twice."""
        if self._again is not None:
            self.again(*self._again, attempt)

    def again(self, name: str, event: Json, attempt: Attempt) -> bool:
        """Whether a task is carried out by an event whose answer nobody waits for, in the middle of the one at work."""
        faults, self.running.faults = self.running.faults, []
        try:
            self._attempt(name, event)
        except FanoutError:
            return False
        except Exception as error:  # noqa: BLE001 - it is what is looked for
            self._unnamed(attempt.state, error)
        finally:
            self.running.faults = faults
        return True

    def _unnamed(self, state: str, error: Exception) -> None:
        where = traceback.extract_tb(error.__traceback__)[-1]
        self.result.unnamed.append(
            f"{state}: {type(error).__name__}: {error} ({where.filename.rpartition('/')[2]}:{where.lineno})"
        )
