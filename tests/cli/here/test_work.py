"""A ledger in a bucket: several machines share it, and so take turns at one destination."""

from __future__ import annotations

import json
import signal
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.cli.here.conftest import End, Here, until
from tests.cli.here.test_stops import MANY, said_by
from tests.support.s3_servers import S3Server

SLOWLY = ("--files-per-second", "10")


class Work:
    """A bucket for ledgers."""

    def __init__(self, place: Path, server: S3Server) -> None:
        self.end = End("s3", place, server)
        self.words = ("--work", f"s3://{self.end.bucket}/work/", *self.end.words)

    def keys(self) -> list[str]:
        listed: Any = self.end.s3.list_objects_v2(Bucket=self.end.bucket)
        return [one["Key"] for one in listed.get("Contents", [])]


@pytest.fixture
def work(tmp_path: Path, moto_server: S3Server) -> Work:
    return Work(tmp_path, moto_server)


@pytest.fixture
def ends(tmp_path: Path) -> tuple[End, End]:
    source, destination = End("mount", tmp_path / "in"), End("mount", tmp_path / "out")
    for path, data in MANY.items():
        source.put(path, data)
    return source, destination


def test_a_run_and_all_that_is_asked_about_it_after(here: Here, work: Work, ends: tuple[End, End]) -> None:
    source, destination = ends
    said = here.run("copy", source.text, destination.text, *work.words, "--name", "one").stderr
    assert destination.files() == MANY and f"report: {here.home}/fanout-one/report.html" in said
    assert (here.home / "fanout-one/summary.json").is_file() and not here.ledger.exists()
    keys = work.keys()
    assert "work/runs/one/plan.json" in keys and all(key.startswith("work/") for key in keys)
    assert "work/locks/here/one.json" not in keys
    assert "SUCCEEDED" in here.run("report", "one", *work.words).stderr
    assert len(here.run("entries", "one", "--outcome", "copied", *work.words).stdout.splitlines()) > len(MANY)
    assert "name the run" in here.run("report", *work.words, status=2).stderr
    assert "holds no run 'two'" in here.run("report", "two", *work.words, status=2).stderr
    source.put("f1", b"other")
    here.run("verify", source.text, destination.text, *work.words, "--name", "found", status=1)
    assert "copied 1" in here.run("copy", "--from-verify", "found", *work.words).stderr
    assert destination.files()["f1"] == b"other"


def test_the_ledger_of_a_whole_bucket_is_as_a_stack_has_it(here: Here, work: Work, ends: tuple[End, End]) -> None:
    words = ("--work", f"s3://{work.end.bucket}/", *work.end.words)
    here.run("copy", ends[0].text, ends[1].text, *words, "--name", "one")
    plan = work.end.s3.get_object(Bucket=work.end.bucket, Key="runs/one/plan.json")["Body"].read()
    assert json.loads(plan)["origin"]["bucket"] == work.end.bucket
    assert "SUCCEEDED" in here.run("retry", "one", *words).stderr


def test_two_machines_take_turns_and_one_stops_a_run_of_the_other(
    here: Here, work: Work, ends: tuple[End, End], tmp_path: Path
) -> None:
    other = Here(tmp_path / "other")
    other.home.mkdir()
    first = here.begin("copy", ends[0].text, ends[1].text, *SLOWLY, *work.words, "--name", "first")
    until(lambda: bool(ends[1].files().keys() & MANY.keys()), first)
    refused = other.run("copy", ends[0].text, ends[1].text, *work.words, "--name", "first", status=2)
    assert "at work in another process" in refused.stderr
    skipped = other.run("copy", ends[0].text, ends[1].text, *SLOWLY, *work.words, "--name", "second", status=3)
    assert "carries out the same transfer" in skipped.stderr and "fanout local watch first" in skipped.stderr
    said = other.run("stop", "first", *work.words).stderr
    assert "first is stopped" in said and "fanout local retry first" in said
    assert "first is stopped" in said_by(first) and first.returncode == 130
    assert "SUCCEEDED" in other.run("retry", "first", *work.words).stderr
    assert ends[1].files() == MANY
    assert "had ended already" in other.run("stop", "first", *work.words).stderr


