"""What watches the runs: every name in it is one that something emits."""

from __future__ import annotations

import json
import re
from typing import Any

from fanout.forecast.phases import NOTED
from fanout.summary.metrics import run_metrics
from tests.support.summaries import summary_of
from tests.template.templates import (
    EXAMINES_MOUNT,
    MOUNTED,
    NESTED,
    NESTED_FUNCTIONS,
    PROBE,
    actions,
    functions,
    of_type,
    policies,
    resources,
    stacks,
    template,
)

QUEUE = "AWS::SQS::Queue"


def dashboard() -> Any:
    """The dashboard's body, with a word for what is substituted."""
    body = resources()["Dashboard"]["Properties"]["DashboardBody"]["Fn::Sub"]
    return json.loads(re.sub(r"\$\{[\w:]+\}", "x", body))


def test_every_metric_that_is_shown_or_alarms_is_emitted() -> None:
    # PlanTransfer's own: tests/functions/test_plan_metrics.py sees it emitted.
    emitted = {*run_metrics(summary_of(seconds=dict.fromkeys(NOTED, 0.0))), "RunsBegun", "RunsSkipped"}
    shown = {
        metric[1]
        for widget in dashboard()["widgets"]
        for metric in widget["properties"]["metrics"]
        if metric[0] == "FanOutTransfer"
    }
    alarms = [one["Properties"] for one in of_type("AWS::CloudWatch::Alarm").values()]
    watched = {one["MetricName"] for one in alarms if one.get("Namespace") == "FanOutTransfer"}
    assert len(shown) > 10 and watched == {"Failures", "RunsBegun"}
    assert shown | watched <= emitted


def test_the_dimension_of_the_run_s_metrics_is_the_stack() -> None:
    """Powertools makes its service the dimension ``service``."""
    for name, function in functions().items():
        assert function["Environment"]["Variables"]["POWERTOOLS_SERVICE_NAME"] == {
            "Ref": "Name" if name in NESTED_FUNCTIONS else "AWS::StackName"
        }
    assert stacks()["Monitors"][1]["Name"] == {"Ref": "AWS::StackName"}
    alarm = resources()["EntriesFailedAlarm"]["Properties"]
    assert alarm["Dimensions"] == [{"Name": "service", "Value": {"Ref": "Name"}}]


def test_every_alarm_tells_the_topic_and_what_to_do() -> None:
    alarms = of_type("AWS::CloudWatch::Alarm") | of_type("AWS::CloudWatch::CompositeAlarm")
    halves = {"NoRecentRunAlarm", "EverRunAlarm"}  # of NoRunAlarm, which tells
    assert halves < set(alarms)
    for name, alarm in alarms.items():
        assert alarm["Properties"].get("AlarmActions") == (None if name in halves else [{"Ref": "NotificationTopic"}])
        assert alarm["Properties"]["AlarmDescription"]


def test_a_run_that_does_not_succeed_alarms_however_it_ends() -> None:
    alarms = [one["Properties"] for one in of_type("AWS::CloudWatch::Alarm").values()]
    above_none = {
        one["MetricName"]
        for one in alarms
        if one["ComparisonOperator"] == "GreaterThanThreshold" and one["Threshold"] == 0
    }
    assert above_none == {
        *("ExecutionsFailed", "ExecutionsAborted", "ExecutionsTimedOut"),
        "ApproximateNumberOfMessagesVisible",
        "FailedInvocations",
    }
    runs = [one for one in alarms if one["Namespace"] == "AWS/States"]
    assert all(one["Dimensions"][0]["Value"] == {"Ref": "StateMachineArn"} for one in runs) and len(runs) == 3
    assert stacks()["Monitors"][1]["StateMachineArn"] == {"Ref": "TransferStateMachine"}


def test_a_missing_run_alarms_because_missing_data_does() -> None:
    alarm = resources()["NoRecentRunAlarm"]["Properties"]
    assert (alarm["TreatMissingData"], alarm["Period"]) == ("breaching", 3600)
    assert alarm["EvaluationPeriods"] == {"Ref": "ExpectRunEveryHours"}


