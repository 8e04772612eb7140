"""What a stranger is told before the set-up, and what does not lie about in the checkout after a run."""

from __future__ import annotations

import fnmatch
import re
import shutil
import subprocess
from pathlib import Path

import pytest

REPO = Path(__file__).parents[2]


@pytest.mark.parametrize(("words", "size"), [((), "1 GB"), (("tests",), "1.5 GB")])
def test_the_set_up_says_first_how_much_it_installs(tmp_path: Path, words: tuple[str, ...], size: str) -> None:
    """Without a Python it goes no further than that."""
    (tmp_path / "scripts").mkdir()
    (tmp_path / "bin").mkdir()
    script = shutil.copy(REPO / "scripts/setup.sh", tmp_path / "scripts")
    for program in ("dirname", "sh"):
        (tmp_path / "bin" / program).symlink_to(str(shutil.which(program)))
    ended = subprocess.run(
        ["sh", script, *words], env={"PATH": str(tmp_path / "bin")}, capture_output=True, text=True, check=False
    )
    first, *rest = ended.stderr.splitlines()
    assert ended.returncode == 1 and "no Python" in rest[0]
    assert first == f"setup: installs about {size} into .venv and .fanout; make clean removes it"


def test_a_python_that_is_named_comes_before_those_on_the_path(tmp_path: Path) -> None:
    """Each says only that it was asked, and makes no environment."""
    (tmp_path / "scripts").mkdir()
    (tmp_path / "bin").mkdir()
    script = shutil.copy(REPO / "scripts/setup.sh", tmp_path / "scripts")
    for program in ("dirname", "sh", "mkdir"):
        (tmp_path / "bin" / program).symlink_to(str(shutil.which(program)))
    for python in (tmp_path / "named", tmp_path / "bin/python3"):
        python.write_text('#!/bin/sh\n[ "$1" = -c ] || { echo "$0 is asked" >&2; exit 1; }\necho "$0"\n')
        python.chmod(0o755)
    environment = {"PATH": str(tmp_path / "bin")}
    for given, wanted in (({}, "bin/python3"), ({"FANOUT_PYTHON": str(tmp_path / "named")}, "named")):
        ended = subprocess.run(
            ["sh", script], env={**environment, **given}, capture_output=True, text=True, check=False
        )
        assert ended.stderr.splitlines()[-1] == f"{tmp_path / wanted} is asked"


def test_git_leaves_out_the_directory_of_every_command_that_brings_a_result() -> None:
    ignored = [line.strip("/") for line in (REPO / ".gitignore").read_text("utf-8").splitlines() if line[:1] == "/"]
    sources = "".join(path.read_text("utf-8") for path in (REPO / "cli/fanout_cli/commands").rglob("*.py"))
    brought = {f"fanout-{name}" for name in re.findall(r"default: fanout-([\w-]+)", sources)}
    assert {"fanout-RUN", "fanout-PROBE"} <= brought
    assert [name for name in brought if not any(fnmatch.fnmatch(name, one) for one in ignored)] == []


def test_the_help_of_make_names_every_target() -> None:
    makefile = (REPO / "Makefile").read_text("utf-8")
    [phony] = re.findall(r"^\.PHONY: (.*)", makefile, re.MULTILINE)
    shown = subprocess.run(["make", "-s", "help"], cwd=REPO, capture_output=True, text=True, check=True).stdout
    named = [line.partition("\t")[0] for line in shown.splitlines()]
    assert set(named) >= set(phony.split())
    assert len(named) == len(set(named))
