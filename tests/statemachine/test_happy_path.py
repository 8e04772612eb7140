"""A transfer goes through all states: round by round, and shard by shard until each is done."""

from __future__ import annotations

from fanout.model.errors import LedgerBroken

from .definition import FUNCTION_ARN
from .engine import Engine
from .failing import always
from .fake_functions import BUCKET, FUNCTIONS, REQUEST

RUN = {"id": "run-1", "bucket": BUCKET, "prefix": "runs/run-1/", "apart": "", "digests": "", "functions": FUNCTIONS}


def test_a_transfer_passes_through_every_state_of_the_root_in_order(engine: Engine) -> None:
    engine.transfer(rounds=(("0",), ("1", "2")), shards=("a", "b", "c"))
    result = engine.run()
    assert (result.status, result.output) == (
        "SUCCEEDED",
        {"summary": {"status": "SUCCEEDED", "error": "", "cause": ""}},
    )
    assert engine.entered() == [
        *("PlanTransfer", "AlreadyRunning?", "CheckMount", "OtherMount?"),
        *("OneSegment?", "ListOneSegment", "GatherSegments", "MoreToList?", "OpenRound"),
        *("OneSegment?", "ListTree", "GatherSegments", "MoreToList?"),
        *("PartitionShards", "WhatToDo?", "AnyArchived?", "CopyInPace", "CopyBroke?"),
        *("FinishTree", "TreeFinished?", "AnyExtras?", "WhatToVerify?", "ToPublish?"),
        *("SummariseTransfer", "TransferSucceeded?", "Succeeded"),
    ]


def test_the_plan_gets_the_whole_request_and_the_name_of_the_execution_as_run_id(engine: Engine) -> None:
    engine.transfer()
    engine.run(run_id="nightly-7")
    (planned,) = engine.service.calls("PlanTransfer")
    assert (planned["request"], planned["run_id"]) == (REQUEST, "nightly-7")
    assert planned["execution"] == "arn:aws:states:eu-west-1:123456789012:execution:transfer:nightly-7"
    for prefix, offered in zip(("", "Second", "Outside"), planned["functions"], strict=True):
        names = (
            "CheckMount",
            "ListSegment",
            "CopyShard",
            "FinishTree",
            "FinishShard",
            "VerifyShard",
            "ShortWay",
            "DeleteShard",
            "RemoveDirectories",
        )
        assert offered == {name: FUNCTION_ARN.format(name=prefix + name) for name in names}


def test_each_segment_of_each_round_is_listed_once(engine: Engine) -> None:
    engine.transfer(rounds=(("0",), ("1", "2")))
    engine.run()
    listed = engine.service.calls("ListSegment")
    assert sorted(event["segment"] for event in listed) == ["0", "1", "2"]
    assert all(event["run"] == RUN for event in listed)


def test_what_a_resumed_run_takes_over_passes_through_the_states_of_a_listing_as_it_is(engine: Engine) -> None:
    taken_over = {
        "id": "0001-000000",
        "prefix": "",
        "after": "",
        "until": "",
        "carried": "segments/carried-000000.json",
    }
    engine.transfer(rounds=((taken_over,),))
    assert engine.run({"resume_from": "run-0"}).status == "SUCCEEDED"
    assert [event["request"] for event in engine.service.calls("PlanTransfer")] == [{"resume_from": "run-0"}]
    assert [event["segment"] for event in engine.service.calls("ListSegment")] == [taken_over]


def test_a_tree_that_one_function_lists_needs_one_round_and_no_map(engine: Engine) -> None:
    engine.transfer(rounds=(("0",),))
    engine.run()
    assert engine.service.calls("ListSegment") == [{"step": "ListOneSegment", "run": RUN, "segment": "0"}]
    assert "ListTree" not in engine.entered()


def test_a_round_of_many_segments_comes_after_one_of_one_and_before(engine: Engine) -> None:
    engine.transfer(rounds=(("0",), ("1", "2"), ("3",), ("4", "5", "6")))
    assert engine.run().status == "SUCCEEDED"
    assert [name for name in engine.entered() if name.startswith("List")] == ["ListOneSegment", "ListTree"] * 2
    listed = [event["segment"] for event in engine.service.calls("ListSegment")]
    assert sorted(listed) == ["0", "1", "2", "3", "4", "5", "6"]


def test_each_round_is_gathered_with_its_own_list(engine: Engine) -> None:
    engine.transfer(rounds=(("0",), ("1", "2")))
    engine.run()
    assert [event["list"]["key"] for event in engine.service.calls("GatherSegments")] == [
        "runs/run-1/segments/0.json",
        "runs/run-1/segments/1.json",
    ]


def test_a_shard_is_copied_on_from_the_cursor_that_it_hands_back(engine: Engine) -> None:
    engine.transfer(shards=("a", "b", "c"), cursors={"b": (40, 90)})
    assert engine.run().status == "SUCCEEDED"
    copied = engine.service.calls("CopyShard")
    assert [event["cursor"] for event in copied if event["shard"] == "b"] == [0, 40, 90]
    assert sorted(event["shard"] for event in copied) == ["a", "b", "b", "b", "c"]
    assert all(event["run"] == RUN for event in copied)


def test_a_run_with_no_shard_goes_around_the_copying(engine: Engine) -> None:
    engine.transfer(shards=())
    assert engine.run().status == "SUCCEEDED"
    assert "CopyInPace" not in engine.entered()
    assert engine.service.called()[-3:] == ["PartitionShards", "FinishTree", "SummariseTransfer"]


