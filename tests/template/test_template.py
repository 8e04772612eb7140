"""What the templates promise of the functions and of each other; nothing here needs an emulator."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from cfnlint.decode import cfn_yaml

from fanout.facts import aws
from tests.template.templates import (
    EVERY,
    EXAMINES_MOUNT,
    FANNED_OUT,
    KNOWS_MOUNTS,
    MOUNTED,
    NESTED,
    PACING,
    PROBE,
    PROBE_MOUNTED,
    REPO,
    TEMPLATE,
    folder_of,
    functions,
    of_type,
    resources,
    sizes_of,
    stacks,
    template,
)

# The two stacks of the functions that mount differ in these parameters alone.
OF_A_MOUNT = {
    *("LogPrefix", "MountName", "MountAccess", "ActsAsRoot"),
    *("AccessPointArn", "FileSystemId", "FileSystemType", "DirectReadArns", "MountSubnetIds", "MountSecurityGroupIds"),
}


@pytest.mark.parametrize("path", EVERY, ids=lambda path: path.stem)
def test_a_template_is_read_here_as_cfn_lint_reads_it(path: Path) -> None:
    assert template(path) == json.loads(json.dumps(cfn_yaml.load(str(path))))


def test_sam_reads_every_file() -> None:
    """Its reader is PyYAML in Python, which takes less than the reader in C that these tests and cfn-lint use."""
    for path in EVERY:
        assert sum(1 for _ in yaml.scan(path.read_text(encoding="utf-8"), Loader=yaml.SafeLoader))


def test_every_nested_template_is_used_and_given_every_parameter() -> None:
    assert {path for path, _ in stacks().values()} == set(NESTED.glob("*.yaml"))
    for path, given in stacks().values():
        declared = template(path)["Parameters"]
        assert set(given) == set(declared)
        # A default would hide that the main template gives nothing.
        assert not [name for name, one in declared.items() if "Default" in one]


def test_no_nested_template_needs_more_than_the_plain_capability() -> None:
    """One with a transform would need CAPABILITY_AUTO_EXPAND, one with a named role CAPABILITY_NAMED_IAM."""
    assert [path.name for path, _ in stacks().values() if "Transform" in template(path)] == []
    named = [
        name for name, r in resources().items() if {"RoleName", "ManagedPolicyName"} & set(r.get("Properties", ()))
    ]
    assert named == []


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
    seconds, megabytes = sizes_of(function)
    assert all(3 <= one <= aws.FUNCTION_SECONDS_MOST for one in seconds)
    assert all(128 <= one <= aws.FUNCTION_MEMORY_MB_MOST for one in megabytes)
    assert function["Handler"] == "app.handler"
    assert function["Architectures"] == [{"Ref": "Architecture"}]
    assert function["Tracing"] == "Active"
    reserved = function["ReservedConcurrentExecutions"]["Fn::If"]
    many = name.removesuffix("Function") in FANNED_OUT
    parameter = "ReservedFanOutConcurrency" if many else "ReservedConcurrency"
    assert reserved[1:] == [{"Ref": parameter}, {"Ref": "AWS::NoValue"}]


def test_a_function_of_a_run_that_may_need_all_its_time_has_the_size_of_the_parameters() -> None:
    """Not the one that paces, which waits, nor those of a probe, whose experiments are of fixed length."""
    fixed = {name for name, one in functions().items() if one["Timeout"] == aws.FUNCTION_SECONDS}
    assert fixed <= PROBE | PACING
    follow = {name for name, one in functions().items() if one["Timeout"] == {"Ref": "FunctionSeconds"}}
    assert all(functions()[name]["MemorySize"] == {"Ref": "FunctionMegabytes"} for name in follow)
    assert "CopyShardFunction" in follow


def test_no_two_functions_share_a_role_or_a_log_group() -> None:
    roles = [json.dumps(function["Role"]) for function in functions().values()]
    groups = [json.dumps(function["LoggingConfig"]) for function in functions().values()]
    assert len(set(roles)) == len(set(groups)) == len(functions())


# What copies may have; a probe writes none.
BOUNDS = {"FANOUT_SET_IDS", "FANOUT_ALLOWED_OWNERS"}


def test_a_function_that_mounts_is_as_the_others_are() -> None:
    """It is written in plain CloudFormation and does not get the globals of the main template."""
    shared = template()["Globals"]["Function"]
    same = {"Runtime", "Handler", "Architectures"}
    words = {"Ref:WorkBucket": "WorkBucketName", "Ref:AWS::StackName": "Name"}
    environment = {name: _renamed(value, words) for name, value in shared["Environment"]["Variables"].items()}
    for name in MOUNTED | EXAMINES_MOUNT | PROBE:
        function = functions()[name]
        assert {key: function[key] for key in same} == {key: shared[key] for key in same}
        assert function["Layers"] == [{"Ref": "LayerArn"}]
        variables = function["Environment"]["Variables"]
        own = {"FANOUT_MOUNTS", "FANOUT_FILE_SYSTEMS", "FANOUT_OTHER_ACCOUNTS", "FANOUT_STATE_MACHINE"}
        needed = {key: value for key, value in environment.items() if name in MOUNTED or key not in BOUNDS}
        assert {key: value for key, value in variables.items() if key not in own} == needed
    for _, given in map(stacks().__getitem__, ("FirstMount", "SecondMount", "Outside", "Probe", "SecondProbe")):
        assert given["LayerArn"] == {"Ref": "CoreLayer"}
        assert given.get("SetIds", {"Ref": "SetIds"}) == {"Ref": "SetIds"}
        assert given.get("AllowedOwners", {"Ref": "AllowedOwners"}) == {"Ref": "AllowedOwners"}
        assert (given["WorkBucketName"], given["Name"]) == ({"Ref": "WorkBucket"}, {"Ref": "AWS::StackName"})


def _renamed(value: Any, words: dict[str, str]) -> Any:
    return {"Ref": words.get(f"Ref:{value['Ref']}", value["Ref"])} if isinstance(value, dict) else value


@pytest.mark.parametrize("name", sorted(functions()))
def test_only_the_functions_that_mount_the_file_system_are_in_the_network(name: str) -> None:
    function = functions()[name]
    assert ("FileSystemConfigs" in function) == (name in MOUNTED | EXAMINES_MOUNT | PROBE_MOUNTED)
    # The others only where a parameter says so: tests/template/test_all_in_vpc.py.
    assert ("SubnetIds" in function["VpcConfig"]) == ("FileSystemConfigs" in function)
    variables = function["Environment"]["Variables"]
    assert ("FANOUT_MOUNTS" in variables) == (name in KNOWS_MOUNTS)
    if name in MOUNTED | EXAMINES_MOUNT | PROBE_MOUNTED:
        mount = function["FileSystemConfigs"][0]["LocalMountPath"]["Fn::Sub"]
        assert mount in variables["FANOUT_MOUNTS"]["Fn::Sub"]


@pytest.mark.parametrize("name", ["PlanTransferFunction", "PaceCopyFunction"])
def test_who_measures_knows_the_file_system_of_each_mount(name: str) -> None:
    variables = functions()[name]["Environment"]["Variables"]
    text, parts = variables["FANOUT_FILE_SYSTEMS"]["Fn::Sub"]
    first = parts.get("Id") or stacks()["Pacing"][1]["FileSystemId"]
    assert first == {"Fn::If": ["MakesFileSystem", {"Ref": "FileSystem"}, {"Ref": "ExistingFileSystemId"}]}
    condition, second, none = parts["Second"]["Fn::If"]
    assert (condition, none) == ("HasSecondMount", "")
    for more, known in ((second["Fn::Sub"], {"data": "fs-1", "archive": "fs-2"}), (none, {"data": "fs-1"})):
        filled = text.replace("${Second}", more).replace("${MountName}", "data")
        filled = filled.replace("${Id}", "fs-1").replace("${FileSystemId}", "fs-1")
        filled = filled.replace("${SecondMountName}", "archive").replace("${SecondFileSystemId}", "fs-2")
        assert json.loads(filled) == known


def test_a_function_is_not_made_before_there_is_something_to_mount() -> None:
    """The reference to the network's outputs makes it wait for all of that stack, the mount targets too."""
    made = {"Fn::GetAtt": ["Network", "Outputs.SubnetIds"]}
    for name in ("FirstMount", "Probe"):
        assert stacks()[name][1]["MountSubnetIds"]["Fn::If"][:2] == ["MakesFileSystem", made]
    assert len(of_type("AWS::EFS::MountTarget")) == 2
    assert not set(of_type("AWS::EFS::MountTarget")) & set(template()["Resources"])


