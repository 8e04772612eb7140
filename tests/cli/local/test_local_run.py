"""What runs on the emulator and `fanout demo` say and print, without the stack."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any, cast

import pytest
from typer.testing import CliRunner

from fanout.copying.copy_shard import copy_shard
from fanout.ledger.keys import PLAN
from fanout.model.entry import Kind
from fanout.model.errors import NotFound
from fanout.model.outcome import Reason
from fanout.partition.partition_shards import partition_shards
from fanout.publishing.kept_versions import PublishedTree
from fanout.shards.partitioned import shards_of
from fanout_cli import demo
from fanout_cli.demo import Demonstration, make_tree
from fanout_cli.local.paths import LocalPaths
from fanout_cli.main import app
from fanout_cli.runs.ending import so_far, work_line
from fanout_cli.runs.local_run import LocalOptions, say_local_end
from fanout_cli.runs.results import RunResult, no_totals, result_of_summary
from fanout_cli.stacks import Stack
from fanout_cli.terminal import Terminal
from tests.support import runs
from tests.support.flow import World
from tests.support.memory import MemoryTree

COUNT = {"entries": 2, "bytes": 4096}


class NoLedger:
    """A work bucket that holds nothing."""

    class exceptions:
        NoSuchKey = NotFound

    def get_object(self, **_: str) -> Any:
        raise NotFound("nothing")


STACK = Stack("local", {"WorkBucketName": "work", "StateMachineArn": "arn"}, lambda _: NoLedger(), "--local", 0.1)


def result(status: str, error: str = "", **more: Any) -> RunResult:
    summary = {
        "status": status,
        "mode": "copy",
        "error": {"name": error, "message": "why"} if error else None,
        "totals": {**no_totals(), "listed": COUNT, "copied": COUNT},
        "seconds": {"list": 1.0, "copy": 2.0},
        **more,
    }
    found = result_of_summary({"status": "FAILED" if error else "SUCCEEDED"}, "run-1", summary)
    return RunResult(
        **{name: getattr(found, name) for name in RunResult.__slots__}
        | {"seconds": {**found.seconds, "start": 4.0, "total": 20.0}, "engine_seconds": 17.0}
        | {"paths": {"report": "there/report.html"}}
    )


def said(found: RunResult, options: str = " --mount data=/efs", state: str = "") -> list[str]:
    out = io.StringIO()
    say_local_end(STACK, found, options, state, Terminal(file=out, width=200))
    return out.getvalue().splitlines()


def test_a_local_run_ends_with_the_figures_that_start_watch_prints() -> None:
    assert said(result("SUCCEEDED")) == [
        "SUCCEEDED: listed 2, copied 2",
        "4 KiB, in 3.0 s, 2 KiB/s while copying",
        "3.0 s of loading, listing and copying; 17.0 s for all else, such as starting the local stack",
        "report: there/report.html",
    ]


def test_a_listing_that_is_not_complete_is_said_in_the_verdict_and_nothing_twice() -> None:
    one = {"phase": "list", "outcome": "failed", "entries": 1, "bytes": 0, "remedy": "open it"}
    shown = said(
        result(
            "FAILED_WITH_ITEMS",
            "FailedWithItems",
            failures_by_class=[{**one, "reason": Reason.UNLISTABLE.value}],
        )
    )
    assert shown[0].endswith("; 1 directory could not be listed: what is in it is unknown")
    assert shown[2] == f"  1 failed, {Reason.UNLISTABLE.value}: open it"
    assert not [line for line in shown if "FailedWithItems" in line]


def test_what_a_local_run_advises_can_be_typed() -> None:
    broken = said(result("FAILED", "Transient"), state=" --state /s")
    assert broken[-3].startswith("next: a retry copies what is left")
    assert broken[-2:] == ["  fanout up --mount data=/efs", "  fanout retry run-1 --local --state /s"]
    nothing = said(result("SUCCEEDED", totals=no_totals(), warnings=["0 objects below this prefix"]))
    assert nothing[-2:] == ["  fanout up --mount data=/efs", "  fanout start REQUEST.json --local"]


def test_the_advised_commands_name_the_same_mounts_server_and_state(tmp_path: Path) -> None:
    options = LocalOptions({"data": Path("/a b"), "other": Path("/c")}, s3_endpoint="http://s3")
    default, other = LocalPaths.find(), LocalPaths.find(state=tmp_path)
    assert options.words(default) == " --mount 'data=/a b' --mount other=/c --s3-endpoint http://s3"
    assert options.words(other).endswith(f" --state {tmp_path}")
    assert (options.state_words(default), options.state_words(other)) == ("", f" --state {tmp_path}")


def test_a_stopped_run_says_how_far_it_came() -> None:
    world = World()
    assert isinstance(world.source, MemoryTree)
    for number in range(30):
        world.source.put(f"f{number:02d}", Kind.FILE, b"x" * 100)
    assert so_far(world.ledger) == ""
    state = world.plan({"source": "s3://a-bucket/in/", "destination": "efs:///copy", "limits": {"shard_seconds": 0.1}})
    assert so_far(world.ledger) == ""
    world.list_all(state)
    assert so_far(world.ledger) == "listed 30; what is copied stays"
    partition_shards(world.context())
    first, *_ = shards_of(world.ledger)
    copy_shard(first, world.context())
    assert so_far(world.ledger) == f"listed 30, at least {first.entries} of 30 done; what is copied stays"
    stopped = RunResult("run-1", "ABORTED", None, no_totals(), is_counted=False, so_far=so_far(world.ledger))
    assert work_line(stopped) == so_far(world.ledger)
    assert stopped.document()["totals"] is None
    world.store.put(f"runs/run-1/{PLAN}", b"{")
    assert so_far(world.ledger) == ""


def test_the_tree_of_the_demonstration_is_counted_the_same_each_time(tmp_path: Path) -> None:
    repo = tmp_path / "repo"
    (repo / "docs").mkdir(parents=True)
    (repo / "docs/page.md").write_text("text")
    first = make_tree(tmp_path / "one", repo)
    for made in (
        "__pycache__/a.pyc",
        ".mypy_cache/b",
        "docs/__pycache__/c.pyc",
        "fanout-copy-1/report.html",
        ".venv/d",
    ):
        (repo / made).parent.mkdir(parents=True, exist_ok=True)
        (repo / made).write_text("new")
    assert make_tree(tmp_path / "two", repo) == first
    assert not list((tmp_path / "two").rglob("*.pyc"))


@pytest.mark.parametrize(("differences", "code"), [([], 0), (["differs: a"], 1)])
def test_demo_prints_json_if_asked(monkeypatch: pytest.MonkeyPatch, differences: list[str], code: int) -> None:
    tree = PublishedTree("efs://data/site", "current", "v1", [])
    shown = Demonstration(5, differences, [result("SUCCEEDED"), result("SUCCEEDED")], tree)
    monkeypatch.setattr(demo, "run_demo", cast(Any, lambda *_: shown))
    answer = CliRunner().invoke(app, ["demo", "--json"])
    document = json.loads(answer.stdout)
    assert (answer.exit_code, document["equal"], document["files"]) == (code, not differences, 5)
    assert document["differences"] == differences
    assert [run["totals"]["copied"]["entries"] for run in document["runs"]] == [2, 2]
    assert document["published"]["published"] == "v1"


def test_a_run_that_published_says_what_the_link_names_now() -> None:
    published = {"version": "v2", "before": "v1", "link": "current", "at": 1.0, "linked": COUNT, "removed": ["v0"]}
    second = result("SUCCEEDED", published=published)
    line = "published: current -> v2, before v1; 2 files (4 KiB) shared with it; removed: v0"
    assert said(second)[2] == line
    assert second.document()["published"] == published
    back = {**published, "version": "v1", "before": "v2", "linked": {"entries": 0, "bytes": 0}, "removed": []}
    undone = said(result("SUCCEEDED", mode="rollback", totals=no_totals(), published=back))
    assert undone[0] == "SUCCEEDED: the link was switched, nothing was copied"
    assert "published: current -> v1, before v2" in undone
    failed = said(result("FAILED", "Infrastructure", mode="rollback", totals=no_totals()))
    assert failed[0] == "FAILED: the link stayed as it was"


def test_a_plan_says_what_it_would_copy_and_delete() -> None:
    world = runs.planned()
    summary = world.ledger.read_json("summary.json")
    result = result_of_summary({"status": "SUCCEEDED"}, world.run_id, summary)
    refused = "1 of the destination's 1 entries are not at the source"
    wanted = f"would copy 40 (341 KiB); a sync would delete 1, which its guard would refuse: {refused}"
    assert work_line(result).startswith(wanted)
