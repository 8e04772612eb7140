"""A run that is killed, stopped, or begun twice; two runs at one place."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

from tests.cli.here.conftest import End, Here, until

MANY = {f"f{number}": str(number).encode() for number in range(100)}
# So that a run is at work while a test looks; the second one stays so until the test ends it.
SLOWLY, FOR_LONG = ("--files-per-second", "10"), ("--files-per-second", "1")


@pytest.fixture
def ends(tmp_path: Path) -> tuple[End, End]:
    source, destination = End("mount", tmp_path / "in"), End("mount", tmp_path / "out")
    for path, data in MANY.items():
        source.put(path, data)
    return source, destination


def copying(here: Here, ends: tuple[End, End], rate: tuple[str, str] = SLOWLY) -> subprocess.Popen[str]:
    """A copy that has published its first file, and not the last."""
    process = here.begin("copy", ends[0].text, ends[1].text, *rate, "--name", "first")
    until(lambda: bool(ends[1].files().keys() & MANY.keys()), process)
    return process


def said_by(process: subprocess.Popen[str]) -> str:
    said, _ = process.communicate()
    return said


def children(process: subprocess.Popen[str]) -> list[str]:
    """The processes of the session that the command began, and that are left."""
    found = subprocess.run(["ps", "-o", "pid=", "-s", str(process.pid)], capture_output=True, text=True, check=False)
    return found.stdout.split()


def test_a_retry_goes_on_with_a_run_that_was_killed(here: Here, ends: tuple[End, End]) -> None:
    process = copying(here, ends)
    os.kill(process.pid, signal.SIGKILL)
    said_by(process)
    assert len(ends[1].files().keys() & MANY.keys()) < len(MANY)
    assert "ABORTED" in here.run("report", "first", status=6).stderr
    assert "SUCCEEDED" in here.run("retry", "first").stderr
    assert ends[1].files() == MANY


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_the_run_and_the_command_that_is_advised_goes_on(
    here: Here, ends: tuple[End, End], number: signal.Signals
) -> None:
    process = copying(here, ends)
    process.send_signal(number)
    said = said_by(process)
    assert process.returncode == 130 and "Traceback" not in said
    assert "stopping; Ctrl-C again ends at once" in said and "first is stopped" in said
    assert len(ends[1].files().keys() & MANY.keys()) < len(MANY)
    advised = re.search(r"^  fanout local (.*)$", said, re.MULTILINE)
    assert advised is not None and "SUCCEEDED" in here.run(*advised[1].split()).stderr
    assert ends[1].files() == MANY


def test_a_second_signal_ends_everything_at_once(here: Here, ends: tuple[End, End]) -> None:
    process = copying(here, ends)
    for _ in range(2):
        process.send_signal(signal.SIGINT)
    said_by(process)
    assert process.returncode == 130
    until_gone = subprocess.Popen(["sleep", "60"], stdout=subprocess.PIPE, text=True)
    try:
        until(lambda: not children(process), until_gone)
    finally:
        until_gone.kill()
        said_by(until_gone)
    assert "SUCCEEDED" in here.run("retry", "first").stderr and ends[1].files() == MANY


def test_one_run_has_one_process_and_the_same_transfer_is_done_once(here: Here, ends: tuple[End, End]) -> None:
    process = copying(here, ends, FOR_LONG)
    words = ends[0].text, ends[1].text, *FOR_LONG
    refused = here.run("copy", *words, "--name", "first", status=2)
    assert "at work in another process" in refused.stderr and "--name" in refused.stderr
    skipped = here.run("copy", *words, "--name", "second", status=3)
    assert "carries out the same transfer" in skipped.stderr
    assert "still at work" in here.run("retry", "first", status=2).stderr
    assert "still at work" in here.run("report", "first", status=2).stderr
    os.kill(process.pid, signal.SIGKILL)
    said_by(process)


def test_another_run_waits_for_its_turn_and_takes_it_from_one_that_was_killed(
    here: Here, ends: tuple[End, End], tmp_path: Path
) -> None:
    other = End("mount", tmp_path / "other")
    for path in MANY:
        other.put(path, b"other")
    first = copying(here, ends, FOR_LONG)
    second = here.begin("sync", other.text, ends[1].text, "--name", "second")
    assert second.stdout is not None
    seen = ""
    while "waits for first (mode copy)" not in seen:
        line = second.stdout.readline()
        assert line, f"it did not wait: {seen}"
        seen += line
    assert first.poll() is None
    os.kill(first.pid, signal.SIGKILL)
    said_by(first)
    said = said_by(second)
    assert second.returncode == 0, said
    assert "efs://" not in seen + said
    assert ends[1].files() == dict.fromkeys(MANY, b"other")