def test_the_functions_on_the_second_file_system_differ_in_what_they_mount_alone() -> None:
    (first, given), (second, twin) = stacks()["FirstMount"], stacks()["SecondMount"]
    assert first == second
    differ = {name for name in given if given[name] != twin[name]}
    # With a second one there is something to stage; without, there is no such policy.
    staging = ("StagedPolicyArn", "UnstagePolicyArn")
    assert differ == OF_A_MOUNT | set(staging)
    assert all(given[name] == {"Fn::If": ["HasSecondMount", twin[name], ""]} for name in staging)
    assert twin["AccessPointArn"] == {"Ref": "SecondAccessPointArn"}
    assert twin["MountSubnetIds"] == {"Fn::Join": [",", {"Ref": "SecondSubnetIds"}]}


def test_the_functions_outside_the_network_mount_nothing() -> None:
    (_, given), (path, outside) = stacks()["FirstMount"], stacks()["Outside"]
    assert path == NESTED / "mounted.yaml"
    assert {name for name in given if given[name] != outside[name]} == OF_A_MOUNT | {
        "StagedPolicyArn",
        "UnstagePolicyArn",
        "HasWayOut",
    }
    assert not any(outside[name] for name in ("AccessPointArn", "FileSystemId", "MountSubnetIds", "StagedPolicyArn"))
    assert template()["Resources"]["Outside"]["Condition"] == "LeavesRegion"
    own = template(path)["Resources"]
    mounting = {name for name, one in own.items() if one.get("Condition") == "Mounts"}
    examining = {f"ExamineNetwork{word}" for word in ("Function", "LogGroup", "Role")}
    assert mounting == {"NetworkPolicy", "MountReadPolicy", "MountWritePolicy", "ExamineMountPolicy"} | examining
    for name in MOUNTED:
        properties = own[name]["Properties"]
        nothing = [properties[key]["Fn::If"][2] for key in ("VpcConfig", "FileSystemConfigs")]
        assert nothing == [{"Ref": "AWS::NoValue"}] * 2
        assert properties["Environment"]["Variables"]["FANOUT_MOUNTS"]["Fn::If"][2] == "{}"


