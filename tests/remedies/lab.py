"""Two ends, and runs between them in one process through the real engine, where each remedy is followed."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fanout.adapters.given_tree import with_given_attributes
from fanout.adapters.posix.tree import PosixTree
from fanout.model.document import Json
from fanout.model.entry import Attributes, Entry, Kind
from fanout.model.errors import ItemError
from fanout.model.outcome import Reason
from fanout.model.shard import Receipt
from fanout.ports.tree import Tree
from fanout.request.parts.symlinks import Symlinks
from fanout.request.plan import Plan
from fanout.work.context import Context
from tests.support.archives import ArchivedTree
from tests.support.flow import World
from tests.support.manifests import json_lines
from tests.support.memory import MemoryTree
from tests.support.memory_files import MemoryBlocks, MemorySource, MemoryTarget
from tests.support.memory_store import MemoryStore
from tests.support.nobody import as_nobody

ENDS = {"mount": ("efs:///in", "efs:///out"), "bucket": ("s3://a-bucket/in/", "s3://b-bucket/out/")}
# What an attempt is, in the words of a remedy.
RETRY, START = "retry", "start"


class LostBlocks(MemoryBlocks):
    """An upload whose parts a lifecycle rule took away."""

    def complete(self, receipts: Sequence[Receipt], checksum: int, attributes: Attributes) -> None:
        """See ``ports.tree.BlockTarget``."""
        raise ItemError(Reason.DESTINATION_VANISHED, "NoSuchUpload")


class Bucket(MemoryTree):
    """A tree of keys; ``refuses`` raises for a path when its object is read or written."""

    refuses: dict[str, Exception]
    loses_parts = False

    def open_blocks(self, entry: Entry, token: str) -> MemoryBlocks:
        """See ``ports.tree.Tree``."""
        blocks = LostBlocks if self.loses_parts else MemoryBlocks
        return blocks(self, entry, self._begun[token])

    def open(self, entry: Entry) -> MemorySource:
        """See ``ports.tree.Tree``."""
        if entry.path in self.refuses:
            raise self.refuses[entry.path]
        return super().open(entry)

    def create(self, entry: Entry, attributes: Attributes) -> MemoryTarget:
        """See ``ports.tree.Tree``."""
        if entry.path in self.refuses:
            raise self.refuses[entry.path]
        return super().create(entry, attributes)


@dataclass
class Ends(World):
    """A world whose trees of files are those of the plan, as the functions make them."""

    lab: Any = None

    def context(self, state: str = "VerifyShard") -> Context:
        """A new attempt of a state."""
        made = super().context(state)
        return made.with_trees(
            lambda plan: with_given_attributes(self.lab.tree("source", plan, made.nonce), plan.request.attributes),
            lambda plan: self.lab.tree("destination", plan, made.nonce),
        )


def own_as_before(root: Path) -> None:
    """What a run without rights made is the functions' user's, which is the same in each run of a stack."""
    for path in [root, *root.rglob("*")] if root.exists() else ():
        os.chown(path, os.geteuid(), os.getegid(), follow_symlinks=False)


@dataclass
class Attempt:
    """A run that ended."""

    world: World
    summary: Json

    @property
    def troubles(self) -> dict[str, Json]:
        """The rows of failures.jsonl, by path."""
        return {row["path"]: row for row in self.world.ledger.read_rows("failures.jsonl")}

    def reasons(self) -> set[str]:
        """Every reason that stands in the run's ledger, of skipped entries too."""
        objects = self.world.store._objects  # type: ignore[attr-defined]
        found = {str(row["reason"]) for row in self.troubles.values()}
        for key in objects:
            if key.startswith(f"runs/{self.world.run_id}/") and "outcomes/" in key and key.endswith(".jsonl.gz"):
                rows = self.world.ledger.read_rows(key.removeprefix(f"runs/{self.world.run_id}/"))
                found |= {str(row["reason"]) for row in rows if row.get("reason")}
        return found


