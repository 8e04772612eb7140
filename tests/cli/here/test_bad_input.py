"""What cannot be carried out is one sentence with what to do, and nothing is written."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.cli.here.conftest import FANOUT, End, Here


@pytest.fixture
def source(here: Here) -> End:
    end = End("mount", here.home / "in")
    end.put("a", b"one")
    (here.home / "link").symlink_to("in")
    return end


REFUSED = [
    (("copy", "none", "out"), "there is no such directory; name one that is there"),
    (("copy", "in/a", "out"), "in/a is a file; name its directory"),
    (("copy", "in", "in/a"), "in/a is a file; name a directory"),
    (("copy", "in", "link"), "equal to, inside or above the source"),
    (("copy", "in", "in/inner"), "equal to, inside or above the source"),
    (("copy", "in", "."), "equal to, inside or above the source"),
    (("copy", "in", ""), "an end is empty"),
    (("copy", "efs:///x", "out"), "efs:// is not read on this machine; name a directory"),
    (("copy", "in", "state/fanout/x"), "in each other; give --state another place"),
    (("move", "state", "out"), "in each other; give --state another place"),
    (("copy", "in", "s3://b/x/"), "'b' is not a bucket name"),
    (("copy", "in", "s3://my-bucket/x/", "--s3-endpoint", "127.0.0.1:9"), "is not a URL; give http://"),
    (("copy", "in", "s3://my-bucket/x/", "--s3-endpoint", "http://127.0.0.1:9"), "does not answer"),
    (("copy", "in", "out", "--certificate"), "fanout local has no --"),
    (("copy", "in", "out", "--max-concurrency", "2"), "fanout local has no --"),
    (("sync", "in", "out", "--max-dollars", "2"), "give --max-seconds"),
    (("copy", "in", "out", "--source-role", "arn:aws:iam::1:role/x"), "give --profile"),
    (("copy", "in", "out", "--name", "a/b"), "is no name of a run"),
    (("copy", "in", "out", "--rate", "fast"), "--rate fast is not a size"),
    (("retry",), "holds no run yet; begin one: fanout local copy"),
    (("report", "x"), "holds no run yet"),
]


@pytest.mark.parametrize(("words", "sentence"), REFUSED, ids=lambda value: " ".join(value)[:40])
def test_it_is_refused_before_anything_is_written(
    here: Here, source: End, words: tuple[str, ...], sentence: str
) -> None:
    (here.home / "state/fanout").mkdir(parents=True)
    said = here.run(*words, status=2).stderr
    assert sentence in " ".join(said.split()), said
    assert "Traceback" not in said and "efs://local" not in said
    assert not (here.home / "out").exists() and list((here.home / "state/fanout").rglob("*")) == []


def test_without_credentials_or_region_the_command_says_which(here: Here, source: End) -> None:
    words = ("copy", "in", "s3://my-bucket/x/")
    keys = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
    assert "no AWS credentials were found" in here.run(*words, status=2, without=keys).stderr
    assert "no AWS region is set; give --region" in here.run(*words, status=2, without=("AWS_REGION",)).stderr
    assert "my-profile" in here.run(*words, "--profile", "my-profile", status=2).stderr


def test_a_profile_has_keys_and_a_region(here: Here, source: End) -> None:
    (here.home / ".aws").mkdir()
    (here.home / ".aws/credentials").write_text(
        "[mine]\naws_access_key_id = testing\naws_secret_access_key = testing\n", encoding="utf-8"
    )
    keys = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
    words = ("copy", "in", "s3://my-bucket/x/", "--profile", "mine", "--s3-endpoint", "http://127.0.0.1:9")
    assert "does not answer" in here.run(*words, status=2, without=keys).stderr


def test_a_file_in_the_place_of_the_ledger_is_named(here: Here, source: End) -> None:
    (here.home / "file").write_bytes(b"")
    said = here.run("copy", "in", "out", "--state", here.home / "file", status=2).stderr
    assert str(here.home / "file") in said and "see what is there" in said
    assert not (here.home / "out").exists()


def test_a_plan_that_is_not_as_it_was_written_is_refused_and_stays(here: Here, source: End) -> None:
    here.run("copy", "in", "out", "--name", "old")
    plan = here.ledger / "runs/old/plan.json"
    other = plan.read_text(encoding="utf-8").replace('"run_id": "old"', '"run_id": "new"')
    plan.write_text(other, encoding="utf-8")
    (here.home / "in/b").write_bytes(b"two")
    said = here.run("retry", "old", status=6).stderr
    assert "runs/old/plan.json is not whole" in said and "start the request again" in said and "Traceback" not in said
    assert plan.read_text(encoding="utf-8") == other and not (here.home / "out/b").exists()
    advised = re.search(r"^  fanout local (.*)$", said, re.MULTILINE)
    assert advised is not None and advised[1].endswith("--again")
    here.run(*advised[1].split())
    assert (here.home / "out/b").read_bytes() == b"two"


FULL = """
mount -t tmpfs -o size={size} full {place} || exit 77
exec {fanout} local copy {source} {out} --state {place}/ledger --name full
"""


@pytest.mark.parametrize("size", ["4k", "96k"])
def test_a_full_disk_under_the_ledger_is_a_sentence_and_loses_nothing(
    here: Here, source: End, tmp_path: Path, size: str
) -> None:
    """At the first write, and in the middle of a run."""
    place, out = tmp_path / "full", tmp_path / "out"
    place.mkdir()
    script = FULL.format(size=size, place=place, fanout=FANOUT, source=source.text, out=out)
    command = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script]
    ended = subprocess.run(command, capture_output=True, text=True, env=here.environment, check=False)
    if ended.returncode == 77 or "unshare" in ended.stderr:
        pytest.skip("a user may not make namespaces here")
    assert ended.returncode != 0 and "Traceback" not in ended.stderr
    assert "the disk that holds the ledger is full" in ended.stderr, ended.stderr
    assert "free space there" in ended.stderr
    assert source.files() == {"a": b"one"}
