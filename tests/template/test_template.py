"""What the template promises, read from the template itself; nothing here needs an emulator."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from cfnlint.api import lint_file
from cfnlint.decode import cfn_yaml

from fanout.domain.ledger_keys import staged_prefix
from fanout.domain.sides import ON_DESTINATION, ON_SOURCE

Resource = dict[str, Any]

REPO = Path(__file__).parents[2]
TEMPLATE = REPO / "template.yaml"
STATE_MACHINE = REPO / "statemachine" / "transfer.asl.json"
MOUNTED = {
    "CheckMountFunction",
    "ListSegmentFunction",
    "CopyShardFunction",
    "FinishTreeFunction",
    "VerifyShardFunction",
    "DeleteShardFunction",
    "RemoveDirectoriesFunction",
}
# The same once more on the second file system, if there is one.
TWINS = {f"Second{name}" for name in MOUNTED}
FANNED_OUT = {"ListSegment", "CopyShard", "RecordShardFailure", "DeleteShard", "VerifyShard"}
KNOWS_MOUNTS = MOUNTED | TWINS | {"PlanTransferFunction"}


@cache
def template() -> Resource:
    """The template with its short forms spelled out."""
    loaded: Resource = json.loads(json.dumps(cfn_yaml.load(str(TEMPLATE))))
    return loaded


def resources() -> dict[str, Resource]:
    """Every resource by its name."""
    found: dict[str, Resource] = template()["Resources"]
    return found


def of_type(kind: str) -> dict[str, Resource]:
    """The resources of one type."""
    return {name: r for name, r in resources().items() if r["Type"] == kind}


@cache
def functions() -> dict[str, Resource]:
    """The properties of every function, with the globals that SAM adds to each."""
    shared = template()["Globals"]["Function"]
    found = {name: {**shared, **r["Properties"]} for name, r in of_type("AWS::Serverless::Function").items()}
    for function in found.values():
        variables = function["Environment"]["Variables"]
        function["Environment"] = {"Variables": {**shared["Environment"]["Variables"], **variables}}
    return found


def folder_of(function: str) -> Path:
    """The folder that holds a function: one word names both, and a twin has the other's."""
    word = function.removeprefix("Second").removesuffix("Function")
    return REPO / "functions" / re.sub(r"(?<!^)([A-Z])", r"_\1", word).lower()


def policies() -> Iterator[tuple[str, Resource]]:
    """Every statement of every policy of roles, buckets, endpoints and file systems."""
    for name, resource in resources().items():
        for document in documents(resource.get("Properties", {})):
            for statement in document["Statement"]:
                for choice in statement["Fn::If"][1:] if "Fn::If" in statement else [statement]:
                    if "Effect" in choice:
                        yield name, choice


def documents(value: Any) -> Iterator[Resource]:
    """Every policy document inside a value."""
    if isinstance(value, list):
        for item in value:
            yield from documents(item)
    elif isinstance(value, dict):
        if "Statement" in value:
            yield value
        else:
            for item in value.values():
                yield from documents(item)


def actions(statement: Resource) -> list[str]:
    """The actions of a statement; one that stands under a condition is its first alternative."""
    found = statement["Action"]
    found = found if isinstance(found, list) else [found]
    return [action["Fn::If"][1] if isinstance(action, dict) else action for action in found]


def test_cfn_lint_finds_nothing() -> None:
    assert [str(match) for match in lint_file(TEMPLATE)] == []


def test_every_folder_is_a_function_and_every_function_a_folder() -> None:
    folders = {path.parent for path in (REPO / "functions").glob("*/app.py")}
    assert {folder_of(name) for name in functions()} == folders
    for name in functions():
        assert functions()[name]["CodeUri"] == f"functions/{folder_of(name).name}"


@pytest.mark.parametrize("name", sorted(functions()))
def test_every_function_states_its_limits_and_keeps_its_logs_for_a_time(name: str) -> None:
    function = functions()[name]
    group = resources()[function["LoggingConfig"]["LogGroup"]["Ref"]]
    assert group["Properties"]["RetentionInDays"] == {"Ref": "LogRetentionDays"}
    assert 3 <= function["Timeout"] <= 900
    assert 128 <= function["MemorySize"] <= 10240
    assert function["Handler"] == "app.handler"
    assert function["Architectures"] == [{"Ref": "Architecture"}]
    assert function["Tracing"] == "Active"
    reserved = function["ReservedConcurrentExecutions"]["Fn::If"]
    many = name.removeprefix("Second").removesuffix("Function") in FANNED_OUT
    parameter = "ReservedFanOutConcurrency" if many else "ReservedConcurrency"
    assert reserved[1:] == [{"Ref": parameter}, {"Ref": "AWS::NoValue"}]


