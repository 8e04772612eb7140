"""What ``fanout up`` says where it cannot do its work."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from fanout_cli.local.emulator import hold
from fanout_cli.local.paths import LocalPaths
from fanout_cli.main import app


def test_a_stack_that_another_run_holds_is_told_in_a_sentence(tmp_path: Path) -> None:
    """By the process that keeps the stack, whose log holds its traces."""
    with hold(LocalPaths.find(state=tmp_path).lock):
        ended = CliRunner().invoke(app, ["up", "--mount", f"data={tmp_path}", "--state", str(tmp_path)])
    assert ended.exit_code == 2
    assert "did not come up" in ended.stderr and "another local run (process " in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("./nothing=s3://bucket/x/", "'./nothing' is not a directory"),
        (".=efs:///x", "'efs:///x' is not in S3; s3://bucket/prefix/"),
        (".=bucket/x", "'bucket/x' is not in S3; s3://bucket/prefix/"),
        ("s3://bucket/x/", "is not a directory"),
    ],
)
def test_a_load_that_is_none_is_refused_before_the_stack_starts(tmp_path: Path, text: str, said: str) -> None:
    refused = CliRunner().invoke(app, ["up", "--s3-load", text, "--state", str(tmp_path)])
    assert refused.exit_code == 2
    assert said in refused.stderr
    assert not (tmp_path / "logs").exists()
