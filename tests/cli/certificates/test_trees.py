"""``fanout certificate check --tree``: which trees are the certified one; a checker written from the page agrees."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fanout.request.filtering.filters import Filters
from fanout.request.parts.symlinks import Symlinks
from fanout_cli.certificates.trees import TreeScope, digest_of_directory
from tests.certificate import checker
from tests.cli.certificates.issued import Issued
from tests.cli.conftest import REGION, Aws


@pytest.mark.parametrize("name", [".fanout-staging-run-9", ".fanout-staging-run-9/file"])
def test_a_tree_with_names_that_no_listing_shows_is_none_that_was_certified(issued: Issued, name: str) -> None:
    file = issued.tree / name
    file.parent.mkdir(exist_ok=True)
    file.write_text("hidden")
    answer = issued.check("--tree", issued.tree)
    assert (answer.exit_code, "holds .fanout-staging-run-9" in answer.stderr) == (2, True), answer.stderr
    assert checker.problem(issued.data, issued.der, issued.tree) == "another tree"


@pytest.mark.parametrize("what", ["bytes", "name", "missing", "more", "kind", "target"])
def test_a_tree_that_is_not_the_certified_one_is_refused(issued: Issued, what: str) -> None:
    file = issued.tree / "d1/f1"
    match what:
        case "bytes":
            file.write_bytes(b"2" * 50)
        case "name":
            file.rename(issued.tree / "d1/F1")
        case "missing":
            file.unlink()
        case "more":
            (issued.tree / "empty").touch()
        case "kind":
            (issued.tree / "link").unlink()
            (issued.tree / "link").write_text("d1/f1")
        case "target":
            (issued.tree / "link").unlink()
            (issued.tree / "link").symlink_to("d1/f3")
    answer = issued.check("--tree", issued.tree)
    assert answer.exit_code == 1
    assert "is not the certified tree" in answer.stderr
    assert checker.problem(issued.data, issued.der, issued.tree) == "another tree"


@pytest.mark.parametrize(("symlinks", "like"), [("keep", "symlink"), ("skip", "nothing"), ("follow", "file")])
def test_symlinks_of_a_tree_are_taken_as_the_request_took_them(tmp_path: Path, symlinks: str, like: str) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    for one in (here, there):
        one.mkdir()
        (one / "file").write_text("text")
    (here / "link").symlink_to("file")
    if like == "symlink":
        (there / "link").symlink_to("file")
    elif like == "file":
        (there / "link").write_text("text")
    found = digest_of_directory(here, TreeScope(Filters(), Symlinks(symlinks)))
    assert found.hexdigest() == digest_of_directory(there, TreeScope(Filters())).hexdigest()


def test_both_ends_of_a_run_that_skips_symlinks_are_the_certified_trees(tmp_path: Path, aws: Aws) -> None:
    issued = Issued(tmp_path, {"symlinks": "skip"})
    assert issued.check("--tree", issued.tree).exit_code == 0
    s3 = aws.client("s3")
    s3.create_bucket(Bucket="data", CreateBucketConfiguration={"LocationConstraint": REGION})
    for path in issued.tree.rglob("*"):
        if path.is_file():
            s3.put_object(Bucket="data", Key=f"in/{path.relative_to(issued.tree)}", Body=path.read_bytes())
    s3.put_object(Bucket="data", Key="in/link", Body=b"d1/f1", Metadata={"file-permissions": "0120777"})
    answer = aws.fanout("certificate", "check", str(issued.file), "--key", str(issued.key), "--tree", "s3://data/in/")
    assert answer.exit_code == 0, answer.stderr


def test_directories_times_and_modes_are_in_no_digest(issued: Issued) -> None:
    (issued.tree / "empty").mkdir()
    os.utime(issued.tree / "d1/f1", (1, 1))
    (issued.tree / "d1/f1").chmod(0o600)
    assert issued.check("--tree", issued.tree).exit_code == 0


def test_the_filters_of_the_request_find_its_part_of_a_tree_again(tmp_path: Path) -> None:
    issued = Issued(tmp_path, {"exclude": ["*.tmp", "cache/"]})
    (issued.tree / "d1/other.tmp").touch()
    (issued.tree / "cache").mkdir()
    (issued.tree / "cache/file").touch()
    answer = issued.check("--tree", issued.tree)
    assert (answer.exit_code, "5 files" in answer.stderr) == (0, True), answer.stderr
    (issued.tree / "d1/other.txt").touch()
    assert issued.check("--tree", issued.tree).exit_code == 1


def test_a_request_that_filters_by_time_has_no_tree_that_is_found_again(tmp_path: Path) -> None:
    issued = Issued(tmp_path, {"modified_after": "1970-01-01T00:00:01Z"})
    answer = issued.check("--tree", issued.tree)
    assert (answer.exit_code, "filters by time" in answer.stderr) == (2, True)
    assert issued.check().exit_code == 0


def test_a_file_that_changes_while_it_is_read_has_no_digest(issued: Issued, monkeypatch: pytest.MonkeyPatch) -> None:
    from fanout.adapters.posix.source import FileSource

    read = FileSource.read

    def changing(self: FileSource, offset: int, length: int) -> bytes:
        (issued.tree / "d1/f1").write_bytes(b"other")
        return read(self, offset, length)

    monkeypatch.setattr(FileSource, "read", changing)
    answer = issued.check("--tree", issued.tree)
    assert (answer.exit_code, "cannot be read, so the tree has no digest" in answer.stderr) == (2, True)


def test_a_prefix_of_a_bucket_is_the_certified_tree(kept: Issued, aws: Aws) -> None:
    s3 = aws.client("s3")
    s3.create_bucket(Bucket="data", CreateBucketConfiguration={"LocationConstraint": REGION})
    for path in kept.tree.rglob("*"):
        key = f"out/{path.relative_to(kept.tree)}"
        if path.is_symlink():
            target = os.readlink(path).encode()
            s3.put_object(Bucket="data", Key=key, Body=target, Metadata={"file-permissions": "0120777"})
        elif path.is_file():
            s3.put_object(Bucket="data", Key=key, Body=path.read_bytes())
        else:
            s3.put_object(Bucket="data", Key=f"{key}/", Body=b"")
    answer = aws.fanout("certificate", "check", str(kept.file), "--key", str(kept.key), "--tree", "s3://data/out/")
    assert answer.exit_code == 0, answer.stderr
    s3.put_object(Bucket="data", Key="out/link", Body=b"d1/f1")
    answer = aws.fanout("certificate", "check", str(kept.file), "--key", str(kept.key), "--tree", "s3://data/out/")
    assert (answer.exit_code, "a name, a kind or bytes differ" in answer.stderr) == (1, True)
