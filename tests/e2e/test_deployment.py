"""A stack's life on the emulator: deployed as the last version, upgraded, packaged, deleted; and what is then left."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from fanout_cli.local import LocalPaths, LocalStack, Toolchain, find_toolchain
from fanout_cli.local.access import REGION
from fanout_cli.local.clients import Clients
from fanout_cli.local.deployment import STACK_NAME
from fanout_cli.local.emulator import Emulator
from tests.template.templates import template

# Three deployments, which take minutes where the machine is busy.
pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]
PREVIOUS = Path(__file__).with_name("previous.tar.gz")
TREE = {f"d{number % 3}/f{number}": b"x" * number for number in range(30)}
# What the template makes and the emulator can list: the words of the API, and where a name is in its answer.
LISTED = {
    "functions": ("lambda", "list_functions", "Functions", "FunctionName"),
    "layers": ("lambda", "list_layers", "Layers", "LayerName"),
    "state machines": ("stepfunctions", "list_state_machines", "stateMachines", "name"),
    "log groups": ("logs", "describe_log_groups", "logGroups", "logGroupName"),
    "roles": ("iam", "list_roles", "Roles", "RoleName"),
    "topics": ("sns", "list_topics", "Topics", "TopicArn"),
    "rules": ("events", "list_rules", "Rules", "Name"),
    "alarms": ("cloudwatch", "describe_alarms", "MetricAlarms", "AlarmName"),
    "dashboards": ("cloudwatch", "list_dashboards", "DashboardEntries", "DashboardName"),
    "file systems": ("efs", "describe_file_systems", "FileSystems", "FileSystemId"),
    "buckets": ("s3", "list_buckets", "Buckets", "Name"),
}


@dataclass
class Life:
    """What one version of the stack showed to the tests."""

    outputs: Mapping[str, str] = field(default_factory=dict)
    resources: dict[str, str] = field(default_factory=dict)
    summaries: dict[str, Any] = field(default_factory=dict)
    there: dict[str, set[str]] = field(default_factory=dict)


def listed(client: Any) -> dict[str, set[str]]:
    """Everything there is of each kind in the emulator."""
    found = {}
    for kind, (service, operation, field_, name) in LISTED.items():
        answer = getattr(client(service), operation)()
        found[kind] = {one[name] for one in answer.get(field_, [])}
    return found


def resources(stack: LocalStack, name: str = STACK_NAME) -> dict[str, str]:
    """The physical ids of a stack's resources."""
    answer = stack.clients.cloudformation.describe_stack_resources(StackName=name)
    return {one["LogicalResourceId"]: one["PhysicalResourceId"] for one in answer["StackResources"]}


def transfer(stack: LocalStack, run_id: str) -> Any:
    request = {"source": "s3://life/in/", "destination": "efs:///copy"}
    assert stack.wait(stack.start_execution(request, run_id))["status"] == "SUCCEEDED"
    key = f"runs/{run_id}/summary.json"
    return json.loads(stack.clients.s3.get_object(Bucket=stack.work_bucket, Key=key)["Body"].read())


# `sam delete` takes the URL of a nested template for one of S3 only if it begins with https://s3, as all of AWS's do.
SAM = """
import re, sys
from samcli.lib.package import packageable_resources as resources
parse = resources.parse_s3_url
def parse_s3_url(url, *rest, **options):
    return parse(re.sub("^https://127[^/]+", "https://s3.amazonaws.com", url), *rest, **options)
resources.parse_s3_url = parse_s3_url
from samcli.cli.main import cli
cli(sys.argv[1:], prog_name="sam")
"""


