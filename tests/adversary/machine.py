"""The state machine's flow for one run, with its retries and its catches, function by function."""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from functools import partial
from typing import Any

from msgspec import convert

from fanout.copying.copy_shard import copy_shard
from fanout.copying.record_shard_failure import record_shard_failure
from fanout.deleting.begin_deletion import begin_deletion
from fanout.deleting.delete_shard import delete_shard
from fanout.deleting.remove_directories import remove_directories
from fanout.deleting.source_looks import look_at_directories, look_at_shard, none_looked_at
from fanout.finishing.divide import FinishShard
from fanout.finishing.finish_shard import finish_shard
from fanout.finishing.finish_tree import finish_tree, unfinished
from fanout.flow.steps import STEPS
from fanout.ledger.ledger import Ledger
from fanout.listing.gather_segments import gather_segments
from fanout.listing.hand_back import hand_segment_back, leave_segment
from fanout.model.document import Json
from fanout.model.errors import FanoutError, Throttled, Transient
from fanout.model.segment import Segment
from fanout.model.shard import Shard
from fanout.partition.partition_shards import partition_shards
from fanout.planning.check_mount import check_mount
from fanout.planning.plan_transfer import plan_transfer
from fanout.resuming.carry_over import list_in_window, list_or_carry_over
from fanout.resuming.look_there import list_or_look
from fanout.staging.digest_destination import digest_destination
from fanout.staging.pack_shard import pack_shard
from fanout.staging.unpack_shard import unpack_shard
from fanout.summary.summarise_transfer import summarise_transfer
from fanout.verifying.begin_verification import begin_verification
from fanout.verifying.digest_shard import digest_shard
from fanout.verifying.verify_shard import verify_shard
from fanout.work.context import Context
from fanout.work.windows import held_to_window, paused_until
from tests.adversary.conductor import Attempt, Killed, Running
from tests.adversary.lab import WORK, Lab
from tests.adversary.result import Deletion, Result
from tests.adversary.script import Act
from tests.support.windowed import not_done

# As the state machine retries what may pass and what was lost; more tasks than any state takes here.
RETRIES, TASKS = 6, 400
# The states that seal what a certificate says, and those whose ledger is kept, by their own names.
_NAMES = {
    "plan": "PlanTransfer",
    "check": "CheckMount",
    "list": "ListSegment",
    "list destination": "ListDestination",
    "gather": "GatherSegments",
    "partition": "PartitionShards",
    "finish": "FinishTree",
    "begin deletion": "BeginDeletion",
    "record": "RecordShardFailure",
    "begin verification": "BeginVerification",
    "verify": "VerifyShard",
    "digest": "DigestShard",
    "summarise": "SummariseTransfer",
}
UseCase = Callable[[Context], Any]


class Stopped(Exception):
    """The execution was stopped from outside."""