def test_no_two_functions_share_a_role_or_a_log_group() -> None:
    roles = [json.dumps(function["Role"]) for function in functions().values()]
    groups = [json.dumps(function["LoggingConfig"]) for function in functions().values()]
    assert len(set(roles)) == len(set(groups)) == len(functions())


@pytest.mark.parametrize("name", sorted(functions()))
def test_only_the_functions_that_mount_the_file_system_are_in_the_network(name: str) -> None:
    function = functions()[name]
    assert ("VpcConfig" in function) == ("FileSystemConfigs" in function) == (name in MOUNTED | TWINS)
    variables = function["Environment"]["Variables"]
    assert ("FANOUT_MOUNTS" in variables) == (name in KNOWS_MOUNTS)
    if name in MOUNTED | TWINS:
        mount = function["FileSystemConfigs"][0]["LocalMountPath"]["Fn::Sub"]
        assert mount in variables["FANOUT_MOUNTS"]["Fn::Sub"]
    if name in MOUNTED:
        # A function can not be made before there is something to mount: the reference makes it wait.
        tag = function["Tags"]["MountedThrough"]["Fn::If"]
        assert tag == [
            "MakesFileSystem",
            {"Fn::Sub": "${MountTargetA} ${MountTargetB}"},
            {"Ref": "ExistingAccessPointArn"},
        ]


@pytest.mark.parametrize("name", sorted(MOUNTED))
def test_a_function_on_the_second_file_system_differs_in_what_it_mounts_alone(name: str) -> None:
    first, second = functions()[name], functions()[f"Second{name}"]
    differ = {key for key in first | second if first.get(key) != second.get(key)}
    mounting = {"Environment", "VpcConfig", "FileSystemConfigs", "Tags"}
    assert differ == {"Description", "Role", "LoggingConfig"} | mounting
    assert second["FileSystemConfigs"][0]["Arn"] == {"Ref": "SecondAccessPointArn"}
    assert second["VpcConfig"]["SubnetIds"] == {"Ref": "SecondSubnetIds"}


def test_nothing_of_the_second_file_system_is_there_without_one() -> None:
    second = {name for name in resources() if name.startswith("Second")}
    conditional = {name for name, one in resources().items() if one.get("Condition") == "HasSecondMount"}
    assert second and conditional == second | {"StagedPolicy"}


def test_a_role_on_the_second_file_system_can_do_what_the_first_one_can() -> None:
    for name in MOUNTED:
        word = name.removesuffix("Function")
        first, second = (
            json.dumps(resources()[f"{prefix}{word}Role"]["Properties"]["ManagedPolicyArns"])
            for prefix in ("", "Second")
        )
        staged = json.dumps({"Fn::If": ["HasSecondMount", {"Ref": "StagedPolicy"}, {"Ref": "AWS::NoValue"}]})
        first = first.replace(staged, json.dumps({"Ref": "StagedPolicy"}))
        for ability in ("Read", "Write"):
            first = first.replace(f'"Mount{ability}Policy"', f'"SecondMount{ability}Policy"')
        assert first == second


def test_what_is_staged_can_be_removed_and_is_in_the_end() -> None:
    deletes = {(name, str(s["Resource"])) for name, s in policies() if "s3:DeleteObject" in actions(s)}
    staged = str({"Fn::Sub": "${WorkBucket.Arn}/staged/*"})
    assert ("StagedPolicy", staged) in deletes
    assert {resource for name, resource in deletes if name == "S3Endpoint"} & {"*", staged}
    rules = resources()["WorkBucket"]["Properties"]["LifecycleConfiguration"]["Rules"]
    (rule,) = [rule for rule in rules if rule["Id"] == "ExpireStaged"]
    assert staged_prefix("run-1").startswith(rule["Prefix"]) and rule["ExpirationInDays"] <= 3


