"""A stack that S3's events start, packaged by itself, and deleted with its data: what the other teardown keeps."""

from __future__ import annotations

import io
import json
import os
import time
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from cfnlint.decode import cfn_yaml

from fanout.model.path_rules import STAGING_PREFIX
from fanout_cli.local import LocalPaths, LocalStack, Toolchain, find_toolchain
from fanout_cli.local.access import REGION
from fanout_cli.local.clients import Clients
from fanout_cli.local.deployment import STACK_NAME
from fanout_cli.local.emulator import Emulator
from tests.e2e.test_deployment import listed, sam
from tests.template.templates import STACK, Resource, folder_of, functions, stacks

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]
REQUEST = {"source": "s3://arrivals/in/", "destination": "efs:///arrived"}
PARAMETERS = {
    "EventBucketName": "arrivals",
    "EventPrefix": "in/",
    # In quotation marks as in docs/how-to/s3-events.md: sam takes the inner ones away otherwise.
    "EventRequest": f"'{json.dumps(REQUEST, separators=(',', ':'))}'",
    "EventWindowSeconds": "1",
    "FileSystemAtDeletion": "Delete",
    "WorkBucketAtDeletion": "Delete",
}
ARTEFACTS = "artefacts"
WAIT_SECONDS = 60


@dataclass
class Shown:
    """What the stack showed to the tests, from its deployment to its end."""

    arrived: dict[str, bytes] = field(default_factory=dict)
    runs: list[dict[str, Any]] = field(default_factory=list)
    packaged: dict[str, Resource] = field(default_factory=dict)
    artefacts: dict[str, bytes] = field(default_factory=dict)
    there: dict[str, set[str]] = field(default_factory=dict)
    left: dict[str, set[str]] = field(default_factory=dict)


def wait_for(found: Callable[[], Any]) -> Any:
    """What is found, as soon as it is more than nothing."""
    end = time.monotonic() + WAIT_SECONDS
    while not (answer := found()):
        assert time.monotonic() < end, f"nothing came in {WAIT_SECONDS} s"
        time.sleep(0.2)
    return answer


def let_events_arrive(stack: LocalStack, mount: Path, shown: Shown) -> None:
    """Objects come and one goes; each run that follows is waited for."""
    s3, steps = stack.clients.s3, stack.clients.stepfunctions
    s3.create_bucket(Bucket="arrivals")
    s3.put_object(Bucket="arrivals", Key="in/before", Body=b"no event tells of it")
    s3.put_bucket_notification_configuration(
        Bucket="arrivals", NotificationConfiguration={"EventBridgeConfiguration": {}}
    )
    for key in ("in/d/a b+c", "in/ü", "other/x"):
        s3.put_object(Bucket="arrivals", Key=key, Body=key.encode())

    def runs() -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = steps.list_executions(stateMachineArn=stack.state_machine_arn)["executions"]
        return [one for one in found if one["name"].startswith("batch-")]

    def arrived() -> dict[str, bytes]:
        # Not by rglob, which fails where a run clears up its staging directory meanwhile.
        found = [Path(above, name) for above, _, names in os.walk(mount / "arrived") for name in names]
        files = [path for path in found if STAGING_PREFIX not in str(path)]
        return {str(path.relative_to(mount / "arrived")): path.read_bytes() for path in files}

    wait_for(lambda: len(arrived()) == 2)
    shown.runs = [stack.wait(one["executionArn"]) for one in runs()]
    shown.arrived = arrived()


def package(tools: Toolchain, emulator: Emulator, paths: LocalPaths, shown: Shown) -> None:
    """``sam package`` of what was built; the templates that it writes, and what they name."""
    s3, written = Clients(emulator.access).s3, paths.state / "packaged.yaml"
    s3.create_bucket(Bucket=ARTEFACTS)
    built = ("--template-file", str(paths.build / "template.yaml"))
    to = ("--s3-bucket", ARTEFACTS, "--output-template-file", str(written), "--region", REGION)
    sam(tools, emulator, "package", *built, *to)
    shown.artefacts = {
        one["Key"]: s3.get_object(Bucket=ARTEFACTS, Key=one["Key"])["Body"].read()
        for one in s3.list_objects_v2(Bucket=ARTEFACTS)["Contents"]
    }
    shown.packaged["main"] = read_template(written.read_bytes())
    for name, resource in shown.packaged["main"]["Resources"].items():
        if resource["Type"] == STACK:
            nested = shown.artefacts[key_of(resource["Properties"]["TemplateURL"])]
            shown.packaged[name] = read_template(nested)


