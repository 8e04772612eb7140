"""Fakes of the functions: they keep to the payloads of the ASL and move no data."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .lambda_service import Event, Function, LambdaService

BUCKET = "work-bucket"
# The states whose function is chosen by the plan: it sees the mount of its side.
CHOSEN = (
    *("CheckMount", "CheckOtherMount", "ListSegment", "ListDestination", "CopyShard", "PackShard", "UnpackShard"),
    *("FinishTree", "FinishShard", "VerifyShard", "DigestShard", "DeleteShard", "RemoveDirectories"),
    *("LookAtSource", "LookAtDirectories", "RestoreObjects", "DigestDestination", "PublishVersion", "ShortWay"),
)
FUNCTIONS = {name: f"arn:aws:lambda:eu-west-1:123456789012:function:{name}" for name in CHOSEN}
REQUEST = {"source": "s3://bucket/prefix/", "destination": "efs:///projects/alpha"}

Put = Callable[[str, Any], None]


@dataclass
class FakeTransfer:
    """A transfer that is listed in the given rounds and copied in the given shards.

    ``cursors`` holds, for a shard, the cursors it hands back before it is done. ``short`` is where the short way ends,
    empty for a run that does not go it; ``left_at`` is what TakeOver finds.
    """

    put: Put
    rounds: Sequence[Sequence[str]] = (("0",),)
    shards: Sequence[str] = ("a",)
    cursors: Mapping[str, Sequence[int]] = field(default_factory=dict)
    rejected: int = 0
    mode: str = "copy"
    verify: str = "none"
    unfinished: int = 0
    finishing: Sequence[Sequence[str]] = ()
    extras: Sequence[str] = ()
    archived: Sequence[str] = ()
    computes: bool = False
    _computed: int = 0
    deletes: bool = True
    passes: int = 1
    _passed: int = 0
    _looked: int = 0
    _deleted: set[str] = field(default_factory=set)
    two_mounts: bool = False
    digests: bool = False
    publishes: str = ""
    moves: bool = False
    switches: int = 1
    _switched: int = 0
    holder: str = ""
    short: str = ""
    left_at: str = "CheckMount"
    paced: bool = False
    max_concurrency: int = 2
    _all_copied: threading.Event = field(default_factory=threading.Event)
    _staged: Counter[str] = field(default_factory=Counter)
    _unpacked: Counter[str] = field(default_factory=Counter)
    _digested: set[str] = field(default_factory=set)
    _verified: set[str] = field(default_factory=set)
    _copied: set[str] = field(default_factory=set)
    _finished: set[str] = field(default_factory=set)
    _failed: set[str] = field(default_factory=set)

    @property
    def copied(self) -> set[str]:
        """The shards that were copied to their end."""
        return set(self._copied)

    def install(self, service: LambdaService) -> None:
        functions: dict[str, Function] = {
            "PlanTransfer": self.plan_transfer,
            "CheckMount": lambda event: None,
            "CheckOtherMount": lambda event: None,
            "ShortWay": self.short_way,
            "ListDestination": lambda event: {"listed": 1},
            "ListSegment": lambda event: {"listed": 1},
            "GatherSegments": self.gather_segments,
            "PartitionShards": self.partition_shards,
            "CopyShard": self.copy_shard,
            "PackShard": self.pack_shard,
            "UnpackShard": self.unpack_shard,
            "DigestShard": self.digest_shard,
            "DigestDestination": lambda event: {**self.digest_shard(event), "cursor": 1},
            "PaceCopy": self.pace_copy,
            "RecordShardFailure": self.record_shard_failure,
            "FinishTree": self.finish_tree,
            "FinishShard": self.finish_shard,
            "BeginDeletion": self.begin_deletion,
            "DeleteShard": self.delete_shard,
            "RemoveDirectories": self.remove_directories,
            "RestoreObjects": self.restore_objects,
            "ComputeChecksums": self.compute_checksums,
            "PublishVersion": self.publish_version,
            "LookAtSource": lambda event: {"cursor": 1},
            "LookAtDirectories": self.look_at_directories,
            "BeginVerification": self.begin_verification,
            "VerifyShard": self.verify_shard,
            "SummariseTransfer": self.summarise_transfer,
        }
        service.functions.update(functions)

    def _in_two(self, seen: set[str], event: Event) -> Event:
        """A shard with cursors takes two tasks."""
        first = event["shard"] not in seen
        seen.add(event["shard"])
        done = not first or event["shard"] not in self.cursors
        return {"run": event["run"], "shard": event["shard"], "done": done, "until": ""}

    def _list_of_round(self, number: int, prefix: str) -> Event:
        segments = list(self.rounds[number]) if number < len(self.rounds) else []
        key = f"{prefix}segments/{number}.json"
        self.put(key, segments)
        reference: Event = {"round": number, "key": key, "count": len(segments), "max_concurrency": 4, "until": ""}
        if len(segments) == 1:
            reference["segment"] = segments[0]
        return reference

    def plan_transfer(self, event: Event) -> Event:
        if self.holder:
            reason = f"the run {self.holder} carries out the same transfer"
            return {"status": "SKIPPED", "reason": reason, "holder": self.holder}
        prefix = f"runs/{event['run_id']}/"
        apart = self.mode if self.two_mounts else ""
        ends = {"apart": apart, "digests": "destination" if self.two_mounts and self.digests else ""}
        publishes = {"publishes": self.publishes} if self.publishes else {}
        more = publishes | ({"moves": True} if self.moves else {}) | ({"short": True} if self.short else {})
        run = {"id": event["run_id"], "bucket": BUCKET, "prefix": prefix, **ends, **more, "functions": FUNCTIONS}
        return {"run": run, "list": self._list_of_round(0, prefix)}

    def short_way(self, event: Event) -> Event:
        """Hands on what the states before that place would have."""
        assert event["entered"]
        data: Event = {"run": event["run"], "list": event["list"], "short": {"at": self.short, "why": ""}}
        gathered = self.gather_segments({**event, "list": event["list"]})
        shards = {**self.partition_shards(event), "forecast": ""}
        if self.short == "SummariseTransfer":
            self._copied.update(self.shards)
        return {**data, "gathered": {"list": gathered}, "shards": shards}

    def gather_segments(self, event: Event) -> Event:
        if event["step"] == "TakeOver":
            return {"at": self.left_at}
        return self._list_of_round(event["list"]["round"] + 1, event["run"]["prefix"])

    def finish_tree(self, event: Event) -> Event:
        """The rounds of ``finishing`` first; then not done for the first ``unfinished`` tasks."""
        number = event["state"].get("finish", {}).get("round", -1)
        if number + 1 < len(self.finishing):
            shards, key = self.finishing[number + 1], f"{event['run']['prefix']}finishing/round-{number + 1}.json"
            self.put(key, [{"shard": shard} for shard in shards])
            counted = {"count": len(shards), "key": key, "max_concurrency": 2, "round": number + 1}
            return {"done": False, "until": "", **counted}
        self.unfinished -= 1
        return {"done": self.unfinished < 0, "until": "", "count": 0, "key": "", "max_concurrency": 1, "round": number}

    def finish_shard(self, event: Event) -> Event:
        """Each shard takes two tasks."""
        first = event["shard"] not in self._finished
        self._finished.add(event["shard"])
        return {"run": event["run"], "shard": event["shard"], "done": not first, "until": ""}

    def partition_shards(self, event: Event) -> Event:
        key = f"{event['run']['prefix']}shards.json"
        self.put(key, [{"shard": shard} for shard in self.shards])
        inner = event["run"]["prefix"].endswith("/verification/")
        return {
            "count": len(self.shards),
            "key": key,
            "next": self._next(inner=inner) if self.shards else "nothing",
            "extras": 0 if inner or self.moves else len(self.extras),
            "verify": "none" if inner else self.verify,
            "max_concurrency": self.max_concurrency,
            "paced": self.paced,
            "copies": self._copies_at_once(key) if self.archived else key,
            "archived": len(self.archived),
            "restores": "",
            "forecast": "stays in the work bucket",
        }

    def _next(self, *, inner: bool) -> str:
        compares = inner or self.mode == "verify"
        return "compute" if compares and self.computes else "verify" if compares else self.mode

    def compute_checksums(self, event: Event) -> Event:
        """Asks in two tasks, and waits once."""
        self._computed += 1
        step = ("again", "wait", "verify")[min(self._computed, 3) - 1]
        return {**event["shards"], "step": step, "wait": int(step == "wait")}

    def _copies_at_once(self, key: str) -> str:
        at_once = key.replace("shards.json", "at-once.json")
        self.put(at_once, [{"shard": shard} for shard in self.shards if shard not in self.archived])
        return at_once

    def restore_objects(self, event: Event) -> Event:
        """Asks in two tasks and has what is not archived copied; then waits once, and hands over a shard at a time."""
        shards = event["shards"]
        done = len(shards["restores"])
        paced = shards["paced"] and not done
        after: Event = {**shards, "restores": f"{shards['restores']}+", "wait": 0, "paced": paced}
        if done in (0, 1, 2):
            step = ("again", "copy", "wait")[done]
            return {**after, "step": step, "wait": 1 if step == "wait" else 0, "archived": len(self.archived)}
        key = f"{event['run']['prefix']}copies-{done}.json"
        self.put(key, [{"shard": self.archived[done - 3]}])
        return {**after, "step": "copy", "copies": key, "archived": len(self.archived) - (done - 2)}

    def begin_deletion(self, event: Event) -> Event:
        key = f"{event['run']['prefix']}deletions.json"
        shards = self.extras if self.deletes else ()
        self.put(key, [{"shard": shard, "directories": False} for shard in shards])
        return {"count": len(shards), "key": key, "max_concurrency": 2}

    def delete_shard(self, event: Event) -> Event:
        return self._in_two(self._deleted, event)

    def remove_directories(self, event: Event) -> Event:
        self._passed += 1
        return {"removed": 1, "done": self._passed >= self.passes, "until": ""}

    def publish_version(self, event: Event) -> Event:
        """Takes as many tasks as there are ``switches``."""
        assert event["step"] == "PublishVersion"
        self._switched += 1
        return {"done": self._switched >= self.switches, "until": ""}

    def look_at_directories(self, event: Event) -> Event:
        """Takes as many tasks as there are passes."""
        self._looked += 1
        return {"cursor": self._looked, "done": self._looked >= self.passes, "until": ""}

    def begin_verification(self, event: Event) -> Event:
        prefix = f"{event['run']['prefix']}verification/"
        apart = "verify" if self.two_mounts else ""
        return {"run": {**event["run"], "prefix": prefix, "apart": apart}, "list": self._list_of_round(0, prefix)}

    def verify_shard(self, event: Event) -> Event:
        if self.mode == "verify":
            self._copied.add(event["shard"])
        return self._in_two(self._verified, event)

    def copy_shard(self, event: Event) -> Event:
        left = [cursor for cursor in self.cursors.get(event["shard"], ()) if cursor > event["cursor"]]
        cursor = left[0] if left else event["cursor"]
        if not left:
            self._copied.add(event["shard"])
        return {"run": event["run"], "shard": event["shard"], "cursor": cursor, "done": not left, "until": ""}

    def pace_copy(self, event: Event) -> Event:
        """Paces for some hundredths of a second, or notes that all is copied."""
        has_ended = event["step"] == "EndPacing"
        if has_ended:
            self._all_copied.set()
        done = has_ended or self._all_copied.wait(0.05)
        return {"run": event["run"], "shards": event["shards"], "done": done, "until": ""}

    def pack_shard(self, event: Event) -> Event:
        self._staged[event["shard"]] += 1
        cursor = self._staged[event["shard"]]
        return {"run": event["run"], "shard": event["shard"], "cursor": cursor, "done": False, "until": ""}

    def unpack_shard(self, event: Event) -> Event:
        """A shard with cursors has as many tails: what is staged, then what is not yet, in turn."""
        left = [cursor for cursor in self.cursors.get(event["shard"], ()) if cursor > self._unpacked[event["shard"]]]
        self._unpacked[event["shard"]] = left[0] if left else self._unpacked[event["shard"]]
        if not left:
            self._copied.add(event["shard"])
        following = ("unpack" if len(left) % 2 else "pack") if left else "done"
        copied = {"cursor": self._unpacked[event["shard"]], "done": not left, "until": "", "next": following}
        return {"run": event["run"], "shard": event["shard"], **copied}

    def digest_shard(self, event: Event) -> Event:
        return self._in_two(self._digested, event)

    def record_shard_failure(self, event: Event) -> None:
        self._failed.add(event["shard"])

    def summarise_transfer(self, event: Event) -> Event:
        """Closes the books as the real function does: first an error, then the balance, then failed entries.

        The language reserves the names ``States.*``: a Fail state may not report one, so the summary renames it.
        """
        if error := event["state"].get("error"):
            return {"status": "FAILED", "error": error["Error"].removeprefix("States."), "cause": error["Cause"]}
        if self.mode == "plan":
            return {"status": "SUCCEEDED", "error": "", "cause": ""}
        if missing := set(self.shards) - self._copied - self._failed:
            return {"status": "FAILED", "error": "LedgerBroken", "cause": f"no outcome: {sorted(missing)}"}
        if self._failed or self.rejected:
            cause = f"{len(self._failed)} shards failed, {self.rejected} entries are rejected"
            return {"status": "FAILED_WITH_ITEMS", "error": "FailedWithItems", "cause": cause}
        return {"status": "SUCCEEDED", "error": "", "cause": ""}
