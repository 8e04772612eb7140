"""The pages that start runs, carried out on the local stack: their commands with ``--local`` for ``--stack fanout``."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.docs.commands import Block, blocks, is_run, needs_a_stack
from tests.docs.commands import run as run_block
from tests.docs.pages import name
from tests.e2e.command import fanout

pytestmark = pytest.mark.e2e

PAGES = ("docs/start/first-copy.md", "docs/how-to/verify.md")


BLOCKS = [one for one in blocks() if is_run(one) and needs_a_stack(one)]


@pytest.mark.parametrize("block", BLOCKS, ids=str)
def test_a_block_that_starts_the_local_stack_does_what_it_says(block: Block, state: Path, tmp_path: Path) -> None:
    (tmp_path / "state").symlink_to(state)
    try:
        run_block(block, tmp_path)
    finally:
        assert fanout("down", "--state", state).returncode == 0


def test_there_are_such_blocks() -> None:
    assert BLOCKS


def commands_of(page: str) -> list[str]:
    """The lines of the blocks of a page, in its order."""
    return [line for block in blocks() if name(block.document) == page for line in block.commands]


@pytest.mark.timeout(600)
def test_the_pages_for_a_first_copy_do_what_they_say(up: Any, state: Path, tmp_path: Path) -> None:
    if "my-data" not in {one["Name"] for one in up["s3"].list_buckets()["Buckets"]}:  # a block may have made it
        up["s3"].create_bucket(Bucket="my-data")
    for one in up["s3"].list_objects_v2(Bucket="my-data", Prefix="in/").get("Contents", []):
        up["s3"].delete_object(Bucket="my-data", Key=one["Key"])
    for number in range(5):
        up["s3"].put_object(Bucket="my-data", Key=f"in/{number}", Body=b"x" * number)
    program = Path(sys.executable).with_name("fanout")
    copy, run = up["mount"] / "copy", "none"
    for line in (line for page in PAGES for line in commands_of(page)):
        if "--from-verify" in line:
            (copy / "1").write_bytes(b"y")
            found = fanout("verify", "s3://my-data/in/", "efs:///copy", "--local", "--state", state)
            assert found.returncode == 1, found.stderr
            run = json.loads(fanout("list", "--local", "--state", state, "--json").stdout)[0]["run_id"]
        here = line.replace(".venv/bin/fanout", str(program)).replace(" --open", "").replace(" RUN ", f" {run} ")
        here = here.replace("--stack fanout", f"--local --state {state}")
        assert "--stack" not in here
        shell = ["sh", "-eu", "-c", here]
        ended = subprocess.run(shell, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
        refused = "--checksums computed" in line  # a stack on this machine has no jobs of S3 Batch Operations
        assert ended.returncode == (2 if refused else 0), (line, ended.stderr)
        assert not refused or "ComputedChecksums" in ended.stderr
        listed = json.loads(fanout("list", "--local", "--state", state, "--json").stdout)
        run = listed[0]["run_id"] if listed else run
    assert {path.name: path.read_bytes() for path in copy.iterdir()} == {
        str(number): b"x" * number for number in range(5)
    }