def test_a_stack_that_has_never_run_does_not_alarm_of_missing_runs() -> None:
    """Its metric does not exist: an alarm that ignores missing data has no state until a run has begun."""
    ever = resources()["EverRunAlarm"]["Properties"]
    assert (ever["TreatMissingData"], ever["Threshold"]) == ("ignore", 0)
    assert ever["ComparisonOperator"] == "GreaterThanOrEqualToThreshold"
    both = resources()["NoRunAlarm"]["Properties"]
    assert both["AlarmRule"] == {"Fn::Sub": 'ALARM("${NoRecentRunAlarm}") AND ALARM("${EverRunAlarm}")'}
    assert both["AlarmActions"] == [{"Ref": "NotificationTopic"}]
    assert not {"AlarmActions"} & (ever.keys() | resources()["NoRecentRunAlarm"]["Properties"].keys())


def test_a_run_that_is_skipped_does_not_silence_the_alarm_on_missing_runs() -> None:
    """Step Functions counts it as started and succeeded."""
    for name in ("NoRecentRunAlarm", "EverRunAlarm"):
        alarm = resources()[name]["Properties"]
        assert (alarm["Namespace"], alarm["MetricName"]) == ("FanOutTransfer", "RunsBegun")
        assert alarm["Dimensions"] == [{"Name": "service", "Value": {"Ref": "Name"}}]


def test_every_queue_of_what_failed_alarms_while_something_lies_in_it() -> None:
    targets = [
        *(queue["Properties"].get("RedrivePolicy", {}).get("deadLetterTargetArn") for queue in of_type(QUEUE).values()),
        *(
            target.get("DeadLetterConfig", {}).get("Arn")
            for rule in of_type("AWS::Events::Rule").values()
            for target in rule["Properties"]["Targets"]
        ),
        *(function.get("DeadLetterConfig", {}).get("TargetArn") for function in functions().values()),
    ]
    failed = {found["Fn::GetAtt"][0] for found in targets if found}
    assert failed == {"FailedEventsQueue"}
    outputs = template(NESTED / "events.yaml")["Outputs"]
    for queue in failed:
        assert outputs[f"{queue}Name"]["Value"] == {"Fn::GetAtt": [queue, "QueueName"]}
        given = stacks()["Monitors"][1][f"{queue}Name"]
        assert given == {"Fn::If": ["HasEvents", {"Fn::GetAtt": ["Events", f"Outputs.{queue}Name"]}, ""]}
        alarm = resources()["FailedEventsAlarm"]["Properties"]
        assert alarm["Dimensions"] == [{"Name": "QueueName", "Value": {"Ref": f"{queue}Name"}}]
        # A message that is moved there is none that was sent: only what lies there shows it.
        assert (alarm["MetricName"], alarm["Statistic"]) == ("ApproximateNumberOfMessagesVisible", "Maximum")


def test_the_rule_tells_of_this_machine_s_own_runs_alone() -> None:
    rule = resources()["RunEndedRule"]["Properties"]
    pattern = rule["EventPattern"]
    condition, every, failures = pattern["detail"]["Fn::If"]
    assert condition == "NotifiesOfSuccess"
    assert every["stateMachineArn"] == failures["stateMachineArn"] == [{"Ref": "StateMachineArn"}]
    failed, succeeded = every["$or"]
    assert failed == {"status": failures["status"]} == {"status": ["FAILED", "TIMED_OUT", "ABORTED"]}
    # A run that was skipped has succeeded, too, and has nothing to tell.
    assert succeeded == {"status": ["SUCCEEDED"], "output": [{"anything-but": {"wildcard": '*"SKIPPED"*'}}]}
    transformer = rule["Targets"][0]["InputTransformer"]
    template = transformer["InputTemplate"]["Fn::Sub"]
    assert set(re.findall(r"<(\w+)>", template)) == set(transformer["InputPathsMap"])
    assert template.startswith('"') and template.endswith('"')


def test_alarms_publish_and_may_also_use_the_key() -> None:
    assert _let_in({"Service": "cloudwatch.amazonaws.com"}) == {
        ("NotificationKey", "kms:GenerateDataKey"),
        ("NotificationKey", "kms:Decrypt"),
        ("NotificationTopicPolicy", "sns:Publish"),
    }
    own = {"Ref": "NotificationKey"}  # where there is no EncryptionKeyArn: tests/template/test_keys.py
    assert resources()["NotificationTopic"]["Properties"]["KmsMasterKeyId"]["Fn::If"][2] == own


