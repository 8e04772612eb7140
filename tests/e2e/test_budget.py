"""A run on the local stack whose forecast is over its budget, the one that goes on with more, and what it tells.

The same stack answers what became of each entry, what DataSync would cost, and what S3 Files would hide of the tree.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.command import fanout

pytestmark = pytest.mark.e2e

CONTENTS = {f"d{number % 3}/f{number}": b"%d" % number for number in range(30)}


def test_a_dear_run_is_refused_and_goes_on_with_a_higher_budget(state: Path, up: Any, tmp_path: Path) -> None:
    local = ("--local", "--state", state)
    up["s3"].create_bucket(Bucket="budgets")
    for name, content in CONTENTS.items():
        up["s3"].put_object(Bucket="budgets", Key=f"in/{name}", Body=content)
    request = tmp_path / "request.json"
    # An object that is read costs a dollar.
    dear = {"source": "s3://budgets/in/", "destination": "efs:///copy", "prices": {"s3_get": 1.0}}
    dear["report_entries"] = "all"
    request.write_text(json.dumps({**dear, "limits": {"max_dollars": 20}}))
    refused = fanout("start", request, "--name", "dear", "--watch", "--json", *local)
    assert refused.returncode == 5, refused.stdout + refused.stderr
    assert json.loads(refused.stdout)["status"] == "FAILED"
    assert "limits.max_dollars: the forecast is $" in refused.stdout + refused.stderr
    assert not (up["mount"] / "copy").exists() or not list((up["mount"] / "copy").rglob("f*"))

    request.write_text(json.dumps({"resume_from": "dear", "limits": {"max_dollars": 100_000}}))
    ended = fanout("start", request, "--name", "enough", "--watch", "--json", *local)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    found = {str(path.relative_to(up["mount"] / "copy")): path for path in (up["mount"] / "copy").rglob("f*")}
    assert {name: path.read_bytes() for name, path in found.items() if path.is_file()} == CONTENTS

    shown = fanout("entries", "enough", "--outcome", "copied", "--path", "d1/*", "--json", *local)
    assert shown.returncode == 0, shown.stderr
    rows = [json.loads(line) for line in shown.stdout.splitlines()]
    assert {row["path"]: row["size"] for row in rows} == {
        name: len(content) for name, content in CONTENTS.items() if name.startswith("d1/")
    }
    work = up["outputs"]["WorkBucketName"]

    def kept(key: str) -> bytes:
        found: bytes = up["s3"].get_object(Bucket=work, Key=key)["Body"].read()
        return found

    listed = up["s3"].list_objects_v2(Bucket=work, Prefix="runs/enough/entries/")["Contents"]
    lines = b"".join(gzip.decompress(kept(one["Key"])) for one in listed).splitlines()
    assert sorted(json.loads(line)["path"] for line in lines) == sorted(CONTENTS)
    forecast = json.loads(kept("runs/enough/summary.json"))["forecast"]
    assert (forecast["datasync_mode"], forecast["datasync_dollars"]["total"] > 0) == ("basic", True)

    up["s3"].put_object(Bucket="budgets", Key="in/d1//hidden", Body=b"x")
    audit = fanout("audit", "s3://budgets/in/", "--json", *local)
    assert audit.returncode == 1, audit.stdout + audit.stderr
    findings = {row["finding"]: row["examples"] for row in json.loads(audit.stdout)["findings"]}
    assert findings["empty_name"] == ["d1//hidden"]


def test_a_run_stops_when_its_time_is_over_and_another_goes_on(state: Path, up: Any, tmp_path: Path) -> None:
    local = ("--local", "--state", state)
    up["s3"].create_bucket(Bucket="times")
    bodies = {f"d{number % 3}/f{number:02d}": b"%04d" % number * 262_144 for number in range(40)}
    for name, body in bodies.items():
        up["s3"].put_object(Bucket="times", Key=f"in/{name}", Body=body)
    request = tmp_path / "timed.json"
    # All of it takes over half a minute at this rate.
    limits = {"bytes_per_second": "1 MiB", "max_seconds": 15, "shard_seconds": 0.1, "max_concurrency": 1}
    request.write_text(json.dumps({"source": "s3://times/in/", "destination": "efs:///timed", "limits": limits}))
    stopped = fanout("start", request, "--name", "timed", "--watch", "--json", *local)
    assert stopped.returncode == 6, stopped.stdout + stopped.stderr
    ended = json.loads(stopped.stdout)
    assert ended["error"]["name"] == "OutOfTime", ended
    assert "limits.max_seconds" in ended["error"]["message"]

    def copied() -> dict[str, bytes]:
        there = up["mount"] / "timed"
        return {str(path.relative_to(there)): path.read_bytes() for path in there.rglob("f*") if path.is_file()}

    first = copied()
    assert first.items() < bodies.items(), "what is there is whole, and something is left"
    request.write_text(
        json.dumps({"resume_from": "timed", "limits": {"bytes_per_second": "1 GiB", "max_seconds": 3600}})
    )
    rest = fanout("start", request, "--name", "timed-on", "--watch", "--json", *local)
    assert rest.returncode == 0, rest.stdout + rest.stderr
    assert copied() == bodies
    totals = json.loads(rest.stdout)["totals"]
    assert totals["listed"]["entries"] == totals["copied"]["entries"] + totals["unchanged"]["entries"], totals
