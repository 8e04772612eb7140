"""Ends that are one place under two names, or lie in the work bucket, are refused before anything is changed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from fanout.adapters.posix.tree import PosixTree
from fanout.deleting.remove_directories import remove_directories
from fanout.finishing.finish_tree import finish_tree
from fanout.ledger.run_places import RESERVED
from fanout.model.document import Json
from fanout.model.entry import Kind
from fanout.model.errors import AccessDenied, InvalidRequest
from fanout.planning.check_mount import check_mount
from fanout.planning.plan_transfer import plan_transfer
from fanout.request.plan import Plan
from fanout.work.context import Context
from tests.support.flow import World
from tests.support.memory import MemoryTree
from tests.support.memory_store import MemoryObjects
from tests.support.two_mounts import TwoMounts

ELSEWHERE = {"source": "s3://b-bucket/", "destination": "efs:///x"}
BUCKETS = {"source": "s3://a-bucket/p/", "destination": "s3://other-s3alias/p/"}


def planned(world: World, request: Json, context: Context | None = None) -> Json:
    return plan_transfer(request, context or world.context(), ("data",), 10, "work", execution="run-1")


def asking(world: World, is_one: Callable[[Plan, str], bool]) -> Context:
    """An attempt in which this says whether both buckets are one."""
    context = world.context()
    return replace(context, ends=replace(context.ends, is_one_bucket=is_one))


@pytest.mark.parametrize(
    ("field", "request_"),
    [
        ("source", {"source": "s3://work/runs/", "destination": "s3://b-bucket/"}),
        ("source", {"source": "s3://work/runs/", "destination": "efs:///x", "mode": "move"}),
        ("destination", {"source": "s3://b-bucket/", "destination": "s3://work/locks/"}),
        ("destination", {"source": "efs:///x", "destination": "s3://work/anything/", "mode": "verify"}),
        ("manifest", {"source": "s3://b-bucket/", "destination": "efs:///x", "manifest": "s3://work/runs/r/x.jsonl"}),
        ("manifest", ELSEWHERE | {"manifest": "s3://work/staged/r/failures.jsonl"}),
        ("manifest", ELSEWHERE | {"manifest": "s3://work/runs/r/entries/failures.jsonl"}),
    ],
)
def test_the_work_bucket_is_no_end(field: str, request_: Json) -> None:
    with pytest.raises(InvalidRequest, match=f"{field}: .*lies in the stack's work bucket") as refused:
        planned(World(), request_)
    assert refused.value.field == field


def test_the_failures_of_a_run_are_a_manifest() -> None:
    world = World()
    world.objects.put("work", "runs/r/failures.jsonl", b'{"path": "x"}\n')
    manifest = {"manifest": "s3://work/runs/r/failures.jsonl"}
    assert planned(world, {"source": "s3://b-bucket/", "destination": "efs:///x"} | manifest)["list"]["count"] == 1


@pytest.mark.parametrize("run_id", RESERVED)
def test_a_name_beside_the_ledgers_is_no_run(run_id: str) -> None:
    world = World(run_id=run_id)
    with pytest.raises(InvalidRequest, match="is the name of another place in the work bucket"):
        planned(world, {"source": "s3://b-bucket/", "destination": "efs:///x"})
    assert list(world.ledger.keys("")) == []


@pytest.mark.parametrize(
    ("source", "is_refused"),
    [
        ("s3://an-s3alias/runs/", True),
        ("s3://an-s3alias/", True),
        ("s3://an-s3alias/staged/x/", True),
        ("s3://an-s3alias/reports/", False),
        ("s3://b-bucket/runs/", False),
    ],
)
def test_the_work_bucket_under_another_name_is_no_end(source: str, is_refused: bool) -> None:
    world = World()
    world.objects.put("an-s3alias", "runs/run-1/plan.json", b"{}")
    planned(world, {"source": source, "destination": "efs:///x"})
    if not is_refused:
        check_mount(world.context())
        return
    with pytest.raises(InvalidRequest, match=r"source: .*leads to the stack's work bucket"):
        check_mount(world.context())


class Closed(MemoryObjects):
    """Objects that may not be listed."""

    def lists(self, bucket: str, key: str) -> bool:
        raise AccessDenied("ListObjectsV2", f"s3://{bucket}/{key}", "allow it")


@pytest.mark.parametrize(("source", "is_refused"), [("", True), ("runs/x/", True), ("data/", False)])
def test_a_bucket_that_does_not_tell_whether_it_is_the_work_bucket_is_no_end_where_that_could_matter(
    source: str, is_refused: bool
) -> None:
    world = World(objects=Closed())
    planned(world, {"source": f"s3://b-bucket/{source}", "destination": "efs:///x"})
    if not is_refused:
        check_mount(world.context())
        return
    with pytest.raises(AccessDenied, match="tells the bucket from the stack's work bucket"):
        check_mount(world.context())


@pytest.mark.parametrize(("key", "is_refused"), [("runs/r/entries.jsonl", True), ("runs/r/failures.jsonl", False)])
def test_a_manifest_is_not_read_from_the_work_bucket_under_another_name(key: str, is_refused: bool) -> None:
    world = World()
    world.objects.put("an-s3alias", "runs/run-1/plan.json", b"{}")
    world.objects.put("an-s3alias", key, b'{"path": "x"}\n')
    planned(world, ELSEWHERE | {"manifest": f"s3://an-s3alias/{key}"})
    if not is_refused:
        check_mount(world.context())
        return
    with pytest.raises(InvalidRequest, match=r"manifest: .*leads to the stack's work bucket"):
        check_mount(world.context())


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({}, "p/.fanout-place-run-1"),
        ({"mode": "move"}, "p/.fanout-place-run-1"),
        ({"mode": "sync", "destination": "s3://other-s3alias/"}, "p/.fanout-place-run-1"),
        ({"destination": "s3://other-s3alias/p/deeper/"}, "p/deeper/.fanout-place-run-1"),
        ({"destination": "s3://other-s3alias/q/"}, None),
        ({"mode": "verify"}, "p/.fanout-place-run-1"),
        ({"mode": "verify", "destination": "s3://other-s3alias/q/"}, None),
        ({"mode": "plan"}, None),
    ],
)
def test_one_bucket_under_two_names_is_looked_for_where_prefixes_nest(change: Json, key: str | None) -> None:
    asked: list[str] = []

    def is_one(_plan: Plan, place: str) -> bool:
        asked.append(place)
        return True

    world = World()
    context = asking(world, is_one)
    if key is None:
        planned(world, BUCKETS | change, context)
    else:
        with pytest.raises(InvalidRequest, match="are names of one bucket"):
            planned(world, BUCKETS | change, context)
        assert not world.ledger.has("plan.json")
    assert asked == ([] if key is None else [key])


def _verified(change: Json, *, one: bool, denied: bool = False) -> tuple[World, Json]:
    """A run that only reads buckets of two names, which are one bucket or are not."""
    tree = MemoryTree()
    tree.put("a", Kind.FILE, b"a")
    other = MemoryTree()
    other.put("a", Kind.FILE, b"a")
    other.put("b", Kind.FILE, b"b")

    def is_one(_plan: Plan, place: str) -> bool:
        if denied:
            raise AccessDenied("CreateMultipartUpload", place, "allow it")
        return one

    world = World(source=tree, destination=tree if one else other)
    return world, planned(world, BUCKETS | change, asking(world, is_one))


def test_a_verification_of_one_bucket_under_two_names_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="are names of one bucket"):
        _verified({"mode": "verify"}, one=True)


def test_a_verification_that_may_not_tell_an_access_point_from_its_bucket_is_refused() -> None:
    with pytest.raises(AccessDenied, match="name the bucket behind the access point"):
        _verified({"mode": "verify"}, one=True, denied=True)
    assert _verified({"mode": "verify", "destination": "s3://copy/p/"}, one=True, denied=True)[1]["list"]["count"] == 1


def test_a_verification_of_buckets_that_differ_makes_no_upload() -> None:
    assert _verified({"mode": "verify"}, one=False, denied=True)[1]["list"]["count"] == 1


def test_a_plan_says_that_it_does_not_tell_one_bucket_from_another() -> None:
    world, _ = _verified({"mode": "plan"}, one=True, denied=True)
    (note,) = world.ledger.read_json("notes/measure.json")["notes"]
    assert note.startswith("s3://a-bucket/p/ and s3://other-s3alias/p/ show the same entries: a copy would first tell")


class OneDirectory(TwoMounts):
    """Two mounts of which ``archive`` shows a directory of ``data``."""

    shown, path = "data", "in"

    def destination_tree(self, nonce: str) -> PosixTree:
        return PosixTree(self.base / self.shown, self.path, self.run_id, nonce)


class Above(OneDirectory):
    path = ""


class Below(OneDirectory):
    shown, path = "data/in/d", "deep"


@pytest.fixture
def filled(tmp_path: Path) -> Path:
    for name in ("data/in/a", "data/in/d/b", "data/in/d/deep/c", "data/near/x"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    return tmp_path


def held(base: Path) -> dict[str, str]:
    return {str(one.relative_to(base)): one.read_text() for one in (base / "data").rglob("*") if one.is_file()}


@pytest.mark.parametrize("mode", ["copy", "sync", "move"])
@pytest.mark.parametrize(
    ("ends", "said"),
    [
        (OneDirectory, "is seen as efs://data/in/"),
        (Above, "is seen as efs://data/"),
        (Below, "is seen as efs://data/in/d/deep/"),
    ],
)
def test_two_mounts_of_one_directory_are_one_place(
    filled: Path, ends: Callable[[Path], TwoMounts], said: str, mode: str
) -> None:
    before = held(filled)
    with pytest.raises(InvalidRequest, match=said):
        ends(filled).list_all({"mode": mode})
    assert held(filled) == before


@pytest.mark.parametrize("mode", ["verify", "plan"])
@pytest.mark.parametrize(
    ("ends", "said"),
    [
        (OneDirectory, "efs://archive/out is seen as efs://data/in/"),
        (Above, "efs://data/in is seen as efs://archive/in/"),
        (Below, "efs://archive/out is seen as efs://data/in/d/deep/"),
    ],
)
def test_a_run_that_only_reads_one_directory_under_two_names_is_refused(
    filled: Path, ends: Callable[[Path], TwoMounts], said: str, mode: str
) -> None:
    run = ends(filled)
    before = sorted(filled.rglob("*"))
    with pytest.raises(InvalidRequest, match=said):
        run.list_all({"mode": mode})
    assert sorted(filled.rglob("*")) == before


def test_a_plan_to_a_directory_of_another_mount_that_is_not_there_yet_is_no_refusal(filled: Path) -> None:
    ends = TwoMounts(filled)
    assert ends.list_all({"mode": "plan"})["next"] == "plan"


@pytest.mark.parametrize("mode", ["copy", "move"])
@pytest.mark.parametrize("ends", [OneDirectory, Above, Below])
def test_a_refused_run_leaves_nothing_at_either_end(filled: Path, ends: Callable[[Path], TwoMounts], mode: str) -> None:
    """As the state machine goes on: FinishTree at the destination, and of a move RemoveDirectories at the source."""
    run = ends(filled)
    before = {one: one.lstat().st_mode for one in filled.rglob("*")}
    with pytest.raises(InvalidRequest):
        run.list_all({"mode": mode})
    assert finish_tree(run.destination())["done"]
    if mode == "move":
        remove_directories(run.source(), broken=True)
    assert {one: one.lstat().st_mode for one in filled.rglob("*")} == before


def test_a_directory_beside_the_source_is_another_place(filled: Path) -> None:
    class Beside(OneDirectory):
        path = "near"

    assert Beside(filled).run()["totals"]["copied"]["entries"] == 5
