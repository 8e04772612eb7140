"""Each mode between each pair of ends, and the commands about the runs after it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.here.conftest import FILES, End, Here
from tests.support.s3_servers import S3Server

PAIRS = [("mount", "mount"), ("mount", "s3"), ("s3", "mount"), ("s3", "s3")]


@pytest.fixture(params=PAIRS, ids="-".join)
def ends(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[End, End]:
    """A source that holds ``FILES``, and a destination."""
    kinds: tuple[str, str] = request.param
    server: S3Server | None = request.getfixturevalue("moto_server") if "s3" in kinds else None
    source, destination = (End(kind, tmp_path / name, server) for kind, name in zip(kinds, ("in", "out"), strict=True))
    for path, data in FILES.items():
        source.put(path, data)
    return source, destination


def words_of(source: End, destination: End) -> tuple[str, ...]:
    return source.text, destination.text, *(source.words or destination.words)


def test_a_copy_and_what_is_asked_about_it_after(here: Here, ends: tuple[End, End]) -> None:
    source, destination = ends
    words = words_of(source, destination)
    planned = here.run("plan", *words)
    assert "would copy" in planned.stderr and destination.files() == {}
    result = json.loads(here.run("copy", *words, "--json", "--verify", "all", "--name", "one").stdout)
    assert (result["run_id"], result["status"]) == ("one", "SUCCEEDED") and destination.files() == FILES
    assert result["totals"]["copied"]["entries"] == result["totals"]["listed"]["entries"] >= len(FILES)
    assert Path(result["paths"]["report"]).is_relative_to(here.ledger / "runs/one")
    assert "SUCCEEDED" in here.run("report", "one").stderr
    rows = [line.split("\t") for line in here.run("entries", "--outcome", "copied", "one").stdout.splitlines()[1:]]
    assert {row[4] for row in rows if row[2] == "file"} == set(FILES)
    assert "unchanged" in here.run("copy", *words, "--compare", "checksum").stderr
    assert here.run("verify", *words).returncode == 0
    destination.put("a", b"ONE")
    assert "trees differ" in here.run("verify", *words, "--compare", "checksum", status=1).stderr


def test_a_sync_deletes_what_the_source_lacks_within_its_guard(here: Here, ends: tuple[End, End]) -> None:
    source, destination = ends
    for path, data in {**FILES, "extra": b"x"}.items():
        destination.put(path, data)
    refused = here.run("sync", *words_of(*ends), "--max-delete", "0", status=5)
    assert "DeleteRefused" in refused.stderr and "extra" in destination.files()
    here.run("sync", *words_of(*ends), "--max-delete-percent", "100")
    assert destination.files() == FILES == source.files()


def test_a_move_leaves_nothing_at_the_source(here: Here, ends: tuple[End, End]) -> None:
    source, destination = ends
    here.run("move", *words_of(*ends))
    assert destination.files() == FILES and source.files() == {}


def test_a_copy_publishes_a_version_and_the_next_one(here: Here, tmp_path: Path) -> None:
    source = End("mount", tmp_path / "in")
    for number in (1, 2):
        source.put("a", f"version {number}".encode())
        said = here.run("copy", source.text, tmp_path / "site", "--publish", "current", "--name", f"v{number}").stderr
        assert f"published: current -> v{number}" in said
        assert (tmp_path / "site/current/a").read_bytes() == f"version {number}".encode()


def test_a_dry_run_of_a_sync_deletes_nothing(here: Here, tmp_path: Path) -> None:
    source, destination = End("mount", tmp_path / "in"), End("mount", tmp_path / "out")
    source.put("a", b"one")
    destination.put("extra", b"x")
    said = here.run("sync", source.text, destination.text, "--dry-run", "--max-delete-percent", "100").stderr
    assert "would copy 1" in said and "would delete 1" in said and destination.files() == {"extra": b"x"}


def test_relative_paths_symlinks_and_places_of_fanout_toml_are_directories(here: Here, tmp_path: Path) -> None:
    End("mount", here.home / "in").put("a", b"one")
    (here.home / "link").symlink_to("in")
    (here.home / "fanout.toml").write_text('[places]\nmine = "s3://my-bucket/x/"\n', encoding="utf-8")
    here.run("copy", "./link", "out/deep")
    assert (here.home / "out/deep/a").read_bytes() == b"one"
    refused = here.run("copy", "in", "mine:y/", "--s3-endpoint", "http://127.0.0.1:9", status=2)
    assert "http://127.0.0.1:9 does not answer" in refused.stderr
