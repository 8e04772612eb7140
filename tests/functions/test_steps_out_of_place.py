"""Each state's function, invoked by hand at each place of a run's flow: SUCCEEDED never stands for less than is done.

A run either ends as it would have ended without the event, or it is broken off with a named cause.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import pytest

from fanout.flow.belongs import RUNS
from fanout.model.document import Json
from fanout.model.errors import FanoutError
from tests.functions.run_at_work import BUCKET, MOUNT, OTHER, RUN, flow
from tests.functions.test_events_of_stopped_runs import events
from tests.support.handler_flow import HandlerFlow

__all__ = ["flow"]

GUARD: Json = {"delete_guard": {"max_percent": 100}}
REQUESTS: dict[str, Json] = {
    "copy": {"source": BUCKET, "destination": MOUNT, "verify": "copied"},
    "copy between mounts": {"source": OTHER, "destination": MOUNT, "verify": "all"},
    "sync": {"source": BUCKET, "destination": MOUNT, "mode": "sync", **GUARD},
    "sync without extras": {"source": BUCKET, "destination": MOUNT, "mode": "sync"},
    "sync between mounts": {"source": OTHER, "destination": MOUNT, "mode": "sync", **GUARD},
    "move": {"source": BUCKET, "destination": MOUNT, "mode": "move"},
    "move between mounts": {"source": OTHER, "destination": MOUNT, "mode": "move"},
    "publish": {"source": BUCKET, "destination": MOUNT, "publish": {"link": "current"}},
    "publish what is verified": {
        "source": BUCKET,
        "destination": MOUNT,
        "publish": {"link": "current"},
        "verify": "copied",
    },
}
# What a state that is handed the whole state is told of the run.
WHOLE: dict[str, Json] = {
    "as it is": {},
    "broken off": {"error": {"Error": "X", "Cause": "forged"}},
    "with extras": {"shards": {"extras": 1, "restores": ""}},
}
HANDED_ALL = ("FinishTree", "RemoveDirectories", "PublishVersion")
# PaceCopy looks for minutes at the Map that it paces.
OTHERS = tuple(step for step in RUNS if step not in ("PaceCopy", "EndPacing", *HANDED_ALL))
# The request, the place, the step, and what it is told.
Case = tuple[str, str, str, str]


@pytest.fixture
def tree(s3: Any, tmp_path: Path, flow: HandlerFlow) -> HandlerFlow:
    """Directories at the sources."""
    for place in (tmp_path / "archive/in/d", tmp_path / "archive/in/d/e"):
        place.mkdir(mode=0o755)
        (place / "f").write_bytes(b"good")
        s3.put_object(Bucket="data-bucket", Key=f"{place.relative_to(tmp_path / 'archive')}/f", Body=b"good")
    for key in ("in/d/", "in/empty/"):
        s3.put_object(Bucket="data-bucket", Key=key, Body=b"")
    (tmp_path / "archive/in/empty").mkdir(mode=0o755)
    return flow


def with_extras(request: Json, mounts: Path) -> None:
    """What a sync is to delete."""
    if "delete_guard" in request:
        (mounts / "data/out/extras").mkdir(parents=True)
        for name in ("a", "extra", "extras/x"):
            (mounts / "data/out" / name).write_bytes(b"older")


def found(s3: Any, mounts: Path) -> Json:
    """What is at the ends: kinds, modes, contents."""
    places: Json = {}
    for one in sorted((*mounts.glob("data/**/*"), *mounts.glob("archive/**/*"))):
        name = str(one.relative_to(mounts))
        if ".fanout-" in name or "/versions/." in name:
            continue
        held = one.lstat()
        content: Any = os.readlink(one) if one.is_symlink() else one.read_bytes() if one.is_file() else ""
        places[name] = stat.S_IFMT(held.st_mode), stat.S_IMODE(held.st_mode), str(content)
    for row in s3.list_objects_v2(Bucket="data-bucket").get("Contents", ()):
        places[f"s3/{row['Key']}"] = row["ETag"]
    return places


def ends(flow: HandlerFlow, request: Json) -> str:
    """How the run ends: its status, or the named cause."""
    try:
        return str(flow.run(RUN, request)["status"])
    except FanoutError as error:
        return f"{type(error).__name__}: {error}"


def places(request: Json) -> list[str]:
    """The states of a run, in their order."""
    apart, mode = request["source"] == OTHER, request.get("mode", "")
    copied = ["PackShard", "UnpackShard"] if apart else ["CopyShard"]
    listed = ["CheckOtherMount", "ListDestination"] if apart else ["ListOneSegment"]
    later = {
        "sync": ["BeginDeletion", "DeleteShard", "RemoveDirectories"] if "delete_guard" in request else [],
        "move": ["BeginVerification", "VerifyShard", "BeginDeletion", "DeleteShard", "RemoveDirectories"],
        "copied": ["VerifyShard"],
        "all": ["BeginVerification", "VerifyShard"],
        "none": [],
    }[mode or request.get("verify", "none")]
    published = ["PublishVersion"] if "publish" in request else []
    ordered = ["CheckMount", *listed, "GatherSegments", "PartitionShards", *copied, "FinishTree"]
    return [*ordered, *later, *published, "SummariseTransfer"]


def cases(steps: Iterable[str]) -> Iterator[Case]:
    """Each step, with all that it can be told, at each place of each run."""
    for name, request in REQUESTS.items():
        for place in places(request):
            for step in steps:
                if step != "PublishVersion" or "publish" in request:
                    yield from ((name, place, step, whole) for whole in (WHOLE if step in HANDED_ALL else ["as it is"]))


def drawn() -> list[Case]:
    """All at the place where a copy has ended and its tree is not finished, and some of the others."""
    handed = list(cases(HANDED_ALL))
    open_trees = [one for one in handed if one[1] == "FinishTree" and one[2] != "FinishTree"]
    draw = Random("steps out of place")
    return [*open_trees, *draw.sample(handed, 20), *draw.sample(list(cases(OTHERS)), 20)]


@pytest.mark.parametrize("case", drawn(), ids="-".join)
def test_a_run_ends_as_it_would_or_is_broken_off(tree: HandlerFlow, s3: Any, tmp_path: Path, case: Case) -> None:
    name, place, step, whole = case

    def send() -> None:
        for _, event in events([step]):
            with suppress(FanoutError):
                tree.step(step, {**event, "state": {**event["state"], **WHOLE[whole]}})

    tree.before[place] = send
    with_extras(REQUESTS[name], tmp_path)
    ended = ends(tree, REQUESTS[name])
    assert place not in tree.before, "the run did not come there"
    if ended == "SUCCEEDED":
        assert found(s3, tmp_path) == whole_tree(name)
    else:
        assert ended in ("FAILED", "FAILED_WITH_ITEMS") or ": " in ended


def whole_tree(name: str) -> Json:
    """What a run that nobody disturbs leaves at both ends."""
    directory, link = (stat.S_IFDIR, 0o755, ""), (stat.S_IFLNK, 0o777, f"versions/{RUN}")
    tree: Json = dict.fromkeys(("a", "b", "c", "d/f", "d/e/f"), (stat.S_IFREG, 420, "b'good'"))
    tree |= dict.fromkeys(("d", "d/e", "empty"), directory)
    publishes = "publish" in REQUESTS[name]
    below = f"data/out/versions/{RUN}" if publishes else "data/out"
    left: Json = dict.fromkeys(("data/in", "data/out", "archive/in", below), directory)
    left |= {f"{below}/{path}": one for path, one in tree.items()}
    if publishes:
        left |= {"data/out/current": link, "data/out/versions": directory}
    if name != "move between mounts":
        left |= {f"archive/in/{path}": one for path, one in tree.items()}
    if name != "move":
        good, nothing = '"755f85c2723bb39381c7379a604160d8"', '"d41d8cd98f00b204e9800998ecf8427e"'
        left |= {f"s3/in/{path}": good for path, one in tree.items() if one != directory}
        left |= {"s3/in/d/": nothing, "s3/in/empty/": nothing}
    return left


@pytest.mark.parametrize("name", REQUESTS)
def test_a_run_that_nobody_disturbs_comes_to_each_place(tree: HandlerFlow, s3: Any, tmp_path: Path, name: str) -> None:
    with_extras(REQUESTS[name], tmp_path)
    assert ends(tree, REQUESTS[name]) == "SUCCEEDED"
    assert set(places(REQUESTS[name])) <= set(tree.called)
    assert found(s3, tmp_path) == whole_tree(name)