def sam(tools: Toolchain, emulator: Emulator, *arguments: str) -> str:
    """Run the SAM command line against the emulator; what it wrote."""
    environment = emulator.environment() | {"SAM_CLI_TELEMETRY": "0", "SAM_CLI_POLL_DELAY": "0.2"}
    ended = subprocess.run(
        [tools.sam.with_name("python"), "-c", SAM, *arguments],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("life")


@pytest.fixture(scope="module")
def mount(home: Path) -> Path:
    directory = home / "mount"
    directory.mkdir()
    return directory


@pytest.fixture(scope="module")
def before(home: Path, mount: Path) -> Life:
    """The last version, after a run."""
    (home / "previous").mkdir()
    subprocess.run(["tar", "-xzf", PREVIOUS, "-C", home / "previous"], check=True)
    paths = LocalPaths.find(home / "previous", home / "state")
    with LocalStack(paths, find_toolchain(LocalPaths.find().repo), {"data": mount}) as stack:
        stack.clients.s3.create_bucket(Bucket="life")
        for path, body in TREE.items():
            stack.clients.s3.put_object(Bucket="life", Key=f"in/{path}", Body=body)
        summary = transfer(stack, "life-before")
        return Life(dict(stack.outputs), resources(stack), {"before": summary})


@pytest.fixture(scope="module")
def after(home: Path, mount: Path, before: Life) -> Life:
    """The same stack as this version, after the same request."""
    paths = LocalPaths.find(state=home / "state")
    with LocalStack(paths, find_toolchain(paths.repo), {"data": mount}) as stack:
        assert "deploy" in stack.seconds
        summary = transfer(stack, "life-after")
        again = transfer(stack, "life-again")
        kept = stack.clients.s3.get_object(Bucket=stack.work_bucket, Key="runs/life-before/summary.json")
        summaries = {"after": summary, "again": again, "before": json.loads(kept["Body"].read())}
        return Life(dict(stack.outputs), resources(stack), summaries, listed(stack.clients.client))


@pytest.fixture(scope="module")
def deleted(home: Path, after: Life) -> Life:
    """What is left after ``sam delete``."""
    paths = LocalPaths.find(state=home / "state")
    tools = find_toolchain(paths.repo)
    with Emulator(tools, paths) as emulator:
        emulator.wait()
        sam(tools, emulator, "delete", "--stack-name", STACK_NAME, "--no-prompts", "--region", REGION)
        return Life(there=listed(Clients(emulator.access).client))


def test_an_upgrade_keeps_what_holds_data(before: Life, after: Life) -> None:
    for output in ("WorkBucketName", "FileSystemId", "AccessPointArn", "StateMachineArn"):
        assert after.outputs[output] == before.outputs[output]
    assert after.resources["Network"] == before.resources["Network"]


def test_an_upgraded_stack_copies_once_what_the_last_version_left_without_proof(before: Life, after: Life) -> None:
    """The last version gave files the time of their copy, which proves nothing; see docs/understand."""
    copied = before.summaries["before"]["totals"]["copied"]
    assert after.summaries["before"] == before.summaries["before"]
    assert copied["entries"] >= len(TREE)
    assert after.summaries["after"]["totals"]["copied"] == copied
    assert after.summaries["again"]["totals"]["unchanged"] == copied
    assert after.summaries["again"]["totals"]["copied"]["entries"] == 0


def test_every_resource_that_can_be_listed_is_there_before_it_is_deleted(after: Life) -> None:
    assert all(after.there.values())
    functions = template()["Resources"]
    assert len(after.there["functions"]) > sum(r["Type"] == "AWS::Serverless::Function" for r in functions.values())


def test_a_teardown_leaves_the_work_bucket_and_the_file_system_alone(after: Life, deleted: Life) -> None:
    """README: `sam delete` leaves the file system and the work bucket."""
    left = {kind: names for kind, names in deleted.there.items() if names}
    assert left.pop("file systems") == {after.outputs["FileSystemId"]}
    buckets = left.pop("buckets")
    assert after.outputs["WorkBucketName"] in buckets
    # Of the others one is the test's own, one the SAM CLI's for what it uploads, in a stack of its own.
    others = buckets - {after.outputs["WorkBucketName"], "life"}
    assert all(name.startswith("aws-sam-cli-managed-") for name in others)
    assert left == {}