def test_a_bucket_that_cannot_hold_the_ledger_is_named_before_anything_is_written(
    here: Here, work: Work, ends: tuple[End, End]
) -> None:
    given = ends[0].text, ends[1].text
    bucket, s3 = work.end.bucket, work.end.words
    for words, why in (
        (("--work", "s3://no-such-bucket-here/", *s3), "no-such-bucket-here does not exist; name a bucket"),
        (("--work", "work", *s3), "is not in a bucket"),
        (("--work", f"s3://{bucket}/x", *s3), "does not end in /"),
        (("--work", f"s3://{bucket}/", "--state", "x", *s3), "give one of them"),
        (("--work", f"s3://{bucket}/", "--s3-endpoint", "http://127.0.0.1:9"), "does not answer"),
    ):
        said = here.run("copy", *given, *words, status=2).stderr
        assert why in " ".join(said.split()) and "Traceback" not in said
    inside = ("copy", ends[0].text, f"s3://{bucket}/", *work.words)
    assert "in each other; give --work another prefix" in here.run(*inside, status=2).stderr
    assert not ends[1].place.exists() and work.keys() == []


class TakesNoWrites(BaseHTTPRequestHandler):
    """A bucket as a stack's work bucket is for its users: listed and read, and written by nobody."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        empty = b"<ListBucketResult><IsTruncated>false</IsTruncated><KeyCount>0</KeyCount></ListBucketResult>"
        missing = b"<Error><Code>NoSuchKey</Code></Error>"
        self._answer(*((200, empty) if "list-type=2" in self.path else (404, missing)))

    def do_HEAD(self) -> None:
        self._answer(200, b"")

    def do_PUT(self) -> None:
        self.rfile.read(int(self.headers.get("content-length", "0")))
        self._answer(403, b"<Error><Code>AccessDenied</Code></Error>")

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def test_the_bucket_of_a_stack_takes_no_ledger_and_the_sentence_says_so(here: Here, ends: tuple[End, End]) -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), TakesNoWrites)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    words = ("--work", "s3://fanout-work/", "--s3-endpoint", f"http://127.0.0.1:{server.server_port}")
    said = " ".join(here.run("copy", ends[0].text, ends[1].text, *words, status=2).stderr.split())
    server.shutdown()
    assert "s3://fanout-work/ takes no ledger" in said and "that of a stack takes only what its own functions" in said
    assert not ends[1].place.exists() and "Traceback" not in said


def test_a_run_is_watched_from_another_terminal(here: Here, ends: tuple[End, End]) -> None:
    first = here.begin("copy", ends[0].text, ends[1].text, *SLOWLY, "--name", "first")
    until(lambda: bool(ends[1].files().keys() & MANY.keys()), first)
    assert "fanout local watch first" in here.run("report", "first", status=2).stderr
    lines = here.run("watch", "--json").stdout.splitlines()
    assert json.loads(lines[-1])["kind"] == "result" and json.loads(lines[-1])["status"] == "SUCCEEDED"
    assert said_by(first) and first.returncode == 0
    assert "SUCCEEDED" in here.run("watch", "first").stderr


def test_a_run_that_is_watched_goes_on_after_ctrl_c_and_ends_at_a_stop(here: Here, ends: tuple[End, End]) -> None:
    first = here.begin("copy", ends[0].text, ends[1].text, *SLOWLY[:-1], "2", "--name", "first")
    until(lambda: bool(ends[1].files().keys() & MANY.keys()), first)
    watching = here.begin("watch", "first")
    with pytest.raises(subprocess.TimeoutExpired):
        watching.wait(2.5)
    watching.send_signal(signal.SIGINT)
    assert "first was not stopped; come back: fanout local watch first" in said_by(watching)
    assert watching.returncode == 130 and first.poll() is None
    assert "first is stopped" in here.run("stop").stderr
    assert said_by(first) and first.returncode == 130


def test_a_run_that_was_killed_is_stopped_and_retried_when_its_lease_has_ended(
    here: Here, work: Work, ends: tuple[End, End]
) -> None:
    first = here.begin("copy", ends[0].text, ends[1].text, *SLOWLY, *work.words, "--name", "first")
    until(lambda: bool(ends[1].files().keys() & MANY.keys()), first)
    first.kill()
    said_by(first)
    said = here.run("retry", "first", *work.words, status=2).stderr
    assert "still at work (one that was killed counts for 90 s more)" in said and "fanout local stop first" in said
    assert "first is stopped" in here.run("stop", "first", *work.words).stderr
    assert "SUCCEEDED" in here.run("retry", "first", *work.words).stderr
    assert ends[1].files() == MANY