def test_a_listing_that_reads_no_segment_still_ends(engine: Engine) -> None:
    engine.transfer(rounds=((),), shards=())
    assert engine.run().status == "SUCCEEDED"
    assert engine.service.calls("ListSegment") == []


def test_the_finish_and_the_summary_get_references_only(engine: Engine) -> None:
    engine.transfer()
    engine.run()
    [finish] = engine.service.calls("FinishTree")
    assert (finish["run"], sorted(finish["state"])) == (RUN, ["gathered", "list", "pace", "run", "shards"])
    state = engine.service.calls("SummariseTransfer")[0]["state"]
    assert sorted(state) == ["finish", "gathered", "list", "pace", "run", "shards"]
    known = {"archived", "copies", "count", "extras", "key", "max_concurrency", "next", "paced", "restores", "verify"}
    assert state["shards"].keys() == known


def test_a_large_tree_is_finished_round_by_round_each_shard_until_it_is_done(engine: Engine) -> None:
    engine.transfer(finishing=(("big", "links"), ("d1", "d2", "d3")), unfinished=1)
    assert engine.run().status == "SUCCEEDED"
    finished = [event["shard"] for event in engine.service.calls("FinishShard")]
    assert sorted(finished[:4]) == ["big", "big", "links", "links"]
    assert sorted(finished[4:]) == sorted(["d1", "d2", "d3"] * 2)
    rounds = [event["state"].get("finish", {}).get("round", -1) for event in engine.service.calls("FinishTree")]
    assert rounds == [-1, 0, 1, 1]
    assert engine.entered().count("FinishShards") == 2


def test_what_a_finishing_shard_leaves_is_for_the_last_task_and_the_run_goes_on(engine: Engine) -> None:
    engine.transfer(finishing=(("a", "b"),), extras=("x",))
    engine.service.functions["FinishShard"] = always(LedgerBroken("no shard"))
    assert engine.run().status == "SUCCEEDED"
    assert len(engine.service.calls("FinishTree")) == 2
    assert "BeginDeletion" in engine.service.called()


def test_a_run_that_broke_off_is_finished_in_rounds_too(engine: Engine) -> None:
    engine.transfer(finishing=(("a", "b"),))
    engine.service.functions["GatherSegments"] = always(LedgerBroken("no round"))
    assert engine.run().error == "LedgerBroken"
    assert sorted(event["shard"] for event in engine.service.calls("FinishShard")) == ["a", "a", "b", "b"]
    assert engine.service.called()[-2:] == ["FinishTree", "SummariseTransfer"]


def test_a_tree_is_finished_by_as_many_tasks_as_it_takes(engine: Engine) -> None:
    engine.transfer(unfinished=2)
    assert engine.run().status == "SUCCEEDED"
    assert [event["run"] for event in engine.service.calls("FinishTree")] == [RUN] * 3


def test_archived_shards_are_asked_for_first_and_copied_when_they_are_restored(engine: Engine) -> None:
    engine.transfer(shards=("a", "b", "c"), archived=("b", "c"), verify="copied", paced=True)
    assert engine.run().status == "SUCCEEDED"
    assert [
        one for one in engine.entered() if one in ("RestoreObjects", "CopyInPace", "WaitForArchive", "FinishTree")
    ] == [
        *("RestoreObjects", "RestoreObjects", "CopyInPace"),
        *("RestoreObjects", "WaitForArchive", "RestoreObjects", "CopyInPace", "RestoreObjects", "CopyInPace"),
        "FinishTree",
    ]
    assert [event["shard"] for event in engine.service.calls("CopyShard")] == ["a", "b", "c"]
    assert sorted(event["shard"] for event in engine.service.calls("VerifyShard")) == ["a", "b", "c"]
    asked = [event["shards"]["restores"] for event in engine.service.calls("RestoreObjects")]
    assert asked == ["", "+", "++", "+++", "++++"]


def test_checksums_are_computed_before_both_trees_are_compared(engine: Engine) -> None:
    engine.transfer(shards=("a", "b"), verify="all", computes=True)
    assert engine.run().status == "SUCCEEDED"
    names = ("ComputeChecksums", "WaitForChecksums", "VerifyShards")
    entered = [one for one in engine.entered() if one in names]
    assert entered == ["ComputeChecksums", "ComputeChecksums", "WaitForChecksums", "ComputeChecksums", "VerifyShards"]


def test_a_run_without_computed_checksums_compares_what_it_has(engine: Engine) -> None:
    engine.transfer(shards=("a", "b"), mode="verify", computes=True)
    engine.service.functions["ComputeChecksums"] = always(LedgerBroken("shards.json is missing"))
    assert engine.run().status == "SUCCEEDED"
    assert sorted(event["shard"] for event in engine.service.calls("VerifyShard")) == ["a", "b"]


def test_archived_shards_alone_are_waited_for(engine: Engine) -> None:
    engine.transfer(shards=("b",), archived=("b",))
    assert engine.run().status == "SUCCEEDED"
    assert [event["shard"] for event in engine.service.calls("CopyShard")] == ["b"]


def test_a_failed_restoring_ends_the_run_after_its_finish(engine: Engine) -> None:
    engine.transfer(shards=("a", "b"), archived=("b",))
    engine.service.functions["RestoreObjects"] = always(LedgerBroken("restores/stand is missing"))
    result = engine.run()
    assert (result.status, result.error) == ("FAILED", "LedgerBroken")
    assert engine.service.calls("CopyShard") == [] and len(engine.service.calls("FinishTree")) == 1
