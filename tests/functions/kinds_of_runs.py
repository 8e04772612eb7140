"""Runs of every kind through the handlers, whose requests are held against the roles of their functions."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from fanout.checksums import compute_checksums
from fanout.facts import tuning
from tests.planning.test_event_batches import eventbridge
from tests.support.handler_flow import HandlerFlow

SOURCE, TARGET, WORK = "source-bucket", "target-bucket", "work-bucket"

SPLIT = {"split_bytes": 8 * 1024 * 1024}
S3_IN, S3_OUT = f"s3://{SOURCE}/in/", f"s3://{TARGET}/out/"
NAMED = {"object_tags": {"team": "b"}, "object_metadata": {"job": "7"}, "object_acl": "bucket-owner-full-control"}
IN_TIME = {**SPLIT, "finish_by": "4h"}
GUARD = {"delete_guard": {"max_percent": 90.0, "max_count": 100}}


def every_run(flow: HandlerFlow, s3: Any, machine: str, tmp_path: Path) -> None:
    """Runs of every kind: between which ends, of which mode, with what after the copy."""
    small = {"budget_bytes": "256 MiB", "budget_seconds": 600, "max_functions": 1}
    assert flow.probe("probe", small)["status"] == "SUCCEEDED"
    flow.run("a", {"source": S3_IN, "destination": "efs:///from-s3", "limits": SPLIT, "verify": "all"})
    flow.run("b", {"source": "efs:///in", "destination": f"{S3_OUT}b/", "limits": SPLIT, "verify": "copied"})
    flow.run("b-again", {"source": "efs:///in", "destination": f"{S3_OUT}b/"})
    flow.run("c", {"source": S3_IN, "destination": f"{S3_OUT}c/", "limits": IN_TIME, "verify": "all"})
    flow.run("d", {"source": "efs://data/in", "destination": "efs://archive/in", "limits": SPLIT, "verify": "all"})
    flow.run("e", {"source": S3_IN, "destination": "efs:///some", "manifest": f"s3://{SOURCE}/lists/some.csv"})
    (tmp_path / "data/from-s3/extra").mkdir()
    (tmp_path / "data/from-s3/extra/file").write_text("extra")
    flow.run("f", {"source": S3_IN, "destination": "efs:///from-s3", "mode": "sync", **GUARD})
    s3.put_object(Bucket=TARGET, Key="out/c/extra", Body=b"extra")
    flow.run("g", {"source": S3_IN, "destination": f"{S3_OUT}c/", "mode": "sync", **GUARD})
    for name in ("d/", "d/file"):
        s3.put_object(Bucket=SOURCE, Key=f"moved/{name}", Body=b"")
    flow.run("moved", {"source": f"s3://{SOURCE}/moved/", "destination": "efs:///moved", "mode": "move"})
    flow.run("moved-on", {"source": "efs:///moved", "destination": "efs://archive/moved", "mode": "move"})
    flow.run("h", {"source": S3_IN, "destination": f"{S3_OUT}c/", "mode": "verify", "certificate": True})
    assert s3.head_object(Bucket=WORK, Key="runs/h/certificate.json")["ContentLength"] > 1000
    computed = {"source": S3_IN, "destination": f"{S3_OUT}c/", "mode": "verify", "checksums": "computed"}
    flow.run("computed", computed)
    assert s3.list_objects_v2(Bucket=WORK, Prefix="computed/computed/")["KeyCount"]
    with patch.object(compute_checksums, "PATIENCE_SECONDS", 0.0):
        flow.run("given-up", computed)
    flow.run("i", {"source": S3_IN, "destination": f"{S3_OUT}c/", "compare": "checksum"})
    flow.run("j", {"source": "efs:///in", "destination": f"{S3_OUT}j/", "limits": SPLIT}, fail_shards=True)
    flow.run("k", {"resume_from": "j"})
    flow.run("named", {"source": "efs:///in", "destination": f"{S3_OUT}m/", "limits": SPLIT, **NAMED})
    flow.run("named-too", {"source": S3_IN, "destination": f"{S3_OUT}n/", **NAMED})
    stopped = {"source": S3_IN, "destination": "efs:///stopped"}
    flow.plan("stopped", stopped)
    flow.run("after-stopped", stopped)
    assert {row["level"] for row in flow.doctor()} <= {"ok", "warn"}
    events = [eventbridge("in/d1/f", bucket=SOURCE), "no event"]
    request = {"source": S3_IN, "destination": "efs:///events"}
    assert flow.batch(machine, request, events) == {"batchItemFailures": [{"itemIdentifier": "m-1"}]}
    s3.put_object(Bucket=SOURCE, Key="in/cold/f", Body=b"cold", StorageClass="GLACIER")
    flow.run("cold", {"source": f"{S3_IN}cold/", "destination": "efs:///cold", "archived": "restore"})
    assert (tmp_path / "data/cold/f").read_bytes() == b"cold"
    flow.run("l", {"source": "efs://data/in", "destination": "efs://archive/l", "limits": SPLIT}, fail_shards=True)


def short_runs(flow: HandlerFlow, s3: Any, tmp_path: Path) -> None:
    """Runs whose states after the plan are one function's."""
    flow.short = True
    runs: list[tuple[str, dict[str, Any]]] = [
        ("short-a", {"source": S3_IN, "destination": "efs:///short", "limits": IN_TIME}),
        ("short-b", {"source": "efs:///in", "destination": f"{S3_OUT}short/", "limits": SPLIT, **NAMED}),
        ("short-c", {"source": S3_IN, "destination": f"{S3_OUT}short-c/", "limits": SPLIT, **NAMED}),
        ("short-d", {"source": "efs:///in", "destination": f"{S3_OUT}short/", "mode": "sync", **GUARD}),
        ("short-e", {"source": S3_IN, "destination": "efs:///short", "mode": "sync", **GUARD}),
    ]
    for name, request in runs:
        if name == "short-d":
            s3.put_object(Bucket=TARGET, Key="out/short/extra", Body=b"extra")
        assert flow.run(name, request)["status"] == "SUCCEEDED"
        deletes = ["BeginDeletion", "DeleteShard", "RemoveDirectories"] * (name == "short-d")
        assert flow.called == ["PlanTransfer", "ShortWay", *deletes, "SummariseTransfer"], name
    lost = flow.plan("lost", {"source": S3_IN, "destination": "efs:///lost"})
    assert flow.step("TakeOver", {"run": lost["run"]}) == {"at": "CheckMount"}
    flow.short = False


def large_runs(flow: HandlerFlow, s3: Any, tmp_path: Path, patch: pytest.MonkeyPatch) -> None:
    """Runs that FinishShards finishes, each with two big files."""
    (tmp_path / "data/in/second-big").write_bytes(b"c" * 9_000_000)
    s3.put_object(Bucket=SOURCE, Key="in/second-big", Body=b"c" * 9_000_000)
    patch.setattr(tuning, "FINISH_ALONE_SECONDS", 0.0)
    patch.setattr(tuning, "SHARD_SECONDS_MIN", 0.001)
    flow.run("large-a", {"source": "efs:///in", "destination": f"{S3_OUT}large-a/", "limits": SPLIT})
    flow.run("failed", {"source": "efs:///in", "destination": f"{S3_OUT}failed/", "limits": SPLIT}, fail_shards=True)
    flow.run("large-b", {"source": S3_IN, "destination": "efs:///large", "limits": SPLIT})
    flow.run("large-c", {"source": "efs://data/in", "destination": "efs://archive/large", "limits": SPLIT})