class Caught(Exception):
    """A state failed for good."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(str(error))
        self.row = {"Error": type(error).__name__, "Cause": json.dumps({"errorMessage": str(error)})}


class Endless(Exception):
    """A state is never done."""


class Machine:
    """One execution."""

    def __init__(self, lab: Lab, act: Act, options: Json) -> None:
        self.lab, self.run_id = lab, act.run
        self.request: Json = {**lab.ends, **options}
        self.listed: tuple[int, int] | None = None
        self.deletions: list[Deletion] = []
        self.looked: int | None = None
        if "resume_from" in act.options:
            self.request = {"resume_from": act.options["resume_from"]}
        self.running = Running(act.run, list(act.faults))
        self.result = Result()
        self._client = lab.client()
        self._apart = self._digests = ""
        self._moves = options.get("mode") == "move"
        self._prefix = ""
        self._again: tuple[UseCase, str] | None = None
        self.window = str(options.get("limits", {}).get("window", ""))

    @property
    def verifies_after(self) -> bool:
        """Whether what is listed is listed for the verification that follows a copy."""
        return bool(self._prefix)

    def run(self) -> Result:
        """The whole execution."""
        self.lab.going.add(self.run_id)
        try:
            self._flow()
        except Stopped:
            self.result.status = "STOPPED"
        finally:
            self.lab.going.discard(self.run_id)
        return self.result

    def _flow(self) -> None:
        result = self.result
        try:
            state = self._plan()
        except Caught as caught:
            result.status, result.error = "FAILED", caught.row
            return
        if "holder" in state:
            result.status = "SKIPPED"
            return
        error: Any = None
        verify, extras = "none", 0
        try:
            self._apart, self._digests = state["run"]["apart"], state["run"]["digests"]
            if self.lab.between_mounts:
                self._task("check", check_mount, "source")
            what = self._list(state["list"])
            verify, extras = what["verify"], what["extras"]
            if what["next"] == "verify":
                self._verify()
            elif what["next"] != "plan":
                self._copy()
        except Caught as caught:
            error, what = caught.row, {"next": "copy"}
        if what["next"] not in ("verify", "plan"):
            error = self._end(error, verify, extras)
        try:
            summary = self._task("summarise", lambda context: summarise_transfer(error, context))
        except Caught as caught:
            result.status, result.error = "FAILED", caught.row
            return
        result.status = summary["status"]
        ledger = Ledger(self.lab.store.plain, self.run_id)
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

    def _plan(self) -> Any:
        mounts = tuple(self.lab.mounts) if self.lab.between_mounts else ("data",)

        def plan(context: Context) -> Any:
            return plan_transfer(self.request, context, mounts, 10, WORK, execution=self.run_id)

        state = self._task("plan", plan, "none")
        if "holder" not in state:
            self._task("check", check_mount, "destination" if self.lab.between_mounts else "both")
        return state

    def _list(self, reference: Json) -> Any:
        source = "source" if self.lab.between_mounts else "both"
        while reference["count"]:
            for row in self._rows(reference["key"]):
                segment = convert(row, Segment)
                if self.lab.between_mounts:
                    there, leave = partial(list_or_look, segment), partial(leave_segment, segment)
                    self._task("list destination", there, "destination", leave)
                lists = list_in_window if self.window else list_or_carry_over
                self._task("list", partial(lists, segment), source, partial(hand_segment_back, segment))
            number = reference["round"]
            reference = self._task("gather", partial(gather_segments, number), "none")
            if reference["count"]:
                self._wait(paused_until(self.window, self.lab.clock.now()))
        return self._task("partition", partition_shards, "none")

    def _copy(self) -> None:
        for row in self._rows(f"runs/{self.run_id}/shards.json"):
            shard = convert(row["shard"], Shard)
            try:
                self._copy_shard(shard)
            except Caught as caught:
                self._task("record", partial(record_shard_failure, shard, caught.row), "none")

    def _copy_shard(self, shard: Shard) -> None:
        if not self.lab.between_mounts:
            self._until_done("copy", partial(copy_shard, shard), "both")
            return
        following = "digest"
        stands = lambda _context: {"next": "unpack"}  # noqa: E731
        for _ in range(TASKS):
            if following == "digest" and self._digests:
                self._until_done("digest", partial(digest_destination, shard), "destination")
            if following != "unpack":
                self._task("pack", partial(pack_shard, shard), "source", stands)
            answer = self._task("unpack", partial(unpack_shard, shard), "destination", stands)
            following = "digest" if self._waited(answer) else answer["next"]
            if following == "done":
                return
        raise Endless("a shard is never unpacked")

    def _end(self, error: Any, verify: str, extras: int) -> Any:
        """FinishTree and what follows it; returns the error, if there is one."""
        sees = "destination" if self.lab.between_mounts else "both"
        try:
            deletes = error is None and extras > 0
            self._finish(deletes, sees)
            self.result.finished = True
            if error is not None:
                self._leave_source()
                return error
            if extras:
                self._delete()
            if verify == "all":
                begun = self._task("begin verification", lambda context: begin_verification(context, WORK), "none")
                self._prefix, self._apart = begun["run"]["prefix"], begun["run"]["apart"]
                self._list(begun["list"])
                self._verify()
                if "moves" in begun["run"]:
                    self._delete_moved()
                self._prefix = ""
            elif verify == "copied":
                self._verify()
        except Caught as caught:
            self._leave_source()
            self._prefix = ""
            return error or caught.row
        return None

    def _delete_moved(self) -> None:
        """BeginDeletion, DeleteShards and RemoveDirectories of a move, at the source."""
        sees = "source" if self.lab.between_mounts else "both"
        deletion = self._task("begin deletion", begin_deletion, "none")
        for row in self._rows(deletion["key"]) if deletion["count"] else ():
            try:
                self._until_done("delete", partial(delete_shard, convert(row["shard"], Shard)), sees)
            except Caught:
                continue  # the Map tolerates it, and the summary finds it
        self._until_done("remove directories", remove_directories, sees)

    def _leave_source(self) -> None:
        """RemoveDirectories of a move that broke off: with it goes the run's right to delete."""
        if self._moves:
            sees = "source" if self.lab.between_mounts else "both"
            with suppress(Caught):
                self._until_done("remove directories", partial(remove_directories, broken=True), sees)

    def _finish(self, deletes: bool, sees: str) -> None:
        mapped = -1
        for _ in range(TASKS):
            stays = lambda _context, at=mapped: unfinished(at)  # noqa: E731
            answer = self._task("finish", partial(finish_tree, deletes=deletes, mapped=mapped), sees, stays)
            if answer["done"]:
                return
            self._waited(answer)
            mapped = answer["round"]
            for row in self._rows(answer["key"]) if answer["count"] else ():
                shard = convert(row["shard"], FinishShard)
                try:
                    self._until_done("finish shard", partial(finish_shard, shard), sees)
                except Caught:
                    continue  # the Map tolerates it, and FinishTree goes on with it
        raise Endless("the tree is never finished")

    def _delete(self) -> None:
        """RemoveDirectories comes last in any case: with it goes the run's right to write."""
        sees = "destination" if self.lab.between_mounts else "both"
        try:
            deletion = self._task("begin deletion", begin_deletion, "none")
        except Caught:
            self._until_done("remove directories", partial(remove_directories, broken=True), sees)
            raise
        for row in self._rows(deletion["key"]) if deletion["count"] else ():
            try:
                self._delete_shard(convert(row["shard"], Shard), sees)
            except Caught:
                continue  # the Map tolerates it, and the summary finds it
        broken = False
        if self.lab.between_mounts:
            try:
                self._until_done("look at directories", look_at_directories, "source")
            except Caught:
                broken = True
        self._until_done("remove directories", partial(remove_directories, broken=broken), sees)

    def _delete_shard(self, shard: Shard, sees: str) -> None:
        for _ in range(TASKS):
            if self.lab.between_mounts:
                self._task("look", partial(look_at_shard, shard), "source", partial(none_looked_at, shard))
            answer = self._task("delete", partial(delete_shard, shard), sees, not_done)
            if answer["done"]:
                return
            self._waited(answer)
        raise Endless("a shard is never deleted")

    def _verify(self) -> None:
        for row in self._rows(f"{self._prefix or f'runs/{self.run_id}/'}shards.json"):
            shard = convert(row["shard"], Shard)
            sees = "destination" if self.lab.between_mounts else "both"
            try:
                if self.lab.between_mounts:
                    self._until_done("digest", partial(digest_shard, shard), "source")
                self._until_done("verify", partial(verify_shard, shard), sees)
            except Caught:
                continue  # the Map tolerates it, and the summary finds it

    def _rows(self, key: str) -> list[Json]:
        """What a Map reads of the ledger, by the service itself."""
        with self.lab.conductor.paused():
            try:
                rows: list[Json] = json.loads(self.lab.store.plain.get(key))
            except (FanoutError, ValueError) as error:
                raise Caught(error) from error
            return rows

    def _until_done(self, state: str, use_case: UseCase, sees: str) -> None:
        for _ in range(TASKS):
            answer = self._task(state, use_case, sees, not_done)
            if answer["done"]:
                return
            self._waited(answer)
        raise Endless(f"{state} is never done")

    def _waited(self, answer: Json) -> bool:
        """Whether the state machine waits for the window before it goes on."""
        return self._wait(answer.get("until", ""))

    def _wait(self, until: str) -> bool:
        if until:
            self.lab.clock.wait(max(0.0, datetime.fromisoformat(until).timestamp() - self.lab.clock.now()))
        return bool(until)

    def _task(self, state: str, use_case: UseCase, sees: str = "none", hand_back: UseCase | None = None) -> Any:
        """A task with its retries, held to the window if it has a ``hand_back``. Raises ``Caught`` or ``Stopped``."""
        if hand_back is not None and self.window:
            use_case = partial(_held, self.window, use_case, hand_back)
        problem: BaseException = Transient("nothing was tried")
        for _ in range(RETRIES + 1):
            if self.running.stopped:
                raise Stopped
            self._again = (use_case, sees)
            try:
                answer = self._attempt(state, use_case, sees)
            except (Throttled, Transient, Killed) as error:
                problem = error
                continue
            except FanoutError as error:
                raise Caught(error) from error
            except Stopped:
                raise
            except Exception as error:
                self._unnamed(state, error)
                raise Caught(error) from error
            if self.running.stopped:
                raise Stopped
            return answer
        if self.running.stopped:
            raise Stopped
        raise Caught(problem)

    def _attempt(self, state: str, use_case: UseCase, sees: str) -> Any:
        if self.window:
            self.lab.clock.wait(30 * (self.lab.script.seed % 11))
        with self.lab.watching(self, state), self.lab.conductor.attempt(self.running, state):
            named = _NAMES.get(state, "")
            context = self.lab.context(self.run_id, self._prefix, self._client, sees, named)
            try:
                return use_case(STEPS[named].inside(context) if named else context)
            finally:
                context.release()

    def twice(self, attempt: Attempt) -> None:
        """Carry out the task at work once more, in the middle of itself, as a queue that delivers twice."""
        if self._again is None or attempt.state in ("plan", "summarise"):
            return
        use_case, sees = self._again
        faults, self.running.faults = self.running.faults, []
        try:
            self._attempt(attempt.state, use_case, sees)
        except FanoutError:
            return  # nobody waits for its answer
        except Exception as error:  # noqa: BLE001 - it is what is looked for
            self._unnamed(attempt.state, error)
        finally:
            self.running.faults = faults

    def _unnamed(self, state: str, error: Exception) -> None:
        where = traceback.extract_tb(error.__traceback__)[-1]
        self.result.unnamed.append(
            f"{state}: {type(error).__name__}: {error} ({where.filename.rpartition('/')[2]}:{where.lineno})"
        )


def _held(window: str, use_case: UseCase, hand_back: UseCase, context: Context) -> Any:
    return held_to_window(window, context, use_case, hand_back)