def test_a_probe_mounts_what_the_transfers_of_its_file_system_mount() -> None:
    for transfer, probe in (("FirstMount", "Probe"), ("SecondMount", "SecondProbe")):
        (path, given), (_, mounted) = stacks()[probe], stacks()[transfer]
        assert path == NESTED / "probe.yaml"
        assert set(given) - set(mounted) == {"MeasurePolicyArn", "AllFunctionsInVpc"}
        assert {name: given[name] for name in set(given) & set(mounted)} == {
            name: mounted[name] for name in set(given) & set(mounted)
        }


def test_nothing_of_the_second_file_system_is_there_without_one() -> None:
    conditional = {name for name, r in template()["Resources"].items() if r.get("Condition") == "HasSecondMount"}
    assert conditional == {"SecondMount", "SecondProbe"}
    _, given = stacks()["Policies"]
    assert given["Stages"] == {"Fn::If": ["HasSecondMount", "true", "false"]}
    assert resources()["StagedPolicy"]["Condition"] == "Stages"


def test_what_is_made_new_is_made_together() -> None:
    """With an access point of one's own no part of the new network and file system is left over."""
    made = {name for name, r in template()["Resources"].items() if r.get("Condition") == "MakesFileSystem"}
    assert made == {"FileSystem", "AccessPoint", "Network"}
    kinds = ("AWS::EC2::", "AWS::EFS::")
    network = template(stacks()["Network"][0])["Resources"]
    assert {name for name, r in resources().items() if r["Type"].startswith(kinds)} == {
        *("FileSystem", "AccessPoint"),
        *network,
    }
    conditions = [r["Condition"] for r in network.values() if "Condition" in r]
    assert (len(network), conditions) == (16, [*["AllInVpc"] * 5, "SignsInVpc"])


@pytest.mark.parametrize("path", EVERY, ids=lambda path: path.stem)
def test_every_parameter_and_output_is_described(path: Path) -> None:
    for section in ("Parameters", "Outputs"):
        for name, entry in template(path).get(section, {}).items():
            assert entry.get("Description"), f"{section} {name}"


def test_the_resources_of_the_main_template_stay_readable() -> None:
    """Parameters, rules and outputs belong there; what grows past this belongs into a nested template."""
    text = TEMPLATE.read_text(encoding="utf-8")
    assert text[text.index("\nResources:") : text.index("\nOutputs:")].count("\n") <= 700
