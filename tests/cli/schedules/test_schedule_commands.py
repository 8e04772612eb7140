"""``fanout schedule``, as a person types it, against EventBridge Scheduler in moto."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import boto3
import pytest

from fanout.facts.aws import SCHEDULE_INPUT_BYTES
from fanout_cli.schedules.schedule import FIELDS
from tests.cli.conftest import Aws
from tests.cli.schedules.conftest import GOOD, GROUP, MINE, ROLE, Scheduled
from tests.cli.test_terminal import assert_harmless


def test_add_makes_a_schedule_that_starts_the_request_under_its_name(scheduled: Scheduled) -> None:
    made = scheduled.nightly("--timezone", "Europe/Berlin", "--window-minutes", "15")
    assert (made["name"], made["state"], made["expression"]) == ("nightly", "ENABLED", "cron(0 3 * * ? *)")
    assert (made["request"], made["last"]) == (GOOD, None)
    times = [datetime.fromisoformat(one) for one in made["next"]]
    assert [one.hour for one in times] == [3, 3, 3] and times[0] > datetime.now(UTC)
    kept = scheduled.kept()
    assert kept["ScheduleExpressionTimezone"] == "Europe/Berlin"
    assert kept["FlexibleTimeWindow"] == {"Mode": "FLEXIBLE", "MaximumWindowInMinutes": 15}
    target = kept["Target"]
    assert (target["Arn"], target["RoleArn"]) == ("arn:aws:scheduler:::aws-sdk:sfn:startExecution", ROLE)
    call = json.loads(target["Input"])
    assert (call["StateMachineArn"], call["Name"]) == (scheduled.machine, "nightly--<aws.scheduler.execution-id>")
    assert json.loads(call["Input"]) == GOOD


@pytest.mark.parametrize(
    ("options", "expression"),
    [
        (("--cron", "cron(15 10 ? * MON-FRI *)"), "cron(15 10 ? * MON-FRI *)"),
        (("--rate", "1 day"), "rate(1 day)"),
        (("--rate", "rate(6 hour)"), "rate(6 hours)"),
        (("--at", "2199-01-31T03:00:00"), "at(2199-01-31T03:00:00)"),
    ],
)
def test_each_kind_of_time_is_taken_as_the_service_writes_it(
    scheduled: Scheduled, options: tuple[str, ...], expression: str
) -> None:
    made = scheduled.schedule("add", "other", scheduled.file(GOOD), *options)
    assert made["expression"] == expression == scheduled.kept("other")["ScheduleExpression"]
    assert made["next"]


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ({}, "source: is missing"),
        ([], "request: is not a JSON object"),
        ({**GOOD, "exclud": ["*.tmp"]}, "exclud: unknown field; did you mean exclude?"),
        (
            {**GOOD, "destination": "s3://bucket/<aws.scheduler.scheduled-time>/"},
            "REQUEST.json: it holds '<aws.scheduler.'",
        ),
        ({**GOOD, "exclude": ["😀" * 1000 + str(n) for n in range(30)]}, f"a schedule takes {SCHEDULE_INPUT_BYTES:,}"),
    ],
)
def test_add_refuses_a_request_as_start_does_and_one_too_big(scheduled: Scheduled, document: Any, said: str) -> None:
    assert said in scheduled.refused("add", "nightly", scheduled.file(document), "--rate", "1 day")
    assert scheduled.schedule("list") == []


@pytest.mark.parametrize("name", ["", "a b", "_a", "a.b", "a--b", "a-", "x" * 43, "ünder", "a/b", "\x1b[2J"], ids=repr)
def test_a_name_that_no_schedule_or_run_can_have_is_refused(scheduled: Scheduled, name: str) -> None:
    said = scheduled.refused("add", name, scheduled.file(GOOD), "--rate", "1 day")
    assert "is no name of a schedule; take 1 to 42 of A-Z, a-z, 0-9, - and _" in said
    assert "\x1b" not in said and scheduled.schedule("list") == []


def test_the_longest_name_makes_the_longest_id_of_a_run(scheduled: Scheduled) -> None:
    scheduled.schedule("add", "x" * 42, scheduled.file(GOOD), "--rate", "1 day")
    name = json.loads(scheduled.kept("x" * 42)["Target"]["Input"])["Name"]
    assert len(name.replace("<aws.scheduler.execution-id>", "0" * 36)) == 80


def test_a_name_that_is_taken_is_refused_unless_it_is_to_be_replaced(scheduled: Scheduled) -> None:
    scheduled.nightly()
    before = scheduled.kept()
    other = scheduled.file({**GOOD, "mode": "sync"})
    assert "there is a schedule 'nightly' already" in scheduled.refused("add", "nightly", other, "--rate", "1 day")
    assert scheduled.kept() == before
    made = scheduled.schedule("add", "nightly", other, "--rate", "1 day", "--replace")
    assert (made["expression"], made["request"]["mode"]) == ("rate(1 day)", "sync")
    assert scheduled.schedule("add", "new", other, "--rate", "1 day", "--replace")["name"] == "new"


def test_a_paused_schedule_stays_paused_when_it_is_replaced(scheduled: Scheduled) -> None:
    scheduled.nightly()
    scheduled.schedule("pause", "nightly")
    assert scheduled.nightly("--replace")["state"] == "DISABLED"


def test_pause_and_resume_change_the_state_and_nothing_else(scheduled: Scheduled) -> None:
    scheduled.nightly("--timezone", "Asia/Tokyo", "--window-minutes", "5")
    begin = datetime.now(UTC).replace(microsecond=0) + timedelta(days=1)
    # As another tool may have set it.
    set_by_hand = {
        "StartDate": begin,
        "EndDate": begin + timedelta(days=9),
        "KmsKeyArn": "arn:aws:kms:eu-west-1:123456789012:key/1",
        "Description": "by hand",
    }
    scheduled.client("scheduler").update_schedule(
        **{**{name: value for name, value in scheduled.kept().items() if name in FIELDS}, **set_by_hand}
    )
    before = scheduled.kept()
    assert {name: before[name] for name in set_by_hand} == set_by_hand
    shown = [datetime.fromisoformat(one) for one in scheduled.schedule("show", "nightly")["next"]]
    assert shown and all(begin <= one <= begin + timedelta(days=9) for one in shown)
    paused = scheduled.schedule("pause", "nightly")
    assert (paused["state"], paused["next"]) == ("DISABLED", [])
    assert scheduled.kept() == {**before, "State": "DISABLED"}
    assert scheduled.schedule("resume", "nightly")["state"] == "ENABLED"
    assert scheduled.kept() == before
    assert scheduled.schedule("resume", "nightly")["state"] == "ENABLED"


def test_every_field_that_an_update_takes_is_kept() -> None:
    """One that it is not given goes back to its default; a field that a newer client knows is to be kept too."""
    make: Any = boto3.client
    model = make("scheduler", region_name="eu-west-1").meta.service_model.operation_model("UpdateSchedule")
    assert set(FIELDS) == set(model.input_shape.members) - {"ClientToken"}


def test_run_starts_the_request_now_and_list_shows_it_as_the_last(scheduled: Scheduled) -> None:
    scheduled.nightly()
    scheduled.schedule("pause", "nightly")
    run_id = scheduled.schedule("run", "nightly", "--detach")["run_id"]
    assert run_id.startswith("nightly--run-") and scheduled.request_of(run_id) == GOOD
    [shown] = scheduled.schedule("list")
    assert (shown["name"], shown["last"]["run_id"]) == ("nightly", run_id)


def test_the_runs_of_a_schedule_carry_its_name_in_the_list(scheduled: Scheduled) -> None:
    for run_id in ("nightly--d32c5kddcf5bb8c3", "nightly-eu--d32c5kddcf5bb8c3", "nightly-by-hand", "--odd"):
        scheduled.start(run_id)
    listed = json.loads(scheduled.fanout("list", *MINE, "--json").stdout)
    assert {row["run_id"]: row["schedule"] for row in listed} == {
        "nightly--d32c5kddcf5bb8c3": "nightly",
        "nightly-eu--d32c5kddcf5bb8c3": "nightly-eu",
        "nightly-by-hand": None,
        "--odd": None,
    }
    only = json.loads(scheduled.fanout("list", *MINE, "--schedule", "nightly", "--json").stdout)
    assert [row["run_id"] for row in only] == ["nightly--d32c5kddcf5bb8c3"]


def test_list_in_a_pipe_has_a_line_each_in_the_order_of_the_names(scheduled: Scheduled) -> None:
    scheduled.schedule("add", "weekly", scheduled.file(GOOD), "--cron", "0 4 ? * SUN *")
    scheduled.nightly("--timezone", "Europe/Berlin")
    scheduled.start("nightly--1")
    head, *rows = (line.split("\t") for line in scheduled.fanout("schedule", "list", *MINE).stdout.splitlines())
    assert head == ["schedule", "state", "when", "next", "last", "status", "run"]
    assert [row[:3] for row in rows] == [
        ["nightly", "ENABLED", "cron(0 3 * * ? *) Europe/Berlin"],
        ["weekly", "ENABLED", "cron(0 4 ? * SUN *) UTC"],
    ]
    assert rows[0][-1] == "nightly--1" and rows[0][3].split()[1] == "03:00"
    assert rows[1][4:] == ["", "", ""]


def test_more_than_a_page_of_schedules_is_listed(scheduled: Scheduled) -> None:
    scheduled.nightly()
    document = {name: value for name, value in scheduled.kept().items() if name in FIELDS}
    client = scheduled.client("scheduler")
    for number in range(120):
        client.create_schedule(**{**document, "Name": f"other-{number:03}"})
    assert len(scheduled.schedule("list")) == 121


def test_show_says_all_of_one(scheduled: Scheduled) -> None:
    scheduled.nightly("--timezone", "Europe/Berlin", "--window-minutes", "15")
    shown = scheduled.fanout("schedule", "show", "nightly", *MINE)
    assert shown.exit_code == 0
    for part in (
        "nightly: ENABLED",
        "when: cron(0 3 * * ? *) Europe/Berlin, within 15 minutes",
        "last: none",
        f"request: {json.dumps(GOOD)}",
    ):
        assert part in shown.stderr


def test_remove_deletes_it(scheduled: Scheduled) -> None:
    scheduled.nightly()
    assert scheduled.schedule("remove", "nightly") == {"name": "nightly", "removed": True}
    assert scheduled.schedule("list") == []


def test_names_and_requests_are_shown_as_escapes(scheduled: Scheduled) -> None:
    scheduled.nightly(request={**GOOD, "exclude": ["\x1b2J\u202e"]})
    for word in ("show", "pause"):
        assert_harmless(scheduled.fanout("schedule", word, "nightly", *MINE).output, shows="")
    assert_harmless(scheduled.fanout("schedule", "show", "\x1b[2J", *MINE).stderr, shows="\\x1b[2J")


@pytest.mark.parametrize("name", ["nightly", "a b", ""])
@pytest.mark.parametrize("word", ["show", "pause", "resume", "run", "remove"])
def test_a_schedule_that_is_not_there_is_named(scheduled: Scheduled, word: str, name: str) -> None:
    said = scheduled.refused(word, name)
    assert f"no schedule {name!r} in the stack 'scheduled'" in said
    assert "fanout schedule list --stack scheduled" in said


def test_a_stack_without_a_group_is_to_be_deployed_again(aws: Aws) -> None:
    said = aws.fanout("schedule", "list", "--stack", "mine")
    assert said.exit_code == 2 and "deploy it again with this version" in said.stderr


def test_a_schedule_of_another_tool_in_the_group_is_listed_and_not_run(scheduled: Scheduled) -> None:
    scheduled.client("scheduler").create_schedule(
        Name="by-hand",
        GroupName=GROUP,
        ScheduleExpression="cron(every day)",
        FlexibleTimeWindow={"Mode": "OFF"},
        Target={"Arn": scheduled.machine, "RoleArn": ROLE, "Input": json.dumps(GOOD)},
    )
    [shown] = scheduled.schedule("list")
    assert (shown["name"], shown["next"], shown["request"]) == ("by-hand", [], None)
    assert scheduled.fanout("schedule", "show", "by-hand", *MINE).stderr.endswith("request: null\n")
    assert "by-hand: its target is none of `fanout schedule add`" in scheduled.refused("run", "by-hand")
    assert scheduled.executions() == []


def test_a_schedule_of_another_tool_whose_times_leave_the_calendar_is_listed(scheduled: Scheduled) -> None:
    scheduled.nightly()
    document = {name: value for name, value in scheduled.kept().items() if name in FIELDS}
    rate = {"Name": "rare", "ScheduleExpression": "rate(999999 days)"}
    scheduled.client("scheduler").create_schedule(**{**document, **rate})
    assert [(one["name"], len(one["next"])) for one in scheduled.schedule("list")] == [("nightly", 3), ("rare", 2)]
    assert "'999999 days' is too long" in scheduled.refused(
        "add", "other", scheduled.file(GOOD), "--rate", "999999 days"
    )
