"""SetIds and AllowedOwners as the functions of a stack have them: whole runs through the handlers."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from fanout.model.errors import InvalidRequest
from fanout.runtime import clients
from tests.support.wire import SOURCE, Wire

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
ROOMS = {"copy": "efs:///out", "between": "efs://archive/out"}


def bound(monkeypatch: pytest.MonkeyPatch, set_ids: str = "requests", owners: str = "") -> None:
    monkeypatch.setenv("FANOUT_SET_IDS", set_ids)
    monkeypatch.setenv("FANOUT_ALLOWED_OWNERS", owners)
    clients.settings.cache_clear()


@pytest.mark.parametrize("end", ROOMS.values(), ids=ROOMS)
@pytest.mark.parametrize(("set_ids", "mode", "of_directory"), [("requests", 0o6755, 0o2750), ("never", 0o755, 0o750)])
def test_no_entry_that_the_stack_writes_acts_as_another(
    wire: Wire, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: str, set_ids: str, mode: int, of_directory: int
) -> None:
    """From a mount: on the short way of small files, and as packs to another one."""
    bound(monkeypatch, set_ids)
    tree = tmp_path / "data/in"
    (tree / "d").mkdir(parents=True)
    for name in ("shell", "d/first"):
        (tree / name).write_bytes(b"#!")
        os.chown(tree / name, 1234, 1234)
        (tree / name).chmod(0o6755)
    os.link(tree / "d/first", tree / "d/second")
    (tree / "d").chmod(0o2750)
    wire.flow.run("a", {"source": "efs:///in", "destination": end, "verify": "all"})
    root = tmp_path / ("data/out" if end == ROOMS["copy"] else "archive/out")
    found = {str(one.relative_to(root)): stat.S_IMODE(one.stat().st_mode) for one in root.rglob("*")}
    assert found == {"shell": mode, "d": of_directory, "d/first": mode, "d/second": mode}


@pytest.mark.parametrize("end", ROOMS.values(), ids=ROOMS)
def test_a_move_leaves_what_the_stack_takes_set_id_bits_from(
    wire: Wire, s3: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    """Between two mounts another function reads the source: what it left out is in its rows."""
    bound(monkeypatch, "never")
    tree = tmp_path / "data/in"
    (tree / "d").mkdir(parents=True)
    for name, mode in (("shell", 0o6755), ("plain", 0o755), ("d/f", 0o644)):
        (tree / name).write_bytes(b"#!")
        os.chown(tree / name, 1234, 1234)
        (tree / name).chmod(mode)
    (tree / "d").chmod(0o2750)
    found = wire.flow.run("a", {"source": "efs:///in", "destination": end, "mode": "move"})
    assert found["status"] == "FAILED_WITH_ITEMS"
    assert sorted(str(one.relative_to(tree)) for one in tree.rglob("*")) == ["d", "shell"]
    summary = json.loads(s3.get_object(Bucket="work-bucket", Key="runs/a/summary.json")["Body"].read())
    noted = [str(note) for note in summary["notes"] if "set-id bits were left out" in str(note)]
    assert len(noted) == 1 and "allows none: 2, for example" in noted[0]


@pytest.mark.parametrize(
    ("owners", "set_ids", "owner", "mode"),
    [
        ("", "requests", (0, 0), 0o755),
        ("0-9:0-9", "requests", (0, 0), 0o4755),
        ("0-9:0-9", "never", (0, 0), 0o755),
        ("5:5", "requests", (0, 0), 0o755),
        ("", "requests", (5, 5), 0o4755),
        ("6:6", "requests", (5, 5), 0o755),
    ],
)
def test_a_request_that_asks_for_all_gets_what_the_stack_allows(
    wire: Wire,
    s3: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    owners: str,
    set_ids: str,
    owner: Any,
    mode: int,
) -> None:
    bound(monkeypatch, set_ids, owners)
    said = {"file-owner": str(owner[0]), "file-group": str(owner[1]), "file-permissions": "0104755"}
    s3.put_object(Bucket=SOURCE, Key="in/shell", Body=b"#!", Metadata=said)
    request = {"source": f"s3://{SOURCE}/in/", "destination": "efs:///out", "attributes": {"set_ids": True}}
    wire.flow.run("a", {**request, "verify": "all"})
    found = (tmp_path / "data/out/shell").stat()
    assert stat.S_IMODE(found.st_mode) == mode
    assert (found.st_uid, found.st_gid) == (owner if owners != "6:6" else (0, 0))


def test_owners_that_cannot_be_read_are_none_at_all(monkeypatch: pytest.MonkeyPatch, wire: Wire) -> None:
    """A function that starts without its bounds would have none."""
    bound(monkeypatch, owners="root")
    with pytest.raises(InvalidRequest, match="AllowedOwners"):
        clients.settings()
