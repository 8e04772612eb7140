"""Records what a run of the adversary did, in the words of `model/src/protocol.rs`: one event a line.

Each event is noted where it takes effect: at the file system, in the bucket, in the work bucket. So an operation that
was carried out before its function was killed is there, and one that was refused is not.
"""

from __future__ import annotations

import json
import os
from hashlib import sha256
from typing import Any

from fanout.ledger import keys, run_places
from fanout.ledger.ledger import Ledger
from fanout.shards.partitioned import SHARDS
from fanout.turns.write_turn import writers_from_bytes
from tests.adversary.buckets import BucketPlace
from tests.adversary.conductor import Attempt
from tests.adversary.lab import Lab
from tests.adversary.script import STAGING
from tests.adversary.states import LABELS
from tests.adversary.trees import MountPlace, Place

Json = Any
ENDS = ("source", "destination")
# The tasks of the model, by the words of scripts for states.
TASKS = {
    "check": "check",
    "list": "check",
    "finish": "finish",
    "finish shard": "finish",
    "delete": "delete",
    "remove directories": "delete",
}
SHORT_WAY = LABELS["ShortWay"]
NOTHING = 0
# In the model a content is a byte; the last ones mean something else.
MOST_VERSIONS = 250
_RESULTS = {"copied": "copied", "unchanged": "unchanged", "failed": "failed", "rejected": "failed"}


