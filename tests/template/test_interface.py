"""What a stranger is asked: the console asks by groups, ``sam deploy --guided`` in the order of the template."""

from __future__ import annotations

import json
import re
import tomllib
from typing import Any

import pytest

from tests.template.templates import REPO, template
from tests.template.test_rules import refused

INTERFACE = template().get("Metadata", {}).get("AWS::CloudFormation::Interface", {})
GROUPS: list[Any] = INTERFACE.get("ParameterGroups", [])
SAMCONFIG = REPO / "samconfig.toml"


def test_every_parameter_is_in_one_group_and_the_template_has_their_order() -> None:
    grouped = [name for group in GROUPS for name in group["Parameters"]]
    assert grouped == list(template()["Parameters"])
    assert all(group["Label"]["default"] for group in GROUPS)


def test_the_first_group_is_short_and_has_what_every_stack_needs() -> None:
    first = GROUPS[0]["Parameters"]
    assert {"ReadBucketArns", "WriteBucketArns"} <= set(first) and len(first) <= 5


def test_every_parameter_has_a_label_of_its_own() -> None:
    labels = {name: label["default"] for name, label in INTERFACE["ParameterLabels"].items()}
    assert list(labels) == list(template()["Parameters"])
    assert len(set(labels.values())) == len(labels)
    assert [name for name, label in labels.items() if not 3 <= len(label) <= 60 or label == name] == []


def test_every_parameter_has_a_default() -> None:
    assert [name for name, one in template()["Parameters"].items() if "Default" not in one] == []


def usual_cases() -> dict[str, str]:
    """The sections of samconfig.toml that are commented out, each as it reads without the signs."""
    lines = SAMCONFIG.read_text(encoding="utf-8").splitlines()
    cases: dict[str, str] = {}
    name = ""
    for line in lines:
        text = line.removeprefix("# ") if line.startswith("# ") else line.removeprefix("#") if line == "#" else None
        if text is None:
            name = ""
        elif text.startswith("[case-"):
            name = text.strip("[]").split(".")[0]
        if name and text is not None:
            cases[name] = cases.get(name, "") + text + "\n"
    return cases


def test_the_usual_cases_are_those_of_a_stranger() -> None:
    assert set(usual_cases()) == {"case-new", "case-existing", "case-schedule"}


@pytest.mark.parametrize("name", ["case-new", "case-existing", "case-schedule"])
def test_a_usual_case_can_be_deployed_as_soon_as_it_is_no_comment(name: str) -> None:
    section = tomllib.loads(usual_cases()[name])[name]
    assert section["global"]["parameters"]["stack_name"]
    deploy = section["deploy"]["parameters"]
    assert (deploy["capabilities"], deploy["resolve_s3"]) == ("CAPABILITY_IAM", True)
    given = dict(one.split("=", 1) for one in deploy["parameter_overrides"])
    given = {key: value.strip().strip("'") for key, value in given.items()}
    requests = [json.loads(value) for key, value in given.items() if key == "ScheduleRequest"]
    assert all({"source", "destination"} <= set(request) for request in requests)
    assert refused(given) == []
    needs = {"case-existing": "ExistingAccessPointArn", "case-schedule": "ScheduleExpression"}
    assert all((parameter in given) == (case == name) for case, parameter in needs.items())


def test_the_commands_of_the_readme_deploy_the_stack_that_the_others_name() -> None:
    """``fanout init`` writes what ``fanout deploy`` takes; the other commands name the same stack."""
    readme = (REPO / "README.md").read_text(encoding="utf-8")
    [block] = [one for one in re.findall(r"```sh\n(.*?)```", readme, re.DOTALL) if "fanout deploy" in one]
    [environment] = re.findall(r"fanout deploy --config-env (\S+)", block)
    config = tomllib.loads(SAMCONFIG.read_text(encoding="utf-8"))["default"]
    assert environment == config["global"]["parameters"]["stack_name"]
    assert set(re.findall(r"--stack(?:-name)? (\S+)", readme)) == {environment}
    assert config["deploy"]["parameters"]["resolve_s3"] is True
    # The one variable that sam, aws and boto3 all read.
    steps = ("make setup", "export AWS_DEFAULT_REGION=", "fanout init", "fanout deploy")
    assert sorted(steps, key=block.index) == list(steps)


def test_the_role_of_the_schedule_is_an_output_that_further_schedules_can_use() -> None:
    output = template()["Outputs"]["ScheduleRoleArn"]
    assert (output["Condition"], output["Value"]) == ("HasSchedule", {"Fn::GetAtt": ["ScheduleRole", "Arn"]})
    [trust] = template()["Resources"]["ScheduleRole"]["Properties"]["AssumeRolePolicyDocument"]["Statement"]
    assert trust["Principal"] == {"Service": "scheduler.amazonaws.com"}
    assert trust["Condition"]["StringEquals"] == {"aws:SourceAccount": {"Ref": "AWS::AccountId"}}
    assert trust["Condition"]["ArnLike"]["aws:SourceArn"]["Fn::Sub"].endswith(":schedule-group/*")
