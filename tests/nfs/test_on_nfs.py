"""Selections of tests on a real NFSv4.1 client and server, in a virtual machine; each inner test is a subtest here."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.nfs.lab.kernel import is_fetched
from tests.nfs.lab.machine import lacks, run
from tests.nfs.selections import ADVERSARY_SECONDS, ASKED, IS_REQUIRED, Selection, asked_for

ROOT = Path(__file__).parents[2]
BOOT_SECONDS = 300

pytestmark = [pytest.mark.nfs, pytest.mark.timeout(8000)]


@pytest.fixture(autouse=True)
def lab() -> None:
    """Skips where no guest can run, and fails where one is required."""
    reason = lacks() or ("" if ASKED or is_fetched() else "`make nfs` has not fetched a guest yet")
    if reason and IS_REQUIRED:
        pytest.fail(reason)
    if reason:
        pytest.skip(reason)


@pytest.mark.parametrize("selection", asked_for(), ids=lambda one: one.name)
def test_on_nfs(selection: Selection, tmp_path: Path, subtests: pytest.Subtests) -> None:
    options = ["-p", "no:cacheprovider", "--basetemp", "/mnt/a/tests", "--junit-xml", "/run/results/junit.xml"]
    options += ["-o", "tmp_path_retention_policy=none"]  # the server's disk is small
    inner = ["pytest", "-v", "--timeout", "900", *options, *selection.arguments]
    status, console = _in_guest(inner, selection.seconds, tmp_path)
    found = tmp_path / "junit.xml"
    assert found.exists(), f"pytest did not begin:\n{console[-5000:]}"
    cases = list(ElementTree.parse(found).iter("testcase"))
    for case in cases:
        with subtests.test(msg=f"{case.get('classname')}::{case.get('name')}"):
            _report(case)
    assert cases, console[-5000:]
    assert (status == 0) == (not any(map(_problem, cases))), console[-5000:]


@pytest.mark.skipif(ASKED != "whole", reason="`make nfs` runs it")
def test_the_adversary_finds_nothing_on_nfs(tmp_path: Path) -> None:
    inner = ["tests.adversary", "--processes", "1", "--seconds", str(ADVERSARY_SECONDS), "--directory", "/mnt/a"]
    inner += ["--tally", "/run/results/tally"]
    status, console = _in_guest(inner, 2 * ADVERSARY_SECONDS, tmp_path)
    assert status == 0, console[-5000:]


def _in_guest(module: list[str], seconds: float, results: Path) -> tuple[int, str]:
    """The status of a module of this checkout that the guest runs, and what it says; fails if it does not end."""
    inner = shlex.join([sys.executable, "-m", *module])
    try:
        status = run(f"cd {shlex.quote(str(ROOT))} && {inner}", results, BOOT_SECONDS + seconds)
    except (OSError, RuntimeError, subprocess.SubprocessError) as error:
        if IS_REQUIRED:
            raise
        pytest.skip(f"no guest can run here: {error}")
    console = (results / "console").read_text(errors="replace")
    if status is None and not IS_REQUIRED:
        pytest.skip(f"this machine's guest is too slow: not done within {BOOT_SECONDS + seconds:.0f} s")
    assert status is not None, f"not done in time:\n{console[-5000:]}"
    return status, console


def _report(case: ElementTree.Element) -> None:
    problem, skipped = _problem(case), case.find("skipped")
    if problem:
        pytest.fail(problem, pytrace=False)
    if skipped is not None:
        pytest.skip(skipped.get("message") or "")


def _problem(case: ElementTree.Element) -> str:
    return "\n".join(one.text or "" for one in case if one.tag in ("failure", "error"))
