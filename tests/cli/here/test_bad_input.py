"""What cannot be carried out is one sentence with what to do, and nothing is written."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import threading
from pathlib import Path

import pytest

from fanout.ledger.seals import sealed_json
from fanout.model.document import SCHEMA_VERSION
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
    (("copy", "in", ""), "is empty; name a directory"),
    (("copy", "efs:///x", "out"), "efs:///x: add --mount NAME=DIRECTORY, or name the directory itself"),
    (("copy", "gs://b/x", "out"), "gs:// is not read on this machine; name a directory"),
    (("copy", "in", "state/fanout/x"), "in each other; give --state another place"),
    (("move", "state", "out"), "in each other; give --state another place"),
    (("copy", "in", "s3://b/x/"), "'b' is not a bucket name"),
    (("copy", "in", "s3://my-bucket/x/", "--s3-endpoint", "127.0.0.1:9"), "is not a URL; give http://"),
    (("copy", "in", "s3://my-bucket/x/", "--s3-endpoint", "http://127.0.0.1:9"), "does not answer"),
    (("copy", "in", "out", "--certificate"), "only a comparison of both whole trees proves"),
    (("copy", "in", "out", "--checksums", "computed"), "S3 Batch Operations needs a stack's role"),
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


COMMANDS = (("retry", "old"), ("report", "old"), ("entries", "old"), ("watch", "old"), ("stop", "old"))


def of_version(path: Path, key: str, version: int) -> None:
    """Give a document of a ledger another version, as the product of that version writes it."""
    document = json.loads(path.read_text(encoding="utf-8")) | {"schema_version": version}
    path.write_bytes(sealed_json(key, document))


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_ledger_of_a_newer_version_is_named_and_stays(here: Here, source: End, words: tuple[str, ...]) -> None:
    here.run("copy", "in", "out", "--name", "old")
    for name in ("plan.json", "request.json", "summary.json"):
        of_version(here.ledger / "runs/old" / name, f"runs/old/{name}", SCHEMA_VERSION + 1)
    before = {one: one.read_bytes() for one in (here.ledger / "runs/old").rglob("*") if one.is_file()}
    said = " ".join(here.run(*words, status=2).stderr.split())
    assert "was written by a newer version of the product" in said and "under another name" in said
    assert {one: one.read_bytes() for one in (here.ledger / "runs/old").rglob("*") if one.is_file()} == before
    source.put("b", b"two")
    here.run("copy", "in", "out", "--name", "anew")
    assert (here.home / "out/b").read_bytes() == b"two"


def test_a_run_of_an_older_version_is_not_resumed_and_the_advised_command_is_whole(here: Here, source: End) -> None:
    here.run("copy", "in", "out", "--name", "old")
    for name in ("plan.json", "request.json"):
        of_version(here.ledger / "runs/old" / name, f"runs/old/{name}", SCHEMA_VERSION - 1)
    source.put("b", b"two")
    said = here.run("retry", "old", status=2).stderr
    assert "has a ledger of another version" in said and not (here.home / "out/b").exists()
    here.run("retry", "old", "--again")
    assert (here.home / "out/b").read_bytes() == b"two"


def test_a_list_of_writers_of_another_version_keeps_a_run_from_beginning(here: Here, source: End) -> None:
    here.run("copy", "in", "out", "--name", "old")
    path = here.ledger / "locks/mounts/local.json"
    path.write_text(json.dumps({"schema_version": SCHEMA_VERSION + 1, "writers": []}), encoding="utf-8")
    source.put("b", b"two")
    said = " ".join(here.run("copy", "in", "out", status=6).stderr.split())
    assert (
        "locks/mounts/local.json was written by another version" in said and "remove that object while no run" in said
    )
    assert not (here.home / "out/b").exists()
    path.unlink()
    here.run("copy", "in", "out")
    assert (here.home / "out/b").read_bytes() == b"two"


MOUNTED = """
mount --bind {place} {name} || exit 77
exec {fanout} local {mode} {place} {name} {more}
"""


@pytest.mark.parametrize("mode", ["copy", "sync", "move"])
def test_a_mount_of_the_source_under_another_name_is_refused(here: Here, source: End, mode: str) -> None:
    """Two names of one place, of which the paths tell nothing."""
    name = here.home / "mounted"
    name.mkdir()
    script = MOUNTED.format(place=source.text, name=name, fanout=FANOUT, mode=mode, more="")
    command = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script]
    ended = subprocess.run(command, capture_output=True, text=True, env=here.environment, check=False)
    if ended.returncode == 77 or "unshare" in ended.stderr:
        pytest.skip("a user may not make namespaces here")
    said = " ".join(ended.stderr.split())
    assert ended.returncode == 2 and "Traceback" not in said, said
    assert "is the same place as the source" in said and "name a tree that shares no entry" in said
    assert source.files() == {"a": b"one"}


def test_what_answers_and_is_no_s3_is_named(here: Here, source: End) -> None:
    listening = socket.create_server(("127.0.0.1", 0))

    def answer() -> None:
        with listening:
            while True:
                try:
                    taken, _ = listening.accept()
                except OSError:
                    return
                with taken:
                    taken.recv(1000)
                    taken.sendall(b"SSH-2.0-OpenSSH_9.2\r\n")

    threading.Thread(target=answer, daemon=True).start()
    url = f"http://127.0.0.1:{listening.getsockname()[1]}"
    for words in (("copy", "in", "s3://my-bucket/x/"), ("copy", "in", "out", "--work", "s3://my-bucket/x/")):
        said = here.run(*words, "--s3-endpoint", url, status=2).stderr
        assert f"{url} does not answer" in said and "check --s3-endpoint" in said and "Traceback" not in said
    listening.close()
    assert not (here.home / "out").exists()


def test_a_directory_that_may_not_be_read_is_named_and_nothing_is_deleted(here: Here, source: End) -> None:
    closed = End("mount", here.home / "in/closed")
    closed.put("b", b"two")
    here.run("copy", "in", "out")
    script = f"chmod 0 {closed.text} && exec setpriv --bounding-set=-all --inh-caps=-all -- {FANOUT} local sync in out"
    ended = subprocess.run(
        ["sh", "-c", script], capture_output=True, text=True, env=here.environment, cwd=here.home, check=False
    )
    closed.place.chmod(0o700)
    assert ended.returncode == 5 and "Traceback" not in ended.stderr, ended.stderr
    assert "could not be listed" in ended.stderr and (here.home / "out/closed/b").read_bytes() == b"two"
