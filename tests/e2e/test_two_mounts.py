"""Two mounts through the deployed stack: real workers, each of which sees the directory of its side alone."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from fanout_cli.local import LocalPaths, LocalStack, find_toolchain
from tests.support.trees import described

pytestmark = pytest.mark.e2e
BLOCK_BYTES = 8 * 1024 * 1024


@pytest.fixture(scope="module")
def stack(state: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    base = tmp_path_factory.mktemp("mounts")
    mounts = {name: base / name for name in ("data", "archive")}
    for directory in mounts.values():
        directory.mkdir()
    paths = LocalPaths.find(state=state)
    with LocalStack(paths, find_toolchain(paths.repo), mounts) as up:
        yield up, mounts


def filled(root: Path) -> Path:
    for number in range(40):
        path = root / f"d{number % 4}" / f"file {number} ü"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(bytes([number]) * number * 100)
        path.chmod(0o600 + number % 8)
    (root / "empty").mkdir()
    (root / "link").symlink_to("d0/nowhere")
    (root / "big").write_bytes(os.urandom(2 * BLOCK_BYTES + 9))
    os.link(root / "d1" / "file 1 ü", root / "second name")
    return root


def run(stack: LocalStack, run_id: str, request: dict[str, Any]) -> Any:
    ended = stack.wait(stack.start_execution(request, run_id))
    key = f"runs/{run_id}/summary.json"
    summary = json.loads(stack.clients.s3.get_object(Bucket=stack.work_bucket, Key=key)["Body"].read())
    assert ended["status"] == "SUCCEEDED", (ended, summary)
    return summary


def test_a_tree_goes_from_one_to_the_other_and_is_equal(stack: Any) -> None:
    up, mounts = stack
    source = filled(mounts["data"] / "in")
    request = {
        "source": "efs://data/in",
        "destination": "efs://archive/out",
        "limits": {"split_bytes": BLOCK_BYTES, "shard_seconds": 0.1},
    }
    summary = run(up, "mounts-there", {**request, "verify": "all"})
    assert described(mounts["archive"] / "out") == described(source)
    assert summary["totals"]["copied"] == summary["totals"]["listed"]
    assert summary["verification"]["differences"] == 0
    assert not up.clients.s3.list_objects_v2(Bucket=up.work_bucket, Prefix="staged/").get("Contents")
    back = run(up, "mounts-back", {**request, "source": "efs://archive/out", "destination": "efs://data/back"})
    assert back["totals"]["copied"]["entries"] == summary["totals"]["copied"]["entries"]
    assert described(mounts["data"] / "back") == described(source)
    same = run(up, "mounts-compared", {"source": "efs://data/in", "destination": "efs://archive/out", "mode": "verify"})
    assert same["totals"]["unchanged"] == same["totals"]["listed"]


def test_objects_go_to_and_from_the_second_one(stack: Any) -> None:
    up, mounts = stack
    filled(mounts["archive"] / "tree")
    up.clients.s3.create_bucket(Bucket="second-mount")
    run(up, "mounts-out", {"source": "efs://archive/tree", "destination": "s3://second-mount/tree/"})
    run(up, "mounts-in", {"source": "s3://second-mount/tree/", "destination": "efs://archive/again"})
    first, again = (described(mounts["archive"] / name) for name in ("tree", "again"))
    assert {path: one[:5] for path, one in first.items()} == {path: one[:5] for path, one in again.items()}


@pytest.mark.parametrize(("side", "sees", "not_seen"), [(0, "data", "archive"), (1, "archive", "data")])
def test_a_function_sees_the_mount_of_its_side_alone(stack: Any, side: int, sees: str, not_seen: str) -> None:
    up, _ = stack
    name = up.outputs["ExamineNetworkFunctions"].split(",")[side]
    event = {"step": "ExamineNetwork", "kms_key_id": ""}
    answer = up.clients.functions.invoke(FunctionName=name, Payload=json.dumps(event))
    found = {row["name"]: row["level"] for row in json.loads(answer["Payload"].read())["findings"]}
    assert found[f"mount {sees}: write"] == "ok"
    assert not [one for one in found if not_seen in one]