def test_a_task_waits_a_little_longer_than_its_function_may_take() -> None:
    """So the function's own time-out is what is reported, and no attempt runs on unseen while it is retried."""
    limits = {f"${{{name}Arn}}": function["Timeout"] for name, function in functions().items()}
    called = {**ON_SOURCE, **ON_DESTINATION}
    tasks = list(tasks_of(json.loads(STATE_MACHINE.read_text(encoding="utf-8"))))
    # ListOneSegment calls the function of ListSegment.
    assert len(tasks) == len(functions()) - len(TWINS) - len(MOUNTED) + len(called) + 1
    for task in tasks:
        parameters = task["Parameters"]
        chosen = parameters.get("FunctionName.$", "").rpartition(".")[2]
        limit = limits[f"${{{called[chosen]}FunctionArn}}" if chosen else parameters["FunctionName"]]
        assert limit < task["TimeoutSeconds"] <= limit + 60


def tasks_of(machine: Resource) -> Iterator[Resource]:
    """The Task states of a state machine and of the Maps in it."""
    for state in machine["States"].values():
        if state["Type"] == "Task":
            yield state
        if "ItemProcessor" in state:
            yield from tasks_of(state["ItemProcessor"])


def test_every_placeholder_of_the_state_machine_is_substituted_and_invocable() -> None:
    placeholders = set(re.findall(r"\$\{(\w+)\}", STATE_MACHINE.read_text(encoding="utf-8")))
    (machine,) = of_type("AWS::Serverless::StateMachine").values()
    substitutions = machine["Properties"]["DefinitionSubstitutions"]
    assert set(substitutions) == placeholders
    arns: dict[str, Any] = {f"{name}Arn": {"Fn::GetAtt": [name, "Arn"]} for name in functions()}
    twins = {f"{name}Arn" for name in TWINS}
    given = {name: {"Fn::If": ["HasSecondMount", arn, ""]} if name in twins else arn for name, arn in arns.items()}
    assert substitutions == given
    no_value = {"Ref": "AWS::NoValue"}
    allowed = [{"Fn::If": ["HasSecondMount", arn, no_value]} if name in twins else arn for name, arn in arns.items()]
    (invoke,) = [s for name, s in policies() if name == "TransferRole" and s["Action"] == "lambda:InvokeFunction"]
    assert sorted(map(str, invoke["Resource"])) == sorted(map(str, allowed))


def test_no_permission_has_a_wildcard_in_its_action() -> None:
    allowed = [(name, actions(s)) for name, s in policies() if s["Effect"] == "Allow"]
    assert allowed
    assert [found for found in allowed if any("*" in action for action in found[1])] == []


def test_every_resource_is_meant_only_where_no_other_can_be_named() -> None:
    free = {
        action for _, s in policies() if s["Effect"] == "Allow" and s.get("Resource") == "*" for action in actions(s)
    }
    services = {action.split(":")[0] for action in free}
    # Those with KMS are the key's own policy, in which the key is the only resource.
    assert services == {"xray", "ec2", "logs", "s3", "kms"}
    assert {name for name, s in policies() if s.get("Resource") == "*" and actions(s)[0].startswith("kms:")} == {
        "NotificationKey"
    }
    # The one with S3 is the endpoint's, which has a condition.
    assert {name for name, s in policies() if s.get("Resource") == "*" and actions(s)[0].startswith("s3:")} == {
        "S3Endpoint"
    }


def test_every_statement_has_its_reason_beside_it() -> None:
    lines = TEMPLATE.read_text(encoding="utf-8").splitlines()
    bare = [
        number + 1
        for number, line in enumerate(lines)
        if line.strip().startswith("- Effect:") and not _explained(lines, number)
    ]
    assert bare == []


def _explained(lines: list[str], number: int) -> bool:
    above = lines[number - 1].strip()
    return above.startswith("#") or (above.endswith("Buckets") and lines[number - 2].strip() == "- !If")


def test_only_functions_that_write_the_file_system_may() -> None:
    roles = of_type("AWS::IAM::Role")
    writing = ("CheckMount", "CopyShard", "FinishTree", "DeleteShard", "RemoveDirectories")
    for prefix in ("", "Second"):
        write = {"Ref": f"{prefix}MountWritePolicy"}
        writers = {name for name, role in roles.items() if write in role["Properties"].get("ManagedPolicyArns", [])}
        assert writers == {f"{prefix}{name}Role" for name in writing}


