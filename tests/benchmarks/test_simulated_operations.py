"""What a forecast counts of a file is what the simulated EFS counts of whole runs."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks import lab
from benchmarks.lab import Lab
from fanout.adapters.posix.tree import PosixTree
from fanout.efs.load import Work, loads_to_list
from fanout.efs.seconds import operations_of
from fanout.facts.operations import READ_OPERATIONS_PER_FILE
from fanout.model.document import Json
from fanout.request.options import Overwrite
from fanout.request.parse import parse_request
from tests.support.flow import World
from tests.support.mounts import REQUEST

FILES, DIRECTORIES = 300, 5
OF_A_BACKUP = 0.5  # the run's directory in it, and for each directory of the tree one, a note and looks; no file's
OF_THE_START = 0.66  # a file: staging directories and their notes, roots, the fence, the mark of the end of copies
NO_OPERATIONS = {"bytes_read", "bytes_written", "most_in_flight"}


@pytest.fixture
def running(tmp_path: Path, simulation: None) -> Iterator[Lab]:
    with lab.running("none", 1, tmp_path / "lab", 128) as found:
        (found.mounts[0] / "out").mkdir()
        yield found


def fill(root: Path, data: bytes = b"new", mtime: int | None = None) -> None:
    for number in range(FILES):
        path = root / f"d{number % DIRECTORIES}/f{number}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data * 1_000)
        if mtime is not None:
            os.utime(path, (mtime, mtime))


def counted(running: Lab, world: World, request: Json) -> tuple[float, Counter[str]]:
    """The operations a file of a run that copies all of them, once the kernel has forgotten what it knew."""
    time.sleep(lab.REMEMBERED_SECONDS + 0.5)
    Path("/proc/sys/vm/drop_caches").write_text("3\n")
    before = running.counters()
    summary = world.run(request)
    found = Counter({name: n - before.get(name, 0) for name, n in running.counters().items()})
    assert summary["status"] == "SUCCEEDED"
    assert summary["totals"]["copied"]["entries"] == FILES + DIRECTORIES
    operations = Counter({name: number for name, number in found.items() if name not in NO_OPERATIONS})
    return operations.total() / FILES, operations


@pytest.mark.parametrize(
    ("fields", "there"),
    [
        ({}, False),
        ({"overwrite": "never"}, False),
        ({"overwrite": "if-newer"}, True),
        ({"backup_to": "efs:///kept"}, True),
        ({"attributes": {"uid": 1000, "override": True}}, False),
    ],
    ids=["always", "never", "if-newer", "backup", "owner"],
)
def test_a_forecast_counts_what_a_copy_asks(running: Lab, tmp_path: Path, fields: dict[str, Any], there: bool) -> None:
    fill(tmp_path / "in")
    if there:
        fill(running.mounts[0] / "out", b"old", mtime=1)
    overwrite, kept = Overwrite(fields.get("overwrite", "always")), "kept/" if "backup_to" in fields else ""
    world = World(
        source=PosixTree(tmp_path, "in", "run-1", "source", "source"),
        destination=PosixTree(running.mounts[0], "out", "run-1", "n", overwrite=overwrite, backup_to=kept),
    )
    request = {**REQUEST, **fields}
    each, operations = counted(running, world, request)
    forecast = operations_of(parse_request(request, ("data",), 100))
    renamed = operations["rename"] / FILES if not there else 0.0  # one operation in the place of two
    start = OF_THE_START + (OF_A_BACKUP if kept else 0.0)
    assert forecast - 1.0 - renamed <= each <= forecast + start, operations


def test_a_forecast_counts_what_listing_and_reading_ask(running: Lab) -> None:
    fill(running.mounts[0] / "in")
    world = World(source=PosixTree(running.mounts[0], "in", "run-1", "source", "source"))
    request = {"source": "efs:///in", "destination": "s3://a-bucket/tree/"}
    each, operations = counted(running, world, request)
    listed = Work(FILES + DIRECTORIES, 0, 0, 0, 0.0, directories=DIRECTORIES)
    listing = loads_to_list(parse_request(request, ("data",), 100), listed)["data"].read_operations / FILES
    look = 1.0  # which NFS does not ask for: its answers to READDIR hold the attributes
    assert abs(each - READ_OPERATIONS_PER_FILE - listing - look) <= OF_THE_START, operations
