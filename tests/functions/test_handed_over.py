"""What a function makes of a plan is handed over to its other processes: each tree, of each kind of request."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

from fanout.adapters.aws.assumed_role import AssumedRole
from fanout.adapters.aws.credentials import Credentials
from fanout.ledger.kept_store import KeptStore
from fanout.model.segment import Segment
from fanout.request.options import Compare
from fanout.runtime.bootstrap import make_context
from fanout.work.context import Context
from tests.functions.conftest import Invoke
from tests.functions.test_handlers import started

BUCKET, IN, OUT = "s3://data-bucket/in/", "efs:///in", "efs:///out"
OWNED = {"expected_owner": "123456789012"}
REQUESTS: list[dict[str, Any]] = [
    {"source": BUCKET, "destination": OUT, "attributes": {"gid": 0}, "verify": "all"},
    {
        "source": BUCKET,
        "destination": OUT,
        "source_bucket": {"expected_owner": "123456789012"},
        "include": ["**/a*"],
        "exclude": ["b*"],
    },
    {"source": IN, "destination": "s3://data-bucket/out/", "symlinks": "follow", "object_tags": {"team": "b"}},
    {"source": IN, "destination": OUT, "compare": Compare.CHECKSUM, "overwrite": "never"},
    {"source": IN, "destination": OUT, "mode": "sync", "backup_to": "efs:///kept"},
    {"source": IN, "destination": OUT, "publish": {"link": "current"}},
]


def context_of(invoke: Invoke, request: dict[str, Any]) -> Context:
    """The context of a task of a planned run."""
    state = invoke("PlanTransfer", {"request": request, **started("run-1")})
    invoke("CheckMount", {"run": state["run"]})
    return make_context("run-1", "", 60.0, "CopyShard")


@pytest.mark.parametrize("request_", REQUESTS)
def test_the_trees_of_a_plan_are_the_same_in_another_process(
    s3: Any, invoke: Invoke, tmp_path: Path, request_: dict[str, Any]
) -> None:
    for name in ("a", "b/c", "out/d"):
        s3.put_object(Bucket="data-bucket", Key=f"in/{name}", Body=name.encode())
        for end in ("in", "out"):
            (tmp_path / end / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / end / name).write_text(name)
    context = context_of(invoke, request_)
    plan = context.ledger.read_plan()
    for tree in (context.source(plan), context.destination(plan)):
        again = pickle.loads(pickle.dumps(tree))
        assert type(again) is type(tree)
        listed = list(tree.list(Segment("all")))
        assert list(again.list(Segment("all"))) == listed
        for entry in listed:
            assert again.find(entry.path) == tree.find(entry.path)
        again.close()
    assert pickle.loads(pickle.dumps(plan)) == plan
    assert pickle.loads(pickle.dumps(context.clock.now))() > 0
    context.ends.release()


def test_a_root_that_is_kept_out_is_kept_out_there_too(s3: Any, invoke: Invoke, tmp_path: Path) -> None:
    (tmp_path / "in/deep").mkdir(parents=True)
    context = context_of(invoke, {"source": IN, "destination": OUT})
    plan = context.ledger.read_plan()
    tree = context.source(plan)
    files = tree.file_system
    assert files is not None
    files.keep_out(str((tmp_path / "in/deep").stat().st_ino), ValueError)
    with pytest.raises(ValueError, match="deep"):
        list(pickle.loads(pickle.dumps(tree)).list(Segment("all")))
    context.ends.release()


def test_a_ledger_that_is_kept_reads_and_writes_the_store_itself_there(s3: Any, invoke: Invoke) -> None:
    context = context_of(invoke, {"source": BUCKET, "destination": OUT})
    kept = context.ledger.kept()
    assert isinstance(kept._store, KeptStore)
    again = pickle.loads(pickle.dumps(kept))
    assert not isinstance(again._store, KeptStore)
    again.write_json("noted.json", {"by": "another process"})
    assert context.ledger.read_json("noted.json") == {"by": "another process"}
    assert (again.run_id, again.prefix) == (kept.run_id, kept.prefix)


def test_a_role_is_not_assumed_again_in_each_process(monkeypatch: pytest.MonkeyPatch) -> None:
    role = AssumedRole("us-east-1", "arn:aws:iam::444455556666:role/data", "for-fanout")
    keys = Credentials("id", "secret", "token")
    monkeypatch.setattr(AssumedRole, "_assume", lambda self: (self._now() + 3_600, keys))
    assert role() == keys
    monkeypatch.delattr(AssumedRole, "_assume")
    assert pickle.loads(pickle.dumps(role))() == keys