def test_only_one_function_may_delete_objects_of_a_tree_and_it_can_not_write_any() -> None:
    deleting = {name for name, s in policies() if s["Effect"] == "Allow" and "s3:DeleteObject" in actions(s)}
    assert deleting == {"DeleteObjectsPolicy", "S3Endpoint", "StagedPolicy"}
    roles = of_type("AWS::IAM::Role")
    policy_names = {name: json.dumps(role["Properties"].get("ManagedPolicyArns", [])) for name, role in roles.items()}
    assert {name for name, found in policy_names.items() if "DeleteObjectsPolicy" in found} == {
        *("DeleteShardRole", "SecondDeleteShardRole"),
    }
    assert "WriteObjectsPolicy" not in policy_names["DeleteShardRole"] + policy_names["SecondDeleteShardRole"]
    (statement,) = [s for name, s in policies() if name == "DeleteObjectsPolicy"]
    assert set(actions(statement)) == {"s3:DeleteObject", "s3:GetObject"}


def test_what_a_copy_inside_s3_calls_is_allowed_and_may_pass_the_endpoint() -> None:
    read = {"s3:GetObject", "s3:GetObjectTagging"}
    written = {"s3:PutObject", "s3:PutObjectTagging", "s3:AbortMultipartUpload", "s3:GetObject"}
    allowed: defaultdict[str, set[str]] = defaultdict(set)
    for name, statement in policies():
        if statement["Effect"] == "Allow":
            allowed[name] |= set(actions(statement))
    assert (allowed["ReadObjectsPolicy"], allowed["WriteObjectsPolicy"]) == (read, written)
    assert read | written <= allowed["S3Endpoint"]
    ends = {"Fn::If": ["ReadsBuckets", {"Ref": "ReadObjectsPolicy"}, {"Ref": "AWS::NoValue"}]}
    assert ends in resources()["CopyShardRole"]["Properties"]["ManagedPolicyArns"]


def test_kms_keys_are_those_of_the_parameter_and_only_as_s3_uses_them() -> None:
    (statement,) = [s for name, s in policies() if name == "KmsKeysPolicy"]
    assert statement["Resource"] == {"Fn::Split": [",", {"Ref": "KmsKeyArns"}]}
    assert "kms:ViaService" in statement["Condition"]["StringEquals"]
    # Every HEAD asks for the checksum, and every upload has one: of an encrypted object both need its key.
    objects = ("ReadObjectsPolicy", "ReadBackPolicy", "WriteObjectsPolicy", "DeleteObjectsPolicy")
    attached = {
        name: json.dumps(role["Properties"].get("ManagedPolicyArns", []))
        for name, role in of_type("AWS::IAM::Role").items()
    }
    users = {name for name, policies_of in attached.items() if "KmsKeysPolicy" in policies_of}
    assert users == {name for name, found in attached.items() if any(policy in found for policy in objects)}
    assert len(users) == 1 + 2 * len(MOUNTED)


@pytest.mark.parametrize("name", ["WorkBucket", "FileSystem"])
def test_what_holds_data_outlives_the_stack(name: str) -> None:
    resource = resources()[name]
    assert resource["DeletionPolicy"] == resource["UpdateReplacePolicy"] == "Retain"


def test_the_work_bucket_is_private_encrypted_and_cleaned_up() -> None:
    bucket = resources()["WorkBucket"]["Properties"]
    assert set(bucket["PublicAccessBlockConfiguration"].values()) == {True}
    assert bucket["BucketEncryption"]
    rules = {rule["Id"]: rule for rule in bucket["LifecycleConfiguration"]["Rules"]}
    assert rules["ExpireRuns"]["ExpirationInDays"] == {"Ref": "WorkRetentionDays"}
    assert rules["AbortUploads"]["AbortIncompleteMultipartUpload"]["DaysAfterInitiation"] == 1


@pytest.mark.parametrize("name", ["WorkBucketPolicy", "FileSystem", "NotificationTopicPolicy"])
def test_nothing_goes_without_tls(name: str) -> None:
    denials = [s for owner, s in policies() if owner == name and s["Effect"] == "Deny"]
    assert [s["Condition"] for s in denials] == [{"Bool": {"aws:SecureTransport": "false"}}]


def test_the_file_system_is_encrypted_and_allows_nobody_by_itself() -> None:
    assert resources()["FileSystem"]["Properties"]["Encrypted"] is True
    assert [s for owner, s in policies() if owner == "FileSystem" and s["Effect"] == "Allow"] == []


def test_every_parameter_and_output_is_described() -> None:
    for section in ("Parameters", "Outputs"):
        for name, entry in template()[section].items():
            assert entry.get("Description"), f"{section} {name}"
