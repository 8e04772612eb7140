"""A run on the local stack that is over its budget, the one that goes on with more, and what is said of it."""

from __future__ import annotations

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
    request.write_text(json.dumps({**dear, "limits": {"max_dollars": 20}}))
    refused = fanout("start", request, "--name", "dear", "--watch", "--json", *local)
    assert refused.returncode == 1, refused.stdout + refused.stderr
    assert json.loads(refused.stdout)["status"] == "FAILED"
    assert "limits.max_dollars: the forecast is $" in refused.stdout + refused.stderr
    assert not (up["mount"] / "copy").exists() or not list((up["mount"] / "copy").rglob("f*"))

    request.write_text(json.dumps({"resume_from": "dear", "limits": {"max_dollars": 100_000}}))
    ended = fanout("start", request, "--name", "enough", "--watch", "--json", *local)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    found = {str(path.relative_to(up["mount"] / "copy")): path for path in (up["mount"] / "copy").rglob("f*")}
    assert {name: path.read_bytes() for name, path in found.items() if path.is_file()} == CONTENTS

    rows = fanout("entries", "enough", "--outcome", "copied", "--path", "d1/*", "--json", *local)
    assert rows.returncode == 0, rows.stderr
    assert sorted(json.loads(line)["path"] for line in rows.stdout.splitlines()) == sorted(
        name for name in CONTENTS if name.startswith("d1/")
    )
    up["s3"].put_object(Bucket="budgets", Key="in/a//b", Body=b"x")
    audited = fanout("audit", "s3://budgets/in/", "--json", *local)
    assert audited.returncode == 1, audited.stdout + audited.stderr
    assert json.loads(audited.stdout)["entries"] == len(CONTENTS) + 1
    assert "a//b" in audited.stdout
