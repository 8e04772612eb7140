"""The way of S3's events: bucket, rule, queue, function, run."""

from __future__ import annotations

import pytest

from tests.functions.test_roles import GIVEN
from tests.support.actions import Need
from tests.support.iam import is_allowed, statements_of
from tests.template.templates import NESTED, actions, functions, policies, resources, template
from tests.template.test_template import BOUNDS

EVENTS = NESTED / "events.yaml"


def test_the_rule_passes_what_came_and_went_below_the_prefix_of_the_bucket() -> None:
    rule = resources()["ObjectEventsRule"]["Properties"]
    assert rule["EventPattern"] == {
        "source": ["aws.s3"],
        "detail-type": ["Object Created", "Object Deleted"],
        "detail": {
            "bucket": {"name": [{"Ref": "EventBucketName"}]},
            "object": {"key": [{"prefix": {"Ref": "EventPrefix"}}]},
        },
    }
    (target,) = rule["Targets"]
    assert target["Arn"] == {"Fn::GetAtt": ["ObjectEventsQueue", "Arn"]}


def test_what_can_not_be_delivered_or_read_is_kept_and_not_lost() -> None:
    failed = {"Fn::GetAtt": ["FailedEventsQueue", "Arn"]}
    (target,) = resources()["ObjectEventsRule"]["Properties"]["Targets"]
    queue = resources()["ObjectEventsQueue"]["Properties"]
    assert target["DeadLetterConfig"]["Arn"] == queue["RedrivePolicy"]["deadLetterTargetArn"] == failed
    assert resources()["FailedEventsQueue"]["Properties"]["MessageRetentionPeriod"] == 14 * 86_400
    mapping = resources()["ObjectEventsMapping"]["Properties"]
    assert mapping["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    # docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html: six times the time-out, and the window.
    window = template()["Parameters"]["EventWindowSeconds"]["MaxValue"]
    assert queue["VisibilityTimeout"] >= 6 * functions()["StartBatchFunction"]["Timeout"] + window
    assert mapping["BatchSize"] <= 10_000 and template()["Parameters"]["EventWindowSeconds"]["MinValue"] >= 1


def test_only_the_rule_may_send_and_the_function_may_start_runs_of_this_machine_alone() -> None:
    sends = [s for name, s in policies() if name == "EventQueuesPolicy" and s["Effect"] == "Allow"]
    rule = {"Fn::GetAtt": ["ObjectEventsRule", "Arn"]}
    assert [s["Condition"] for s in sends] == [{"ArnEquals": {"aws:SourceArn": rule}}]
    allowed = {action: s["Resource"] for name, s in policies() if name == "StartBatchPolicy" for action in actions(s)}
    assert allowed.pop("states:StartExecution") == {"Ref": "StateMachineArn"}
    assert allowed.pop("kms:Decrypt") == {"Ref": "EncryptionKeyArn"}
    assert set(map(str, allowed.values())) == {str({"Fn::GetAtt": ["ObjectEventsQueue", "Arn"]})}


def test_nothing_of_it_is_there_without_a_bucket() -> None:
    assert template()["Resources"]["Events"]["Condition"] == "HasEvents"
    assert template()["Outputs"]["FailedEventsQueueUrl"]["Condition"] == "HasEvents"


def test_the_function_is_as_those_of_the_main_template_are() -> None:
    function, shared = functions()["StartBatchFunction"], template()["Globals"]["Function"]
    for key in ("Runtime", "Handler", "Architectures"):
        assert function[key] == shared[key]
    assert set(shared["Environment"]["Variables"]) - BOUNDS <= set(function["Environment"]["Variables"])


MACHINES = "arn:aws:states:us-east-1:123456789012:stateMachine:"


@pytest.mark.parametrize("function", sorted(functions()))
def test_of_all_functions_it_alone_starts_runs_and_of_this_machine_alone(function: str) -> None:
    """IAM asks nothing about the input of an execution, so what it is given is a matter of its code."""
    statements = statements_of(function, GIVEN)
    asked = [
        ("states:StartExecution", f"{MACHINES}{name}") for name in ("fanout-transfer", "fanout-transfer-2", "fanout")
    ]
    asked += [("states:StartSyncExecution", f"{MACHINES}fanout-transfer"), ("states:RedriveExecution", "*")]
    allowed = [one for one in asked if is_allowed(Need(*one), statements)]
    assert allowed == [asked[0]] * (function == "StartBatchFunction")


def test_its_request_is_the_stack_s_parameter() -> None:
    variables = functions()["StartBatchFunction"]["Environment"]["Variables"]
    assert variables["FANOUT_EVENT_REQUEST"] == {"Ref": "EventRequest"}
    assert template()["Resources"]["Events"]["Properties"]["Parameters"]["EventRequest"] == {"Ref": "EventRequest"}
