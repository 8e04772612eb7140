"""``fanout init``: answers become a section that the template takes and that sam reads as it was meant."""

from __future__ import annotations

import json
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto import mock_aws
from typer.testing import CliRunner

from fanout.model.errors import InvalidRequest
from fanout_cli.main import app
from fanout_cli.setup.look_up import look_up
from tests.template.templates import REPO
from tests.template.test_rules import refused

SAM = REPO / ".fanout/tools/sam/bin/python"
PARSE = """
import json, sys
from samcli.cli.types import CfnParameterOverridesType
print(json.dumps(CfnParameterOverridesType().convert(json.loads(sys.argv[1]), None, None)))
"""
NIGHTLY = ("--schedule", "cron(0 3 * * ? *)", "--from", "s3://my-data/in/", "--to", "efs:///copy", "--sync")


def init(file: Path, *options: str, answers: str | None = None) -> Any:
    return CliRunner().invoke(app, ["init", "--samconfig", str(file), *options], input=answers)


def section(file: Path, name: str = "fanout") -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads(file.read_text(encoding="utf-8"))[name]
    return found


def as_sam_reads(deploy: dict[str, Any]) -> dict[str, str]:
    words = [str(SAM), "-c", PARSE, json.dumps(deploy["parameter_overrides"])]
    ended = subprocess.run(words, capture_output=True, text=True, check=True, timeout=60)
    found: dict[str, str] = json.loads(ended.stdout)
    return found


def test_a_trial_in_one_line_is_a_section_that_the_template_takes(tmp_path: Path) -> None:
    file = tmp_path / "samconfig.toml"
    ended = init(file, "--read", "my-data", "--write", "my-results", "--email", "me@example.com", "--yes")
    assert ended.exit_code == 0, ended.output
    assert "next: fanout deploy --config-env fanout" in ended.output
    found = section(file)
    assert found["global"]["parameters"]["stack_name"] == "fanout"
    given = as_sam_reads(found["deploy"]["parameters"])
    assert given["ReadBucketArns"] == "arn:aws:s3:::my-data"
    assert (given["FileSystemAtDeletion"], given["WorkRetentionDays"]) == ("Delete", "7")
    assert "ComputedChecksums" not in given
    assert refused(given) == []
    assert "# The buckets that transfers read." in file.read_text(encoding="utf-8")


def test_checksums_that_s3_computes_are_an_option(tmp_path: Path) -> None:
    file = tmp_path / "samconfig.toml"
    ended = init(file, "--read", "my-data", "--computed-checksums", "--yes")
    assert ended.exit_code == 0, ended.output
    given = as_sam_reads(section(file)["deploy"]["parameters"])
    assert given["ComputedChecksums"] == "true" and refused(given) == []


def test_a_nightly_sync_has_its_guard_and_sam_reads_it_as_it_was_meant(tmp_path: Path) -> None:
    file = tmp_path / "samconfig.toml"
    more = ("--max-delete", "50", "--timezone", "Europe/Berlin", "--production", "--stack", "nightly", "--yes")
    ended = init(file, "--read", "my-data", *NIGHTLY, *more)
    assert ended.exit_code == 0, ended.output
    given = as_sam_reads(section(file, "nightly")["deploy"]["parameters"])
    assert given["ScheduleExpression"] == "cron(0 3 * * ? *)"
    request = json.loads(given["ScheduleRequest"])
    assert request == {
        "source": "s3://my-data/in/",
        "destination": "efs:///copy",
        "mode": "sync",
        "delete_guard": {"max_count": 50},
    }
    assert (given["ScheduleTimeZone"], given["WorkRetentionDays"]) == ("Europe/Berlin", "90")
    assert refused(given) == []


def test_a_section_of_that_name_stays_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "samconfig.toml"
    file.write_text((REPO / "samconfig.toml").read_text(encoding="utf-8"), encoding="utf-8")
    before = file.read_text(encoding="utf-8")
    ended = init(file, "--read", "my-data", "--config-env", "prod", "--yes")
    assert ended.exit_code == 2
    assert "--config-env" in ended.output and "choose another name" in ended.output
    assert file.read_text(encoding="utf-8") == before
    assert init(file, "--read", "my-data", "--config-env", "mine", "--yes").exit_code == 0
    assert file.read_text(encoding="utf-8").startswith(before.rstrip("\n"))


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ((), "--read"),
        (("--read", "My_Bucket"), "--read"),
        (("--read", "my-data", "--email", "me"), "--email"),
        (("--read", "my-data", "--schedule", "nightly", "--from", "s3://my-data/", "--to", "efs:///a"), "--schedule"),
        (("--read", "my-data", *NIGHTLY, "--schedule", "cron(0 3 * * *)"), "--schedule"),
        (("--read", "my-data", *NIGHTLY, "--timezone", "Berlin"), "--timezone"),
        (("--read", "my-data", "--schedule", "rate(1 day)"), "--from"),
        (("--read", "my-data", "--from", "s3://my-data/in/", "--to", "efs:///a"), "--schedule"),
        (("--read", "other", *NIGHTLY), "--from"),
        (("--read", "my-data", "--config-env", "a.b"), "--config-env"),
    ],
)
def test_what_cannot_be_is_refused_by_its_option_and_nothing_is_written(
    tmp_path: Path, options: tuple[str, ...], field: str
) -> None:
    ended = init(tmp_path / "samconfig.toml", *options, "--yes")
    assert ended.exit_code == 2
    assert ended.output.startswith(field), ended.output
    assert list(tmp_path.iterdir()) == []


