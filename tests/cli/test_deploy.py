"""``fanout deploy``: sam as it is called, and what is said where it is missing or fails."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from fanout_cli.command_error import CommandError
from fanout_cli.commands.stack.deploy_command import find_sam
from fanout_cli.local.paths import LocalPaths
from fanout_cli.local.toolchain import sam_of
from tests.cli.conftest import Aws

SAM = '#!/bin/sh\necho "$PWD: $*" >> "{log}"\n[ "$1" != "{fails}" ]\n'


@pytest.fixture
def sam(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Puts a sam on the PATH that notes how it is called, and fails at one verb."""

    def put(fails: str = "none") -> Path:
        program, log = tmp_path / "bin/sam", tmp_path / "sam.log"
        program.parent.mkdir(exist_ok=True)
        program.write_text(SAM.format(log=log, fails=fails))
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
        return log

    return put


def deployed(aws: Aws, *words: str) -> tuple[int, str]:
    from typer.testing import CliRunner

    from fanout_cli.main import app

    ended = CliRunner().invoke(app, ["deploy", *words])
    return ended.exit_code, ended.stderr


def test_it_builds_deploys_and_examines(aws: Aws, sam: Callable[[str], Path]) -> None:
    log = sam("none")
    status, said = deployed(aws, "--config-env", "prod", "--stack", "mine", "--region", "eu-west-1")
    build, deploy = log.read_text().splitlines()
    root = Path(build.partition(":")[0])
    assert build.endswith(f": build --config-file {root}/samconfig.toml --config-env prod")
    config = f"--config-file {root}/samconfig.toml --config-env prod"
    assert deploy.endswith(f": deploy --stack-name mine --region eu-west-1 {config}")
    assert (root / "template.yaml").is_file()
    assert "checks: " in said
    assert status == 1  # doctor's: this stack in moto lacks most of a real one


def test_the_stack_is_that_of_the_section(aws: Aws, sam: Callable[[str], Path]) -> None:
    log = sam("deploy")
    status, said = deployed(aws, "--config-env", "prod")
    assert "deploy --stack-name fanout-prod" in log.read_text()
    assert (status, "sam deploy failed with status 1" in said) == (2, True)


def test_what_is_missing_is_said(aws: Aws, sam: Callable[[str], Path]) -> None:
    sam("none")
    status, said = deployed(aws, "--config-env", "nix")
    assert (status, "samconfig.toml has no section 'nix'; it has default, dev, prod" in said) == (2, True)


def test_without_a_sam_on_the_path_that_of_the_set_up_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    paths = LocalPaths(tmp_path, tmp_path / "state")
    with pytest.raises(CommandError, match="make setup"):
        find_sam(paths)
    own = sam_of(tmp_path)
    own.parent.mkdir(parents=True)
    own.touch()
    assert find_sam(paths) == str(own)