def read_template(text: bytes) -> Resource:
    """A template with its short forms spelled out."""
    found: Resource = json.loads(json.dumps(cfn_yaml.loads(text.decode())))
    return found


def key_of(uri: Any) -> str:
    """The key that a packaged template names, however it does."""
    if isinstance(uri, dict):
        assert (uri.get("S3Bucket") or uri.get("Bucket")) == ARTEFACTS
        return str(uri.get("S3Key") or uri["Key"])
    parts = urlsplit(uri).path.strip("/").split("/") if uri.startswith("http") else uri.removeprefix("s3://").split("/")
    assert parts[0] == ARTEFACTS, uri
    return "/".join(parts[1:])


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Shown:
    """The whole life: deployed, started by events, packaged, deleted."""
    home = tmp_path_factory.mktemp("package")
    (home / "mount").mkdir()
    found, paths = Shown(), LocalPaths.find(state=home / "state")
    tools = find_toolchain(paths.repo)
    with LocalStack(paths, tools, {"data": home / "mount"}, parameters=PARAMETERS) as stack:
        let_events_arrive(stack, home / "mount", found)
    with Emulator(tools, paths) as emulator:
        emulator.wait()
        package(tools, emulator, paths, found)
        found.there = listed(Clients(emulator.access).client)
        sam(tools, emulator, "delete", "--stack-name", STACK_NAME, "--no-prompts", "--region", REGION)
        found.left = listed(Clients(emulator.access).client)
    return found


def test_objects_that_arrive_are_copied_by_runs_that_nobody_started(shown: Shown) -> None:
    """From S3 over EventBridge, a queue and StartBatch; what is not below the prefix or came before stays away."""
    assert shown.arrived == {"d/a b+c": b"in/d/a b+c", "\xfc": "in/\xfc".encode()}
    assert 1 <= len(shown.runs) <= 2
    for run in shown.runs:
        assert run["status"] == "SUCCEEDED"
        asked = json.loads(run["input"])
        assert {key: asked[key] for key in REQUEST} == REQUEST
        assert asked["manifest"].endswith(f"/runs/batches/{run['name']}.jsonl")


def test_a_packaged_template_names_only_what_was_uploaded(shown: Shown) -> None:
    uris = {
        (name, logical): resource["Properties"][key]
        for name, template in shown.packaged.items()
        for logical, resource in template["Resources"].items()
        for key in ("CodeUri", "Code", "ContentUri", "DefinitionUri", "TemplateURL", "DefinitionS3Location")
        if key in resource.get("Properties", {})
    }
    named = {key_of(uri) for uri in uris.values()}
    assert named == set(shown.artefacts)
    assert {logical for _, logical in uris} >= {*functions(), "CoreLayer", "TransferStateMachine", *stacks()}


@pytest.mark.parametrize("name", sorted(functions()))
def test_what_is_uploaded_is_the_code_of_the_function(shown: Shown, name: str) -> None:
    [resource] = [one["Resources"][name] for key, one in shown.packaged.items() if name in one["Resources"]][:1]
    properties = resource["Properties"]
    with zipfile.ZipFile(io.BytesIO(shown.artefacts[key_of(properties.get("CodeUri") or properties["Code"])])) as code:
        assert code.read("app.py") == (folder_of(name) / "app.py").read_bytes()


def test_with_delete_nothing_is_left_that_holds_data(shown: Shown) -> None:
    assert shown.there["file systems"] and len(shown.there["buckets"]) > 3
    assert shown.left.pop("buckets") - {"arrivals", ARTEFACTS} == {
        name for name in shown.there["buckets"] if name.startswith("aws-sam-cli-managed-")
    }
    assert {kind: names for kind, names in shown.left.items() if names} == {}