def test_without_a_terminal_it_asks_nothing(tmp_path: Path) -> None:
    ended = init(tmp_path / "samconfig.toml", "--read", "my-data", answers="\n" * 9)
    assert ended.exit_code == 2 and "--yes" in ended.output


def test_five_questions_at_a_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fanout_cli.commands.stack.init_command._is_terminal", lambda: True)
    said = ["my-data raw", "my-results", "new", "y", "", "s3://my-data/in/", "efs:///copy", "y", "7", "", "n"]
    file = tmp_path / "samconfig.toml"
    ended = init(file, answers="\n".join(said) + "\n")
    assert ended.exit_code == 0, ended.output
    given = as_sam_reads(section(file)["deploy"]["parameters"])
    assert given["ReadBucketArns"] == "arn:aws:s3:::my-data,arn:aws:s3:::raw"
    assert json.loads(given["ScheduleRequest"])["delete_guard"] == {"max_count": 7}
    assert "NotifyEmail" not in given and refused(given) == []


class There:
    """A file system with a mount target, in a network of moto's."""

    def __init__(self) -> None:
        self.session = boto3.Session(aws_access_key_id="t", aws_secret_access_key="t", region_name="eu-west-1")
        self.efs, self.ec2 = self.session.client("efs"), self.session.client("ec2")
        self.vpc = self.ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
        self.subnet = self.ec2.create_subnet(VpcId=self.vpc, CidrBlock="10.0.0.0/24")["Subnet"]["SubnetId"]
        self.functions, self.targets = self.group("functions"), self.group("targets")
        self.id = self.efs.create_file_system(CreationToken="there")["FileSystemId"]

    def group(self, name: str) -> str:
        return str(self.ec2.create_security_group(GroupName=name, Description=name, VpcId=self.vpc)["GroupId"])

    def let_in(self, group: str = "") -> None:
        rule: Any = {"IpProtocol": "tcp", "FromPort": 2049, "ToPort": 2049}
        rule["UserIdGroupPairs"] = [{"GroupId": group or self.functions}]
        self.ec2.authorize_security_group_ingress(GroupId=self.targets, IpPermissions=[rule])

    def mount(self) -> None:
        self.efs.create_mount_target(FileSystemId=self.id, SubnetId=self.subnet, SecurityGroups=[self.targets])

    def access_point(self, user: int) -> str:
        made = self.efs.create_access_point(
            ClientToken=str(user), FileSystemId=self.id, PosixUser={"Uid": user, "Gid": user}
        )
        return str(made["AccessPointId"])


@mock_aws
def test_an_existing_file_system_is_looked_up() -> None:
    there = There()
    there.mount()
    there.let_in()
    first = there.access_point(1000)
    found = look_up(there.session, there.id)
    assert (found.subnets, found.groups, found.user) == ((there.subnet,), (there.functions,), 1000)
    assert found.access_point.endswith(first)
    second = there.access_point(0)
    with pytest.raises(InvalidRequest, match=second):
        look_up(there.session, there.id)
    assert look_up(there.session, there.id, second).user == 0


@mock_aws
def test_the_functions_join_one_security_group_and_not_those_of_strangers() -> None:
    there = There()
    there.mount()
    there.let_in()
    there.access_point(0)
    stranger = there.group("another system")
    there.let_in(stranger)
    with pytest.raises(InvalidRequest, match=r"--security-group.*let 2 in.*name the one") as refused:
        look_up(there.session, there.id)
    assert {there.functions, stranger} <= {*str(refused.value).replace(",", " ").replace(";", " ").split()}
    assert look_up(there.session, there.id, group=there.functions).groups == (there.functions,)
    with pytest.raises(InvalidRequest, match="do not let sg-00000000 in"):
        look_up(there.session, there.id, group="sg-00000000")


@mock_aws
def test_what_an_existing_file_system_lacks_is_named() -> None:
    there = There()
    with pytest.raises(InvalidRequest, match="has no access point"):
        look_up(there.session, there.id)
    there.access_point(0)
    with pytest.raises(InvalidRequest, match="no mount target"):
        look_up(there.session, there.id)
    there.mount()
    with pytest.raises(InvalidRequest, match="let no security group in"):
        look_up(there.session, there.id)
