"""The stack in an application of CDK, as the page says: npm installs it, and `cdk synth` makes a template."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.template.templates import REPO, TEMPLATE, template

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.timeout(900),
    pytest.mark.skipif(shutil.which("npm") is None, reason="there is no npm"),
]
PAGE = (REPO / "docs/start/deploy-without-sam.md").read_text(encoding="utf-8").partition("## From CDK")[2]


def block(language: str) -> str:
    """The page's block of a language."""
    found = re.search(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None
    return found[1]


def test_the_stack_is_part_of_an_application(tmp_path: Path) -> None:
    (tmp_path / "app.mjs").write_text(block("js"))
    shutil.copy(TEMPLATE, tmp_path)
    shutil.copytree(REPO / "templates", tmp_path / "templates")
    environment = {**os.environ, "CDK_DISABLE_VERSION_CHECK": "1", "CI": "true"}
    command = ["sh", "-eu", "-c", block("sh")]
    ended = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    made = json.loads((tmp_path / "cdk.out/Transfers.template.json").read_text())
    assert made["Transform"] == template()["Transform"]
    assert made["Resources"].keys() >= template()["Resources"].keys()
    assert made["Rules"].keys() >= template()["Rules"].keys()
    # Given parameters are filled in; the rest stay parameters.
    assert set(template()["Parameters"]) - set(made["Parameters"]) == {"ReadBucketArns", "WriteBucketArns"}
    assert made["Resources"]["FileSystem"]["DeletionPolicy"] == {"Ref": "FileSystemAtDeletion"}
