"""Runs of every kind under the deployed rights: between which ends, of which mode, and with what accident."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any
from unittest.mock import patch

from msgspec.structs import replace as with_fields

from fanout.adapters.posix.tree import PosixTree
from fanout.facts import tuning
from fanout.model.document import Json
from fanout.model.entry import Entry, Kind
from fanout.model.location import S3Location
from fanout.ports.tree import Tree
from tests.functions.kinds_of_runs import SOURCE, TARGET
from tests.support.archives import ArchivedTree, FakeArchive
from tests.support.batch_operations import MemoryJobs
from tests.support.deployed import Break, Deployed, DeployedPublishing, DeployedSides
from tests.support.flow import ManualClock
from tests.support.memory import MemoryEntryCopier, MemoryTree
from tests.support.memory_files import MemorySource
from tests.support.publishing import REQUEST as PUBLISH
from tests.support.signing import LocalSigner
from tests.support.telling import Telling

Case = tuple[Deployed, Json]
FROM_S3, TO_S3 = f"s3://{SOURCE}/moved/", f"s3://{TARGET}/out/"
ENDS = {
    "mount to S3": ("efs:///in", TO_S3),
    "S3 to mount": (FROM_S3, "efs:///out"),
    "S3 to S3": (FROM_S3, TO_S3),
    "one mount": ("efs:///in", "efs:///out"),
    "two mounts": ("efs://data/in", "efs://archive/out"),
}
GUARD: Json = {"delete_guard": {"max_percent": 100}}
# By mode and by what follows the copy.
COURSES: dict[str, Json] = {
    **{f"copy, verify {one}": {"verify": one} for one in ("none", "copied", "all", "content")},
    **{f"sync, verify {one}": {"mode": "sync", "verify": one, **GUARD} for one in ("none", "copied", "all")},
    "move": {"mode": "move"},
    "verify": {"mode": "verify"},
    "plan": {"mode": "plan"},
    "certificate": {"verify": "all", "certificate": True},
}


def request(ends: str, course: str, **more: Any) -> Json:
    """The request of a run."""
    source, destination = ENDS[ends]
    return {"source": source, "destination": destination, **COURSES[course], **more}


class Bucket(MemoryTree):
    """A tree of objects; those without metadata have the time of their listing alone."""

    def open(self, entry: Entry) -> MemorySource:
        """See ``ports.tree.Tree``."""
        found, kept = super().open(entry), self.contents()[entry.path]
        has_metadata = kept.attributes.mtime_ns is not None
        modified = with_fields(kept.attributes, modified_ns=kept.entry.mtime_ns)
        return found if has_metadata else MemorySource(with_fields(kept, attributes=modified))


def stack(ends: str, run_id: str = "run-1", **more: Any) -> Deployed:
    """A stack with two empty ends."""
    if ends != "two mounts":
        made = Deployed(run_id=run_id, signer=LocalSigner(), **more)
        if ends == "S3 to S3":
            source, destination = Bucket(made.changes), Bucket(made.changes)
            made.source, made.destination, made.copier = source, destination, MemoryEntryCopier(source, destination)
        return made
    base = Path(mkdtemp(prefix="deployed-"))
    for one in ("data/in", "archive"):
        (base / one).mkdir(parents=True)
    found = DeployedSides(run_id=run_id, mounts=("data", "archive"), signer=LocalSigner(), base=base, **more)
    return on_mounts(found)


def on_mounts(one: Deployed) -> Deployed:
    """The two mounts as a run of this id sees them."""
    assert isinstance(one, DeployedSides)
    one.source = PosixTree(one.base / "data", "in", one.run_id, "s", "source")
    one.destination = PosixTree(one.base / "archive", "out", one.run_id, "d")
    return one


def fill(one: Deployed, files: int = 4, extras: int = 2) -> Deployed:
    """Files and directories at the source; at the destination an older one of them, and extras."""
    for number in range(files):
        put(one, "source", f"d{number % 2}/f{number}", b"x" * number)
    if files:
        put(one, "destination", "d0/f0", b"older")
    for number in range(extras):
        put(one, "destination", f"old/f{number}", b"extra")
    return one


def put(one: Deployed, end: str, path: str, data: bytes) -> None:
    """A file of an end."""
    tree: Tree = getattr(one, end)
    if isinstance(tree, MemoryTree):
        above = path.rpartition("/")[0] + "/"
        if tree.find(above) is None:
            tree.put(above, Kind.DIRECTORY)
        tree.put(path, Kind.FILE, data)
        return
    assert isinstance(one, DeployedSides)
    place = one.base / {"source": "data/in", "destination": "archive/out"}[end] / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(data)


@contextmanager
def large() -> Iterator[None]:
    """Every tree is large: many rounds of a listing, shards and rounds of finishing."""
    figures = {
        "FINISH_ALONE_SECONDS": 0.0,
        "SHARD_SECONDS_MIN": 0.001,
        "SHARD_ENTRIES": 2,
        "FIRST_SEGMENT_ENTRIES": 2,
        "SEGMENT_ENTRIES": 3,
    }
    with ExitStack() as patched:
        for name, value in figures.items():
            patched.enter_context(patch.object(tuning, name, value))
        yield


def archived(**more: Any) -> Deployed:
    """A stack whose source has archived objects."""
    clock, changes = ManualClock(), itertools.count(1)
    archive = FakeArchive(clock)
    tree = ArchivedTree(changes, archive)
    tree.put("plain", Kind.FILE, b"plain")
    tree.put_archived("cold", b"cold")
    return Deployed(changes, tree, clock=clock, archive=archive, **more)


def computing() -> Deployed:
    """A stack with two buckets whose objects tell no checksums."""
    trees = {"source": Telling(()), "destination": Telling(())}
    for tree in trees.values():
        tree.put("a", Kind.FILE, b"the same")
    found = Deployed(source=trees["source"], destination=trees["destination"])
    places = {"source": S3Location(SOURCE, "moved/"), "destination": S3Location(TARGET, "out/")}
    found.checksum_jobs = MemoryJobs(dict(trees), places, found.plain)
    return found


def publishing(**more: Any) -> DeployedPublishing:
    """A stack with a mount on which a tree is published."""
    mount = Path(mkdtemp(prefix="deployed-"))
    found = DeployedPublishing(mount=mount, **more)
    put(found, "source", "d/f", b"content")
    return found


def published() -> DeployedPublishing:
    """The next run of a tree that one run has published."""
    one = publishing(run_id="v1")
    assert one.run(PUBLISHES)["status"] == "SUCCEEDED"
    found: DeployedPublishing = one.next_run("run-2")
    return found


PUBLISHES: Json = {**PUBLISH, "source": FROM_S3, "publish": {"link": "current", "keep": 1, "keep_hours": 0}}


# Whole runs under those rights


def run(one: Deployed, asked: Json) -> Json:
    """The summary of a run, in which no state lacked a right."""
    summary = one.run(asked)
    assert one.denied == []
    return summary


KINDS: dict[str, Callable[[], Case]] = {
    "short": lambda: (fill(stack("mount to S3", short=True)), request("mount to S3", "copy, verify none")),
    "copy": lambda: (fill(stack("one mount")), request("one mount", "copy, verify all")),
    "sync": lambda: (fill(stack("one mount")), request("one mount", "sync, verify all")),
    "move": lambda: (fill(stack("one mount")), request("one mount", "move")),
    "apart": lambda: (
        fill(stack("two mounts")),
        request("two mounts", "sync, verify all", compare="checksum", limits={"shard_seconds": 0.1}),
    ),
    "large": lambda: (fill(stack("mount to S3"), 9), request("mount to S3", "copy, verify all")),
    "archived": lambda: (archived(), request("S3 to mount", "copy, verify all", archived="restore")),
    "computed": lambda: (computing(), {**request("S3 to S3", "verify"), "verify": "content", "checksums": "computed"}),
    "publish": lambda: (publishing(run_id="v1"), {**PUBLISHES, "verify": "all"}),
    "back": lambda: (published(), {**PUBLISHES, "mode": "rollback", "source": "efs:///site/versions/v1"}),
    "copied": lambda: (fill(stack("mount to S3")), request("mount to S3", "copy, verify copied")),
    "short, copied": lambda: (fill(stack("mount to S3", short=True)), request("mount to S3", "copy, verify copied")),
    "short sync": lambda: (fill(stack("mount to S3", short=True)), request("mount to S3", "sync, verify none")),
    "short, verified": lambda: (fill(stack("mount to S3", short=True)), request("mount to S3", "copy, verify all")),
    "large, short": lambda: (fill(stack("mount to S3", short=True), 9), request("mount to S3", "copy, verify all")),
    "apart, moved": lambda: (fill(stack("two mounts")), request("two mounts", "move")),
    "nothing": lambda: (stack("two mounts"), request("two mounts", "copy, verify none")),
    "plan": lambda: (fill(stack("one mount")), request("one mount", "plan")),
    "verify": lambda: (fill(stack("one mount")), request("one mount", "verify")),
}
# States of which another state fails first.
AFTER = {"RecordShardFailure": "CopyShard", "TakeOver": "ShortWay"}
# Where a state finds its window closed, so do these that follow.
TOGETHER = {
    "ListOneSegment": ["GatherSegments"],
    "ListSegment": ["GatherSegments"],
    "ListDestination": ["ListSegment", "GatherSegments"],
    "LookAtSource": ["DeleteShard"],
}


def broken(kind: str, *breaks: Break) -> tuple[Deployed, Json]:
    """A run in which tasks break, and its summary."""
    one, asked = KINDS[kind]()
    one.breaks = list(breaks)
    with large() if kind.startswith(("large", "apart")) else nullcontext():
        summary = run(one, asked)
    assert all(failing.has_hit for failing in breaks)
    return one, summary


@cache
def failed(state: str, kind: str, compares: bool, after: bool) -> tuple[Deployed, Json]:
    """A run in which a state fails, before its work or after it."""
    first = [Break(AFTER[state])] if state in AFTER else []
    return broken(kind, Break(state, after, compares, always=state.startswith("items")), *first)


@cache
def paused(state: str, kind: str, compares: bool, again: bool) -> tuple[Deployed, Json]:
    """A run of which the window closes before a state works; or the state has no time and works ``again``."""
    pauses = [Break(one, compares=compares, closed=not again, again=again) for one in (state, *TOGETHER.get(state, ()))]
    return broken(kind, *pauses)


@cache
def handed_on(state: str) -> tuple[Deployed, Json]:
    """A run whose short way breaks off at a state."""
    return broken("short", Break(f"short {state}"))


@cache
def plain(kind: str) -> tuple[Deployed, Json]:
    """A run in which nothing breaks."""
    return broken(kind)
