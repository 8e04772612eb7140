"""Which stack a command works on: by options, by the environment, or the one on this machine."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from botocore.exceptions import NoRegionError
from typer.testing import CliRunner

from fanout_cli.account import session_options
from fanout_cli.local.errors import LocalRunError
from fanout_cli.local.paths import LocalPaths
from fanout_cli.main import app
from fanout_cli.runs.local_run import LocalOptions, local_runs
from fanout_cli.stacks import aws_client_maker
from fanout_cli.terminal import Terminal
from tests.cli.conftest import Aws


def test_the_stack_may_come_from_the_environment(aws: Aws, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "no stack 'fanout'" in aws.fanout("list").stderr
    monkeypatch.setenv("FANOUT_STACK", "mine")
    assert aws.fanout("list").exit_code == 0


def test_without_credentials_or_region_the_remedy_is_named(environment: Callable[[str], None], tmp_path: Path) -> None:
    def listed() -> str:
        found = CliRunner().invoke(app, ["list", "--stack", "mine", "--state", str(tmp_path)])
        assert found.exit_code == 2
        return found.stderr

    environment("AWS_ACCESS_KEY_ID")
    environment("AWS_SECRET_ACCESS_KEY")
    assert listed() == "no AWS credentials were found; run `aws configure` or give --profile\n"
    environment("AWS_DEFAULT_REGION")
    assert listed() == "no AWS region is set; give --region, or set AWS_REGION or a region in the profile\n"


@pytest.mark.parametrize(
    ("given", "used"),
    [
        ({"AWS_DEFAULT_REGION": "eu-west-1"}, "eu-west-1"),
        ({"AWS_REGION": "eu-west-2"}, "eu-west-2"),
        ({"AWS_REGION": "eu-west-2", "AWS_DEFAULT_REGION": "eu-west-1"}, "eu-west-2"),
    ],
)
def test_the_region_comes_from_the_variables_that_the_aws_command_reads(
    environment: Callable[[str], None], monkeypatch: pytest.MonkeyPatch, given: dict[str, str], used: str
) -> None:
    environment("AWS_DEFAULT_REGION")
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    assert aws_client_maker()("s3").meta.region_name == used


def test_region_and_profile_are_options(
    environment: Callable[[str], None], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: list[dict[str, str | None]] = []

    def session() -> object:
        asked.append(session_options())
        raise NoRegionError

    monkeypatch.setattr("fanout_cli.stacks.new_session", session)
    runner = CliRunner()
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    runner.invoke(app, ["list", "--stack", "mine", "--region", "eu-north-1", "--profile", "prod"])
    runner.invoke(app, ["doctor", "--stack", "mine"])
    assert asked == [
        {"region_name": "eu-north-1", "profile_name": "prod"},
        {"region_name": "eu-west-1", "profile_name": None},
    ]
    mixed = runner.invoke(app, ["list", "--local", "--region", "eu-north-1", "--state", str(tmp_path)])
    assert "--region and --profile are of AWS" in mixed.stderr


def test_the_local_stack_must_be_up(environment: object, tmp_path: Path) -> None:
    found = CliRunner().invoke(app, ["list", "--local", "--state", str(tmp_path)])
    assert (found.exit_code, found.stderr) == (2, "the local stack is not up; run `fanout up`\n")
    both = CliRunner().invoke(app, ["list", "--local", "--stack", "mine", "--state", str(tmp_path)])
    assert "exclude each other" in both.stderr
    down = CliRunner().invoke(app, ["down", "--json", "--state", str(tmp_path)])
    assert json.loads(down.stdout) == {"ended": False}


def test_a_local_stack_that_died_is_told_from_one_that_is_not_up(environment: object, tmp_path: Path) -> None:
    up = LocalPaths.find(state=tmp_path).up
    up.parent.mkdir(parents=True, exist_ok=True)
    up.write_text('{"endpoint": "https://127.0.0.1:9", "ca_bundle": "none"}')
    for words in (["list"], ["list", "--local"]):
        died = CliRunner().invoke(app, [*words, "--state", str(tmp_path)])
        assert (died.exit_code, "the local stack has died" in died.stderr) == (2, True)


def test_a_demonstration_beside_the_local_stack_says_how_to_use_it(
    environment: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fanout_cli.runs.local_run.read_up", lambda paths: {"pid": 1})
    with (
        pytest.raises(LocalRunError, match="fanout start REQUEST"),
        local_runs(LocalOptions({}), Terminal(), tmp_path),
    ):
        pass


def test_control_c_of_a_demonstration_says_what_stays(
    environment: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("fanout_cli.demo.run_demo", interrupted)
    ended = CliRunner().invoke(app, ["demo", "--state", str(tmp_path)])
    assert (ended.exit_code, "copied files stay" in ended.stderr) == (130, True)