def test_the_topic_lets_in_this_rule_alone_of_all_of_eventbridge() -> None:
    """One wording of EventBridge's page says that a role for an encrypted topic fails; both allow this."""
    assert _let_in({"Service": "events.amazonaws.com"}) == {
        ("NotificationKey", "kms:GenerateDataKey"),
        ("NotificationKey", "kms:Decrypt"),
        ("NotificationTopicPolicy", "sns:Publish"),
    }
    [target] = resources()["RunEndedRule"]["Properties"]["Targets"]
    assert target["Arn"] == {"Ref": "NotificationTopic"} and "RoleArn" not in target
    held = {
        name: s["Condition"]
        for name, s in policies()
        if name in ("NotificationKey", "NotificationTopicPolicy") and "events" in str(s.get("Principal"))
    }
    own = {"Fn::Sub": "arn:${AWS::Partition}:sns:${AWS::Region}:${AWS::AccountId}:*"}
    assert held == {
        "NotificationKey": {"ArnLike": {"kms:EncryptionContext:aws:sns:topicArn": own}},
        "NotificationTopicPolicy": {"ArnEquals": {"aws:SourceArn": {"Fn::GetAtt": ["RunEndedRule", "Arn"]}}},
    }


def test_an_end_of_a_run_that_cannot_be_told_alarms() -> None:
    alarm = resources()["NotToldAlarm"]["Properties"]
    assert (alarm["Namespace"], alarm["MetricName"]) == ("AWS/Events", "FailedInvocations")
    assert alarm["Dimensions"] == [{"Name": "RuleName", "Value": {"Ref": "RunEndedRule"}}]


def _let_in(principal: Any) -> set[tuple[str, str]]:
    """What the policies of the topic and of its key allow somebody."""
    return {
        (name, action)
        for name, s in policies()
        if name in ("NotificationKey", "NotificationTopicPolicy") and s.get("Principal") == principal
        for action in _held(s)
    }


def _held(statement: Any) -> list[str]:
    return actions(statement) if statement["Effect"] == "Allow" and "Resource" in statement else []


def test_a_saved_query_asks_every_function() -> None:
    groups = {name: function["LoggingConfig"]["LogGroup"] for name, function in functions().items()}
    mounted = template(NESTED / "mounted.yaml")["Outputs"]["LogGroupNames"]["Value"]["Fn::Join"][1]
    none = {"Ref": "AWS::NoValue"}
    examines = [{"Fn::If": ["Mounts", groups[name], none]} for name in EXAMINES_MOUNT]
    assert sorted(map(str, mounted)) == sorted(map(str, [*(groups[name] for name in MOUNTED), *examines]))
    probing = template(NESTED / "probe.yaml")["Outputs"]["LogGroupNames"]["Value"]["Fn::Join"][1]
    assert sorted(map(str, probing)) == sorted(str(groups[name]) for name in PROBE)
    asked = stacks()["Queries"][1]["LogGroupNames"]["Fn::Join"][1]
    nested = ("FirstMount", "SecondMount", "Probe", "SecondProbe")
    first, second, probe, twin = ({"Fn::GetAtt": [name, "Outputs.LogGroupNames"]} for name in nested)
    own = [group for name, group in groups.items() if name not in NESTED_FUNCTIONS]
    alone = [{"Fn::GetAtt": [name, "Outputs.LogGroupName"]} for name in ("Pacing", "Checksums", "Examining")]
    outside = {"Fn::GetAtt": ["Outside", "Outputs.LogGroupNames"]}
    others = ((second, "HasSecondMount"), (twin, "HasSecondMount"), (outside, "LeavesRegion"))
    twins = [{"Fn::If": [condition, one, {"Ref": "AWS::NoValue"}]} for one, condition in others]
    assert sorted(map(str, asked)) == sorted(map(str, [*own, first, *alone, probe, *twins]))
    queries = of_type("AWS::Logs::QueryDefinition")
    assert len(queries) >= 5
    assert all(query["Properties"]["LogGroupNames"] == {"Ref": "LogGroupNames"} for query in queries.values())


def test_the_schedule_starts_the_request_and_may_do_nothing_else() -> None:
    schedule = resources()["TransferSchedule"]["Properties"]
    assert schedule["Target"]["Input"] == {"Ref": "ScheduleRequest"}
    assert schedule["Target"]["Arn"] == {"Ref": "TransferStateMachine"}
    allowed = [(s["Action"], s.get("Resource")) for name, s in policies() if name == "ScheduleRole"]
    assert allowed == [("sts:AssumeRole", None), ("states:StartExecution", {"Ref": "TransferStateMachine"})]
