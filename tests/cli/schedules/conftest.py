"""The stack in moto with a group for schedules and the role of their runs."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.cli.conftest import BUCKET, Aws

GROUP = "mine-ScheduleGroup-1"
ROLE = "arn:aws:iam::123456789012:role/mine-NamedScheduleRole-1"
MINE = ("--stack", "scheduled")
GOOD = {"source": "s3://a-bucket/in/", "destination": "efs:///out", "exclude": ["*.tmp"]}


class Scheduled(Aws):
    """The stand-in for AWS, and the commands about schedules."""

    @property
    def machine(self) -> str:
        [machine] = self.client("stepfunctions").list_state_machines()["stateMachines"]
        return str(machine["stateMachineArn"])

    def schedule(self, *words: str) -> Any:
        """Run ``fanout schedule`` to a good end; what it printed as JSON."""
        answer = self.fanout("schedule", *words, *MINE, "--json")
        assert answer.exit_code == 0, answer.stderr
        return json.loads(answer.stdout)

    def refused(self, *words: str) -> str:
        """Run ``fanout schedule``, which refuses; what it said."""
        answer = self.fanout("schedule", *words, *MINE)
        assert answer.exit_code == 2, answer.output
        return answer.stderr

    def nightly(self, *options: str, request: Any = GOOD) -> Any:
        """Add a schedule of this name."""
        return self.schedule("add", "nightly", self.file(request), "--cron", "0 3 * * ? *", *options)

    def kept(self, name: str = "nightly") -> dict[str, Any]:
        """A schedule as the service has it."""
        found: dict[str, Any] = self.client("scheduler").get_schedule(GroupName=GROUP, Name=name)
        return {key: value for key, value in found.items() if key not in ("ResponseMetadata", "LastModificationDate")}


@pytest.fixture
def scheduled(aws: Aws) -> Scheduled:
    found = Scheduled(aws.directory, aws.state, aws.session, aws.client)
    found.client("scheduler").create_schedule_group(Name=GROUP)
    outputs = {
        "StateMachineArn": found.machine,
        "WorkBucketName": BUCKET,
        "ScheduleGroupName": GROUP,
        "NamedScheduleRoleArn": ROLE,
    }
    template = {
        "Resources": {"Topic": {"Type": "AWS::SNS::Topic"}},
        "Outputs": {name: {"Value": value} for name, value in outputs.items()},
    }
    found.client("cloudformation").create_stack(StackName="scheduled", TemplateBody=json.dumps(template))
    return found
