"""Which mount a worker of the local run sees."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import pytest
from typer.testing import CliRunner

from fanout_cli.local import LocalPaths, LocalStack
from fanout_cli.local.access import Access
from fanout_cli.local.deployment import folder_name
from fanout_cli.local.errors import LocalRunError
from fanout_cli.local.workers.worker import SeenMount, write_start
from fanout_cli.main import app

TWO = {"data": Path("/a"), "archive": Path("/b")}


@pytest.mark.parametrize(
    ("side", "mounts", "seen"),
    [
        (SeenMount.FIRST, TWO, ["data"]),
        (SeenMount.SECOND, TWO, ["archive"]),
        (SeenMount.NONE, TWO, []),
        (SeenMount.FIRST, {"data": Path("/a")}, ["data"]),
        (SeenMount.SECOND, {"data": Path("/a")}, []),
    ],
)
def test_a_worker_sees_the_mount_of_its_side(side: SeenMount, mounts: dict[str, Path], seen: list[str]) -> None:
    assert list(side.seen_of(mounts)) == seen


@pytest.mark.parametrize(
    ("resource", "folder"),
    [("CopyShardFunction", "copy_shard"), ("RecordShardFailureFunction", "record_shard_failure")],
)
def test_one_word_names_a_function_and_its_folder(resource: str, folder: str) -> None:
    assert folder_name(resource) == folder


@pytest.mark.parametrize(
    ("side", "knows"), [("first", ["data"]), ("second", ["archive"]), ("none", ["data", "archive"])]
)
def test_what_a_worker_is_told_of_the_mounts(tmp_path: Path, side: str, knows: list[str]) -> None:
    """A stand-in for the interpreter says what it was started with; one that knows all mounts sees none of them."""
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\nexec {sys.executable} -c 'import os; print(os.environ[\"FANOUT_MOUNTS\"])'\n")
    python.chmod(0o755)
    mounts = {name: tmp_path / name for name in ("data", "archive")}
    for directory in mounts.values():
        directory.mkdir()
    paths = LocalPaths.find(state=tmp_path / "state")
    paths.temporary.mkdir(parents=True, exist_ok=True)
    write_start(paths, python, mounts)
    said = subprocess.run(["/bin/sh", paths.worker, side], capture_output=True, text=True, check=True).stdout
    assert list(json.loads(said)) == knows


def bubblewrap(tmp_path: Path, says: str) -> None:
    """A stand-in for the program, first in the PATH."""
    program = tmp_path / "bin" / "bwrap"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\n{says}\n")
    program.chmod(0o755)


@pytest.mark.parametrize(
    ("says", "mounted", "unenforced"),
    [
        ("exit 0", True, []),
        ('case "$*" in *--size*) exit 1; esac', True, ["size of /tmp (bubblewrap is older than 0.7)"]),
        (
            "exit 1",
            False,
            ["file system read-only but for /tmp, size of /tmp, no /dev/shm (bubblewrap is missing or may not run)"],
        ),
    ],
)
def test_what_cannot_be_limited_on_a_machine_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, says: str, mounted: bool, unenforced: list[str]
) -> None:
    bubblewrap(tmp_path, says)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    found = write_start(LocalPaths.find(state=tmp_path / "state"), Path(sys.executable), {"data": tmp_path})
    assert (found.mounted, list(found.unenforced)) == (mounted, unenforced)


def test_up_says_it_too(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def came_up(paths: LocalPaths, *_: object) -> dict[str, object]:
        paths.access.parent.mkdir(parents=True, exist_ok=True)
        access = Access.new("https://127.0.0.1:1", tmp_path / "authority.pem")
        access.write(paths.access)
        return {"endpoint": access.endpoint, "environment": str(paths.access), "unenforced": ["size of /tmp"]}

    monkeypatch.setattr("fanout_cli.local.keeper.bring_up", came_up)
    said = CliRunner().invoke(app, ["up", "--state", str(tmp_path)])
    assert said.exit_code == 0
    assert "not limited as in Lambda: size of /tmp" in said.stderr


def test_a_stack_has_two_mounts_at_most(tmp_path: Path) -> None:
    mounts = dict.fromkeys(("a", "b", "c"), tmp_path)
    stack = LocalStack(LocalPaths.find(state=tmp_path / "state"), cast(Any, None), mounts)
    with pytest.raises(LocalRunError, match="3 mounts are given; a stack has at most 2"), stack:
        pass