class Recorder:
    """The trace of one script. ``lab`` is set when the laboratory stands; nothing is noted before."""

    def __init__(self) -> None:
        self.lab: Lab | None = None
        self.head: Json = {"modes": [], "resumes": [], "beside": False}
        self.events: list[Json] = []
        self.runs: dict[str, int] = {}
        self._resumed: dict[str, str] = {}
        self._modes: dict[str, str] = {}
        self._files: dict[str, int] = {}
        self._versions: dict[bytes, int] = {}
        self._attempts: dict[int, int] = {}
        self._kept: list[Attempt] = []
        self._stands: dict[str, dict[str, int]] = {}
        self._listing: set[str] = set()
        self._marks: dict[str, set[str]] = {}
        self._lists: dict[str, set[str]] = {}

    def begin(self, lab: Lab) -> None:
        """The laboratory stands, and nothing has happened yet."""
        self.lab = lab
        self._places: dict[str, Place] = {"source": lab.source, "destination": lab.destination}
        self.head["buckets"] = [isinstance(self._places[end], BucketPlace) for end in ENDS]
        self._stands = {end: self._seen(end) for end in ENDS}
        self._first = {end: dict(self._stands[end]) for end in ENDS}

    def lines(self) -> str:
        """The trace as text: the head, and the events."""
        paths = list(self._files)
        for end in ENDS:
            self.head[end] = [self._first[end].get(path, NOTHING) for path in paths]
        return "".join(f"{json.dumps(one)}\n" for one in (self.head, *self.events))

    # Who and what, by number.

    def file(self, path: str) -> int:
        """The number of a path, which both ends share."""
        return self._files.setdefault(path, len(self._files))

    def version(self, data: bytes) -> int:
        """The number of a content."""
        found = self._versions.setdefault(sha256(data).digest(), len(self._versions) + 1)
        assert found <= MOST_VERSIONS
        return found

    def note(self, name: str, **fields: Any) -> None:
        """An event."""
        self.events.append({name: fields})

    def current(self) -> tuple[Attempt, int, str] | None:
        """The function at work, its number, and the name of its run, if that writes."""
        mine = self.lab.conductor.current if self.lab else None
        if mine is None or mine.run.name not in self.runs:
            return None
        if id(mine) not in self._attempts:
            self._kept.append(mine)  # so that no other one gets its id
            self._attempts[id(mine)] = len(self._attempts)
            task = TASKS.get(mine.state, "copy")
            number, run = self._attempts[id(mine)], self.runs[mine.run.name]
            self.note("begin", attempt=number, run=run, task=task, file=0)
        return mine, self._attempts[id(mine)], mine.run.name

    def asked(self, run: str, request: Json) -> None:
        """What a run is asked to do."""
        self._modes[run] = request.get("mode", "copy")
        self._resumed[run] = request.get("resume_from", "")
        self.head["beside"] |= "manifest" in request

    # What a function did.

    def entered(self, key: str, data: bytes) -> None:
        """The list of writers of a store is another one."""
        names = {one.run_id for one in writers_from_bytes(data)}
        before, self._lists[key] = self._lists.get(key, set()), names
        for name in sorted(names - before):
            if name in self.runs or name not in self._modes:
                continue  # a move, at its other end; a run between other ends
            self.runs[name] = len(self.runs)
            resumed = self._resumed.get(name, "")
            self.head["modes"].append(self._modes[resumed or name])
            self.head["resumes"].append(self.runs.get(resumed))
            self.note("take_turn", run=self.runs[name])
            if self.lab is not None and name not in self.lab.going:
                self.ended(name)  # it was stopped before it entered
        mine = self.lab.conductor.current if self.lab else None
        left = before - names
        if (
            mine is not None
            and mine.run.name in left & self.runs.keys()
            and not any(mine.run.name in one for one in self._lists.values())
        ):
            self.note("leave", run=self.runs[mine.run.name])
        if len(self._lists) == 1:
            self.note("writers", runs=sorted(self.runs[name] for name in names & self.runs.keys()))

    def wrote(self, key: str, data: bytes) -> None:
        """An object of the work bucket."""
        found = self.current()
        if found is None:
            return
        _, attempt, run = found
        name = key.removeprefix(f"runs/{run}/")
        ends = ENDS if self._modes[self._resumed.get(run, "") or run] == "move" else ENDS[1:]
        wanted = {end for end in ends if not self.head["buckets"][ENDS.index(end)]}
        if name in (keys.STAGED, keys.SOURCE_STAGED):  # before it is noted nobody writes by the directory
            self.note("stage", attempt=attempt, end="source" if name == keys.SOURCE_STAGED else "destination")
        elif name in (keys.FENCED, keys.SOURCE_FENCED):
            end, marks = "source" if name == keys.SOURCE_FENCED else "destination", self._marks.setdefault(run, set())
            if {*marks, end} == wanted != marks:
                self.note("mark_fenced", attempt=attempt)
            marks.add(end)
        elif name == SHARDS and run in self._listing:
            self._listing.discard(run)
            self.note("partition", run=self.runs[run])
        elif name.startswith((keys.OUTCOMES, keys.BIG_FILE_OUTCOMES)) and name.endswith(".jsonl.gz"):
            self._outcomes(key, data, attempt)
        elif name.startswith(f"{run_places.VERIFICATION}{keys.DELETIONS}"):
            self.note("compare", run=self.runs[run])
        elif name == keys.SUMMARY:
            green = json.loads(data)["status"] == "SUCCEEDED"
            self.note("closed", run=self.runs[run], green=green)

    def _outcomes(self, key: str, data: bytes, attempt: int) -> None:
        assert self.lab is not None
        for row in Ledger(self.lab.store.plain, key.split("/")[1]).read_rows_as(key.split("/", 2)[2], lambda row: row):
            result = _RESULTS.get(row.get("outcome", ""))
            if result is not None and row.get("kind") == "file":
                self.note("note", attempt=attempt, file=self.file(row["path"]), outcome=result)

    def listing(self, run: str) -> None:
        """A function begins to list."""
        if run in self.runs and run not in self._marks.get("listed", set()):
            self._marks.setdefault("listed", set()).add(run)
            self._listing.add(run)
            assert self.lab is not None
            # The short way knows it, and writes it before any record of what it has listed.
            knows = any(one.run.name == run and one.state == SHORT_WAY for one in self.lab.conductor.attempts)
            if (self.head["buckets"][1] or knows) and run not in self._marks:
                found = self.current()
                assert found is not None
                self.note("mark_fenced", attempt=found[1])
                self._marks[run] = set(ENDS)
            self.note("list", run=self.runs[run])

    def ended(self, run: str) -> None:
        """An execution goes on no more."""
        if run in self.runs:
            self.note("ended", run=self.runs[run])

    # What stands at the ends.

    def _seen(self, end: str) -> dict[str, int]:
        assert self.lab is not None
        with self.lab.conductor.paused():
            found = self._places[end].snapshot()
        return {path: self.version(one.data) for path, one in found.items() if one.kind == "file"}

    def changed(self) -> None:
        """Somebody else may have changed what stands there."""
        for end in ENDS:
            before, now = self._stands[end], self._seen(end)
            self._stands[end] = now
            for path in before.keys() | now.keys():
                if before.get(path) != now.get(path):
                    self.note("write", end=end, file=self.file(path), version=now.get(path, NOTHING))
            place = self._places[end]
            if isinstance(place, MountPlace):
                there = set(os.listdir(place.root)) if place.root.is_dir() else set()
                for run, number in self.runs.items():
                    if f"{STAGING}{run}" not in there:
                        self.note("unstage", run=number, end=end)

    def stands(self) -> None:
        """What stands there is what the events came to."""
        for end in ENDS:
            now = self._seen(end)
            for path in self._files:
                self.note("stands", end=end, file=self.file(path), version=now.get(path, NOTHING))

    def put(self, end: str, path: str, data: bytes) -> None:
        """A file is there, whole."""
        found = self.current()
        if found is not None and end == "destination":
            version = self.version(data)
            self._stands[end][path] = version
            self.note("place", attempt=found[1], file=self.file(path), version=version)

    def removed(self, end: str, path: str) -> None:
        """A file is gone."""
        found = self.current()
        if found is not None and self._stands[end].pop(path, None) is not None:
            self.note("unlink", attempt=found[1], end=end, file=self.file(path))

    def looked(self, path: str) -> None:
        """A function that deletes looked at an entry."""
        found = self.current()
        if found is not None and TASKS.get(found[0].state) == "delete":
            self.note("look_at_entry", attempt=found[1], file=self.file(path))
