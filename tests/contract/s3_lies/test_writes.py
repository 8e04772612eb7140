"""Whole runs against an S3 whose answers are another's, come twice, or say what did not happen.

A lie that passes costs a repetition; one that stays ends as a failed entry or an incomplete listing. It is never
another object's bytes under a name, an entry that is missing, or a deletion that was none.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from fanout.adapters.posix.tree import PosixTree
from fanout.adapters.s3.client.client import S3Client
from fanout.facts.units import MIB
from fanout.model.checksum import crc64nvme
from fanout.model.errors import Transient
from fanout.model.location import S3Location
from tests.contract.s3_lies.ends import TO_KEYS, bodies_of, failures, fill, objects, tree_at
from tests.support import lying_s3
from tests.support.flow import World
from tests.support.lying_s3 import LyingS3, about

WRITE_LIES = [
    lying_s3.ANOTHERS,
    lying_s3.ERROR_INSIDE,
    lying_s3.HTML_INSIDE,
    lying_s3.NOTHING_INSIDE,
]


@pytest.mark.parametrize("lie", WRITE_LIES)
@pytest.mark.parametrize(
    ("operation", "path"),
    [
        ("PutObject", "d1/f07"),
        ("UploadPart", "large0"),
        ("CreateMultipartUpload", "large0"),
        ("CompleteMultipartUpload", "large0"),
    ],
)
def test_what_is_not_shown_as_written_is_written_again_or_failed(
    client: S3Client,
    deceived: S3Client,
    liar: LyingS3,
    locations: Iterator[S3Location],
    tmp_path: Path,
    operation: str,
    path: str,
    lie: str,
) -> None:
    bodies = bodies_of(9, large=1 if path == "large0" else 0)
    for name, body in bodies.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(body)
    source = PosixTree(tmp_path, "", "run-1", "n")
    for times in (2, 10**9):
        back = next(locations)
        liar.forget()
        if lie == lying_s3.ANOTHERS:  # an answer for the liar to tell
            write_beside(deceived, back, path)
        liar.choose = about(operation, lie, f"/{path}", times)
        liar.told.clear()
        world = World(source=source, destination=tree_at(deceived, back), run_id=f"run-{times}")
        summary = world.run(TO_KEYS)
        assert liar.told[lie, operation] >= 2, failures(world)
        assert summary["balanced"]
        if times == 2:
            assert summary["status"] == "SUCCEEDED"
            assert objects(client, back) == bodies
        else:
            assert failures(world) == {path: "failed after retries"}
            assert objects(client, back) == {name: body for name, body in bodies.items() if name != path}


def write_beside(client: S3Client, location: S3Location, path: str) -> None:
    """Write an object of the same kind beside the tree."""
    other = S3Location(location.bucket, "beside/")
    body = b"another's" * (MIB // 4 if path == "large0" else 3)
    if path != "large0":
        client.put_object(other.bucket, "beside/small", body, crc64nvme=crc64nvme(body))
        return
    upload_id = client.create_multipart_upload(other.bucket, "beside/large")
    part = client.upload_part(other.bucket, "beside/large", upload_id, 1, body, crc64nvme(body))
    client.complete_multipart_upload(
        other.bucket, "beside/large", upload_id, [part], crc64nvme=crc64nvme(body), size=len(body)
    )


def test_a_completion_that_happened_is_found_by_a_head(
    client: S3Client, deceived: S3Client, liar: LyingS3, locations: Iterator[S3Location], tmp_path: Path
) -> None:
    bodies = bodies_of(0, large=1)
    (tmp_path / "large0").write_bytes(bodies["large0"])
    back = next(locations)
    liar.choose = about("CompleteMultipartUpload", lying_s3.HTML_AFTER)
    source = PosixTree(tmp_path, "", "run-1", "n")
    assert World(source=source, destination=tree_at(deceived, back)).run(TO_KEYS)["status"] == "SUCCEEDED"
    assert objects(client, back) == bodies


DELETE_LIES = [lying_s3.NONE_DELETED, lying_s3.ERROR_INSIDE, lying_s3.HTML_INSIDE, lying_s3.NOTHING_INSIDE]


@pytest.mark.parametrize("lie", DELETE_LIES)
@pytest.mark.parametrize("times", [1, 10**9], ids=["once", "always"])
def test_a_deletion_that_no_answer_shows_is_none(
    client: S3Client,
    deceived: S3Client,
    liar: LyingS3,
    locations: Iterator[S3Location],
    tmp_path: Path,
    lie: str,
    times: int,
) -> None:
    back, bodies = next(locations), {name.replace("/", "-"): body for name, body in bodies_of(9).items()}
    extras = {"d0-extra": b"x", "extra": b"y"}
    for name, body in bodies.items():
        (tmp_path / name).write_bytes(body)
    fill(client, back, bodies | extras)
    liar.choose = about("DeleteObjects", lie, times=times)
    world = World(source=PosixTree(tmp_path, "", "run-1", "n"), destination=tree_at(deceived, back))
    request = {**TO_KEYS, "mode": "sync", "delete_guard": {"max_percent": 90}}
    if times == 1:
        summary = world.run(request)
        assert (summary["status"], summary["totals"]["deleted"]["entries"]) == ("SUCCEEDED", 2)
        assert objects(client, back) == bodies
    else:
        with pytest.raises(
            Transient, match="none of 2 entries could be deleted, and 2 failed"
        ):  # the task is repeated, then ends
            world.run(request)
        assert objects(client, back) == bodies | extras
    assert liar.told


def test_only_what_is_shown_counts_as_deleted(
    client: S3Client, deceived: S3Client, liar: LyingS3, locations: Iterator[S3Location]
) -> None:
    back = next(locations)
    fill(client, back, {"a": b"x", "b": b"y"})
    liar.choose = about("DeleteObjects", lying_s3.NAMELESS_ERROR)
    assert deceived.delete_objects(back.bucket, ["in/a", "in/b"]) == {"in/b": "NotShown"}