class Lab:
    """The ends ``source`` and ``destination``, each a mount or a bucket, and what was run between them."""

    def __init__(self, mount: Path, source: str = "mount", destination: str = "mount") -> None:
        self.mount, self.root, self.out = mount, mount / "in", mount / "out"
        self.root.mkdir()
        self.out.mkdir()
        for directory in (self.root, self.out):
            directory.chmod(0o777)
        self.first = World()
        self.buckets = {end: Bucket(self.first.changes) for end in ("source", "destination")}
        for bucket in self.buckets.values():
            bucket.refuses = {}
        self._kinds = {"source": source, "destination": destination}
        self.request: Json = {"source": ENDS[source][0], "destination": ENDS[destination][1]}
        self.made: dict[str, Any] = {}
        self.acts: list[str] = []
        self.runs: list[Attempt] = []
        self._were_denied = False
        self.requests: list[Json] = []

    def tree(self, end: str, plan: Plan, nonce: str) -> Tree:
        """The tree at an end, as a function of the plan's run makes it."""
        if self._kinds[end] == "bucket":
            bucket = self.buckets[end]
            bucket._overwrite = plan.request.overwrite
            if isinstance(bucket, ArchivedTree):
                bucket.tells = plan.request.brings_back
            return bucket
        kept = plan.request.backup_to if end == "destination" else None
        place = getattr(plan.request, end).path
        return PosixTree(
            self.mount,
            place,
            plan.run_id,
            nonce,
            end,
            follow=end == "source" and plan.request.symlinks is Symlinks.FOLLOW,
            overwrite=plan.request.overwrite,
            backup_to=kept.place if kept else "",
            replaces_kinds=end == "destination" and plan.request.replaces_kinds,
        )

    def write(self, path: str, data: str = "content", end: str = "source", **attributes: Any) -> Path:
        """Write a file or object at an end."""
        if self._kinds[end] == "bucket":
            kind = Kind.DIRECTORY if path.endswith("/") else Kind.FILE
            self.buckets[end].put(path, kind, data.encode(), Attributes(**attributes))
            return Path(path)
        file = (self.root if end == "source" else self.out) / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(data)
        return file

    def manifest(self, *rows: Any) -> Json:
        """Store a manifest of JSON lines; returns the request's field."""
        self.first.objects.put("lists", "a.jsonl", json_lines(list(rows)))
        return {"manifest": "s3://lists/a.jsonl"}

    def manifest_of(self, text: str) -> Json:
        """Store a manifest in CSV; returns the request's field."""
        self.first.objects.put("lists", "a.csv", text.encode())
        return {"manifest": "s3://lists/a.csv"}

    def run(
        self, changes: Json | None = None, *, denied: bool = False, during: Callable[[World], Any] | None = None
    ) -> Attempt:
        """A run of the request, by ``during`` if given; ``denied`` runs it as a user without rights."""
        request = self.request | (changes or {})
        return self._attempt(request, denied=denied, during=during)

    def _attempt(self, request: Json, *, denied: bool, during: Callable[[World], Any] | None) -> Attempt:
        world = Ends(run_id=f"run-{len(self.runs) + 1}", lab=self, **self.made)
        self.requests.append(request)
        world.store, world.clock = self.first.store, self.first.clock
        world.nonces, world.changes, world.objects = self.first.nonces, self.first.changes, self.first.objects

        def flow() -> Any:
            summary = during(world) if during is not None else world.run(request)
            assert isinstance(world.store, MemoryStore)
            return {"summary": summary, "ledger": {key: data.hex() for key, data in world.store._objects.items()}}

        if not denied and self._were_denied:
            own_as_before(self.out)
        self._were_denied = denied
        ran = as_nobody(flow) if denied else flow()
        if denied:
            world.store._objects = {key: bytes.fromhex(text) for key, text in ran["ledger"].items()}  # type: ignore[attr-defined]
        self.runs.append(Attempt(world, ran["summary"]))
        return self.runs[-1]

    def again(self, request: Json) -> Attempt:
        """A run of a request as a command started it."""
        return self._attempt(request, denied=False, during=None)

    def fails(self, reason: Reason, changes: Json | None = None, **how: Any) -> Attempt:
        """A run in which entries end with the reason."""
        ran = self.run(changes, **how)
        assert reason.value in ran.reasons(), (ran.reasons(), ran.troubles)
        return ran

    def retry(self, changes: Json | None = None, *, denied: bool = False) -> Attempt:
        """What ``fanout retry`` does: a run that resumes the last one, and ends green."""
        self.acts.append(RETRY)
        request = {"resume_from": self.runs[-1].world.run_id, **(changes or {})}
        return self._green(self._attempt(request, denied=denied, during=None))

    def start(self, changes: Json | None = None, **how: Any) -> Attempt:
        """The transfer started again, with changes to its request; it ends green."""
        self.acts.append(START)
        return self._green(self.run(changes, **how))

    def _green(self, ran: Attempt) -> Attempt:
        assert ran.summary["status"] == "SUCCEEDED", (ran.summary["status"], ran.troubles)
        return ran

    def held(self, end: str = "destination") -> dict[str, str]:
        """The files at an end, with their content; as names that lead there where they are symlinks."""
        if self._kinds[end] == "bucket":
            entries = self.buckets[end].contents()
            return {path: one.data.decode() for path, one in entries.items() if one.entry.kind is not Kind.DIRECTORY}
        root = self.root if end == "source" else self.out
        found = (path for path in root.rglob("*") if path.is_symlink() or path.is_file())
        return {
            os.fsencode(path.relative_to(root)).decode("utf-8", "surrogateescape"): (
                os.readlink(path) if path.is_symlink() else path.read_text()
            )
            for path in found
            if not path.relative_to(root).parts[0].startswith(".fanout")
        }
