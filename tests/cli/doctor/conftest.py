"""The stack in moto that the doctor looks at."""

from __future__ import annotations

import pytest

from fanout_cli.doctor import inside
from tests.cli.conftest import Aws
from tests.cli.doctor.stack import STACK, template


@pytest.fixture
def whole(aws: Aws, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The stack's outputs; what a function inside says is not moto's affair."""
    [machine] = aws.client("stepfunctions").list_state_machines()["stateMachines"]
    file_system = aws.client("efs").create_file_system(CreationToken="t")["FileSystemId"]
    text = template(StateMachineArn=machine["stateMachineArn"], FileSystemId=file_system)
    aws.client("cloudformation").create_stack(StackName=STACK, TemplateBody=text)
    [described] = aws.client("cloudformation").describe_stacks(StackName=STACK)["Stacks"]
    monkeypatch.setattr(inside, "functions", lambda _: [])
    outputs = {one["OutputKey"]: one["OutputValue"] for one in described["Outputs"]}
    aws.client("ec2").associate_route_table(RouteTableId=outputs["RouteTable"], SubnetId=outputs["SubnetIds"])
    return outputs
