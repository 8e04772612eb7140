"""A move through the handlers, in every direction, each function seeing what it sees when deployed."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from tests.support.wire import SOURCE, TARGET, Wire

FILES = {"a": b"a", "d/b": b"bb", "d/e/c": b"ccc"}
"""Keys, and paths."""


DIRECTORY = {"file-permissions": "040750"}


def put(s3: Any, files: dict[str, bytes]) -> None:
    for name, data in files.items():
        s3.put_object(Bucket=SOURCE, Key=f"in/{name}", Body=data)


def keys(s3: Any, bucket: str) -> dict[str, bytes]:
    names = [one["Key"] for one in s3.list_objects_v2(Bucket=bucket).get("Contents", [])]
    return {name.partition("/")[2]: s3.get_object(Bucket=bucket, Key=name)["Body"].read() for name in names}


def fill(root: Path) -> None:
    for name, data in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)


def held(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def test_from_a_bucket_to_a_mount(s3: Any, wire: Wire, tmp_path: Path) -> None:
    put(s3, FILES)
    s3.put_object(Bucket=SOURCE, Key="in/d/", Body=b"", Metadata=DIRECTORY)
    put(s3, {"kept/": b"", "kept/not.tmp": b"x"})
    request = {"source": f"s3://{SOURCE}/in/", "destination": "efs:///out", "mode": "move", "exclude": ["*.tmp"]}
    assert wire.flow.run("move-1", request)["status"] == "SUCCEEDED"
    assert keys(s3, SOURCE) == {"kept/": b"", "kept/not.tmp": b"x"}
    assert held(tmp_path / "data/out") == FILES


def test_from_a_mount_to_a_bucket(s3: Any, wire: Wire, tmp_path: Path) -> None:
    fill(tmp_path / "data/here")
    request = {"source": "efs:///here", "destination": f"s3://{TARGET}/out/", "mode": "move"}
    assert wire.flow.run("move-2", request)["status"] == "SUCCEEDED"
    assert list((tmp_path / "data/here").iterdir()) == []
    assert keys(s3, TARGET) == FILES | {"d/": b"", "d/e/": b""}


def test_inside_s3(s3: Any, wire: Wire) -> None:
    put(s3, FILES)
    request = {"source": f"s3://{SOURCE}/in/", "destination": f"s3://{TARGET}/out/", "mode": "move"}
    assert wire.flow.run("move-3", request)["status"] == "SUCCEEDED"
    assert (keys(s3, SOURCE), keys(s3, TARGET)) == ({}, FILES)


@pytest.mark.parametrize("ends", [("data", "archive"), ("archive", "data"), ("data", "data")])
def test_between_mounts(wire: Wire, tmp_path: Path, ends: tuple[str, str]) -> None:
    source, destination = ends
    fill(tmp_path / source / "here")
    request = {"source": f"efs://{source}/here", "destination": f"efs://{destination}/there", "mode": "move"}
    assert wire.flow.run("move-4", request)["status"] == "SUCCEEDED"
    assert list((tmp_path / source / "here").iterdir()) == []
    assert held(tmp_path / destination / "there") == FILES


@pytest.mark.parametrize("body", [FILES["a"], b"z"], ids=["same bytes", "other bytes"])
def test_an_object_that_was_written_again_after_the_proof_stays(s3: Any, wire: Wire, body: bytes) -> None:
    put(s3, FILES)

    def rewrite() -> None:
        time.sleep(1.1)  # Last-Modified has whole seconds
        put(s3, {"a": body})

    wire.flow.before["BeginDeletion"] = rewrite
    request = {"source": f"s3://{SOURCE}/in/", "destination": "efs:///out", "mode": "move"}
    assert wire.flow.run("move-5", request)["status"] == "FAILED_WITH_ITEMS"
    assert keys(s3, SOURCE) == {"a": body}


def test_what_a_manifest_names_moves_alone(s3: Any, wire: Wire, tmp_path: Path) -> None:
    put(s3, FILES)
    s3.put_object(Bucket=SOURCE, Key="list.jsonl", Body=b'"a"\n"d/e/c"\n')
    request = {"source": f"s3://{SOURCE}/in/", "destination": "efs:///out", "mode": "move"}
    summary = wire.flow.run("move-6", {**request, "manifest": f"s3://{SOURCE}/list.jsonl"})
    assert summary["status"] == "SUCCEEDED"
    assert set(keys(s3, SOURCE)) == {"d/b", ""}
    assert set(held(tmp_path / "data/out")) == {"a", "d/e/c"}


@pytest.mark.parametrize("compare", ["size-mtime", "checksum"])
def test_what_stood_there_without_attributes_gets_them_before_its_source_goes(
    s3: Any, wire: Wire, tmp_path: Path, compare: str
) -> None:
    secret = tmp_path / "data/here/one/secret"
    secret.mkdir(parents=True)
    (secret / "f").write_bytes(b"x")
    (secret / "f").chmod(0o600)
    secret.chmod(0o700)
    time.sleep(1.1)  # so that the objects are younger by the seconds that a listing shows
    for name, data in (("one/secret/", b""), ("one/secret/f", b"x")):
        s3.put_object(Bucket=TARGET, Key=f"out/{name}", Body=data)
    request = {"source": "efs:///here", "destination": f"s3://{TARGET}/out/", "mode": "move", "compare": compare}
    assert wire.flow.run(f"move-told-{compare}", request)["status"] == "SUCCEEDED"
    assert list((tmp_path / "data/here").iterdir()) == []
    told = {
        name: s3.head_object(Bucket=TARGET, Key=f"out/{name}")["Metadata"] for name in ("one/secret/", "one/secret/f")
    }
    assert {name: metadata["file-permissions"] for name, metadata in told.items()} == {
        "one/secret/": "0040700",
        "one/secret/f": "0100600",
    }
    assert all({"file-owner", "file-group", "file-mtime"} <= set(metadata) for metadata in told.values())
