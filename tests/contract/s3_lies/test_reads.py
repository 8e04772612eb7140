"""Whole runs against an S3 whose answers to reads and listings are another's, or torn."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fanout.adapters.posix.tree import PosixTree
from fanout.adapters.s3.client.client import S3Client
from fanout.adapters.s3.copier import S3EntryCopier
from fanout.facts.tuning import BLOCK_BYTES
from fanout.facts.units import MIB
from fanout.model.document import Json
from fanout.model.errors import ListingIncomplete
from fanout.model.location import S3Location
from fanout.model.segment import Segment
from tests.contract.s3_lies.ends import TO_KEYS, bodies_of, failures, fill, objects, tree_at
from tests.support import lying_s3
from tests.support.flow import World
from tests.support.lying_s3 import LyingS3, about
from tests.support.s3_servers import Lack, S3Server

TO_FILES = {"source": "s3://a-bucket/in/", "destination": "efs:///copy", "verify": "copied"}
INSIDE = {"source": "s3://a-bucket/in/", "destination": "s3://b-bucket/in/", "verify": "copied"}


def files(directory: Path) -> dict[str, bytes]:
    found = [path for path in directory.rglob("*") if path.is_file()]
    return {str(path.relative_to(directory)): path.read_bytes() for path in found}


def to_files(client: S3Client, there: S3Location, directory: Path) -> World:
    return World(source=tree_at(client, there), destination=PosixTree(directory, "", "run-1", "n"))


@pytest.mark.parametrize("checksums", [True, False], ids=["with checksums", "without checksums"])
def test_lies_that_pass_change_nothing(
    client: S3Client,
    deceived: S3Client,
    liar: LyingS3,
    locations: Iterator[S3Location],
    tmp_path: Path,
    s3_server: S3Server,
    checksums: bool,
) -> None:
    there, back, twin = next(locations), next(locations), next(locations)
    bodies = bodies_of(40, large=1)
    fill(client, there, bodies, checksums=checksums)
    skipped = () if s3_server.name != "moto" else (lying_s3.PAGE_SKIPPED,)  # moto does not echo the token
    lies = tuple(lie for lie in lying_s3.LIES if lie not in skipped)
    liar.choose = lying_s3.at_random(seed=11, fraction=0.12, lies=lies)
    assert_whole(to_files(deceived, there, tmp_path).run(TO_FILES), len(bodies))
    assert files(tmp_path) == bodies
    directory = PosixTree(tmp_path, "", "run-2", "n")
    summary = World(source=directory, destination=tree_at(deceived, back), run_id="run-2").run(TO_KEYS)
    assert_whole(summary, len(bodies) + 3)
    assert objects(client, back) == bodies
    if Lack.COPIED_RANGE_CHECKSUMS not in s3_server.lacks:
        copier = S3EntryCopier(deceived, there, twin, whole_bytes=8 * MIB, part_bytes=5 * MIB)
        ends = tree_at(deceived, there), tree_at(deceived, twin)
        world = World(source=ends[0], destination=ends[1], copier=copier)
        assert_whole(world.run(INSIDE), len(bodies))
        assert objects(client, twin) == bodies
    many = {lying_s3.ANOTHERS, lying_s3.DOUBLED, lying_s3.ERROR_INSIDE, lying_s3.HTML_INSIDE, lying_s3.HTML_AFTER}
    assert {lie for lie, _ in liar.told} >= many


def assert_whole(summary: Json, entries: int) -> None:
    assert (summary["status"], summary["balanced"]) == ("SUCCEEDED", True)
    assert summary["totals"]["copied"]["entries"] == entries


READ_LIES = [
    ("GetObject", lying_s3.ANOTHERS),
    ("GetObject", lying_s3.HTML_INSIDE),
    ("GetObject", lying_s3.NOTHING_INSIDE),
]


@pytest.mark.parametrize(("operation", "lie"), READ_LIES)
def test_an_object_whose_answer_is_never_its_own_is_a_failed_entry(
    client: S3Client,
    deceived: S3Client,
    liar: LyingS3,
    locations: Iterator[S3Location],
    tmp_path: Path,
    operation: str,
    lie: str,
) -> None:
    there, bodies = next(locations), bodies_of(12)
    fill(client, there, bodies)
    deceived.get_object(there.bucket, "in/d0/f00")  # for the liar to tell
    liar.choose = about(operation, lie, "/d1/f07")
    world = to_files(deceived, there, tmp_path)
    summary = world.run(TO_FILES)
    assert (summary["status"], summary["balanced"]) == ("FAILED_WITH_ITEMS", True)
    assert failures(world) == {"d1/f07": "failed after retries"}
    assert files(tmp_path) == {path: body for path, body in bodies.items() if path != "d1/f07"}


@pytest.mark.parametrize("lie", [lying_s3.ANOTHERS, lying_s3.WRONG_RANGE])
@pytest.mark.parametrize("times", [1, 10**9], ids=["once", "always"])
def test_a_large_object_without_a_checksum_is_never_torn(
    client: S3Client,
    deceived: S3Client,
    liar: LyingS3,
    locations: Iterator[S3Location],
    tmp_path: Path,
    lie: str,
    times: int,
) -> None:
    there, bodies = next(locations), bodies_of(0, large=2)
    fill(client, there, bodies, checksums=False)
    liar.choose = about("GetObject", lie, "/large1", times)
    world = to_files(deceived, there, tmp_path)
    remembered = tree_at(deceived, there)  # ranges of the other one, for the liar to tell
    for entry in remembered.list(Segment("")):
        if entry.path == "large0":
            source = remembered.open(entry)
            [source.read(offset, min(BLOCK_BYTES, entry.size - offset)) for offset in range(0, entry.size, BLOCK_BYTES)]
            source.close()
    summary = world.run({**TO_FILES, "verify": "none"})
    if times == 1:
        assert summary["status"] == "SUCCEEDED"
    else:
        assert failures(world) == {"large1": "failed after retries"}
        del bodies["large1"]
    assert files(tmp_path) == bodies
    assert liar.told


LIST_LIES = [
    lying_s3.ERROR_INSIDE,
    lying_s3.HTML_INSIDE,
    lying_s3.NOTHING_INSIDE,
    lying_s3.NO_IS_TRUNCATED,
    lying_s3.ANOTHERS,
]
TOKEN = "continuation-token"  # in the request for a later page


@pytest.mark.parametrize(
    ("lie", "part"),
    [*((lie, part) for lie in LIST_LIES for part in ("prefix", TOKEN)), (lying_s3.FIRST_PAGE_AGAIN, TOKEN)],
)
def test_a_page_that_is_none_ends_no_listing(
    client: S3Client, deceived: S3Client, liar: LyingS3, locations: Iterator[S3Location], lie: str, part: str
) -> None:
    there, bodies = next(locations), bodies_of(25)
    fill(client, there, bodies)
    fill(client, S3Location(there.bucket, "other/"), {"x": b"x"})
    deceived.list_objects_v2(there.bucket, prefix="other/")  # for the liar to tell
    tree = tree_at(deceived, there)
    liar.choose = about("ListObjectsV2", lie, part, times=4)
    assert [entry.path for entry in tree.list(Segment(""))] == sorted(bodies)
    assert liar.told == {(lie, "ListObjectsV2"): 4}
    liar.choose = about("ListObjectsV2", lie, part)
    with pytest.raises(ListingIncomplete, match="WrongAnswer"):
        list(tree.list(Segment("")))


def test_a_bucket_that_answers_for_another_one_lists_nothing(
    client: S3Client, deceived: S3Client, liar: LyingS3, locations: Iterator[S3Location]
) -> None:
    there, empty = next(locations), next(locations)
    fill(client, there, bodies_of(3))
    deceived.list_objects_v2(empty.bucket, prefix="in/")
    liar.choose = about("ListObjectsV2", lying_s3.ANOTHERS, times=1)
    assert len(list(tree_at(deceived, there).list(Segment("")))) == 3
    assert liar.told == {(lying_s3.ANOTHERS, "ListObjectsV2"): 1}


@pytest.mark.parametrize("denied", ["tagging", "copy"])
def test_tags_that_may_not_be_read_are_the_sources_denial(
    client: S3Client, deceived: S3Client, liar: LyingS3, locations: Iterator[S3Location], denied: str
) -> None:
    """CopyObject asks for rights at both ends at once; which one lacks shows when the source is asked alone."""
    there, twin = next(locations), next(locations)
    fill(client, there, bodies_of(2, large=1))

    def choose(head: Any) -> str:
        operation = lying_s3.operation_of(head)
        refused = ("GetObjectTagging", "CopyObject") if denied == "tagging" else ("CopyObject",)
        return "403 AccessDenied" if operation in refused else ""

    liar.choose = choose
    copier = S3EntryCopier(deceived, there, twin, whole_bytes=8 * MIB, part_bytes=5 * MIB)
    world = World(source=tree_at(deceived, there), destination=tree_at(deceived, twin), copier=copier)
    world.run(INSIDE)
    rows = {row["path"]: row for row in world.ledger.read_rows("failures.jsonl")}
    if denied == "tagging":
        assert {path: row["reason"] for path, row in rows.items()} == dict.fromkeys(
            ["d0/f00", "d1/f01", "large0"], "source cannot be read"
        )
        assert all("allow s3:GetObjectTagging " in row["message"] for row in rows.values())
    else:
        assert {path: row["reason"] for path, row in rows.items()} == dict.fromkeys(
            ["d0/f00", "d1/f01"], "destination cannot be written"
        )
