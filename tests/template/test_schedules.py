"""The group of the schedules that ``fanout schedule`` adds, and their role."""

from __future__ import annotations

from tests.template.templates import NESTED, REPO, policies, resources, stacks, template

PAGE = REPO / "docs/how-to/several-schedules.md"
SCHEDULES = NESTED / "schedules.yaml"


def test_the_role_starts_runs_of_this_state_machine_and_nothing_else() -> None:
    path, given = stacks()["Schedules"]
    assert (path, given["StateMachineArn"]) == (SCHEDULES, {"Ref": "TransferStateMachine"})
    said = [s for name, s in policies() if name == "NamedScheduleRole" and "Resource" in s]
    assert [(s["Action"], s["Resource"]) for s in said] == [("states:StartExecution", {"Ref": "StateMachineArn"})]


def test_only_a_schedule_of_the_group_may_take_the_role() -> None:
    """docs.aws.amazon.com/scheduler/latest/UserGuide/cross-service-confused-deputy-prevention.html."""
    [trust] = resources()["NamedScheduleRole"]["Properties"]["AssumeRolePolicyDocument"]["Statement"]
    assert (trust["Principal"], trust["Action"]) == ({"Service": "scheduler.amazonaws.com"}, "sts:AssumeRole")
    group = {"Fn::GetAtt": ["ScheduleGroup", "Arn"]}
    assert trust["Condition"] == {
        "StringEquals": {"aws:SourceAccount": {"Ref": "AWS::AccountId"}, "aws:SourceArn": group}
    }


def test_the_outputs_name_the_group_and_the_role_on_every_stack() -> None:
    for name in ("ScheduleGroupName", "NamedScheduleRoleArn"):
        assert template()["Outputs"][name]["Value"] == {"Fn::GetAtt": ["Schedules", f"Outputs.{name}"]}
        assert "Condition" not in template()["Outputs"][name]
        assert f"`{name}`" in PAGE.read_text(encoding="utf-8")
    assert "Condition" not in template()["Resources"]["Schedules"]
