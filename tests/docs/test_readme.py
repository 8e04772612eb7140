"""README.md, block by block, pasted into a shell that knows nothing: up to AWS, where there is no account.

The deployment is pasted in tests/cli/setup/test_wheel.py, with a command that is installed.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fanout_cli.local.toolchain import sam_of
from tests.docs.commands import Block, blocks
from tests.docs.pages import ROOT

BLOCKS = [one for one in blocks() if one.document.name == "README.md" and "fanout deploy" not in one.text]
NOTES = '#!/bin/sh\necho "{name} $*" >> "{log}"\n'


def pasted(block: Block, home: Path) -> tuple[list[str], list[str]]:
    """The calls of what does nothing here (make, sam, python3, pip), and what the lines said on standard error."""
    log, sam = home / "calls.log", sam_of(home)
    log.touch()
    fakes = {"make": home / "programs/make", "python3": home / "programs/python3", "sam": sam}
    fakes["pip"] = home / "fanout/bin/pip"
    programs = {file: NOTES.format(name=name, log=log) for name, file in fakes.items()}
    command = f'#!/bin/sh\nexec "{Path(sys.executable).parent}/fanout" "$@"\n'
    programs |= dict.fromkeys((home / ".venv/bin/fanout", home / "fanout/bin/fanout"), command)
    for file, text in programs.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        file.chmod(0o755)
    environment = {
        "HOME": str(home),
        "PATH": f"{home}/programs:/usr/bin:/bin",
        "AWS_DEFAULT_REGION": "eu-west-1",  # as the block of the deployment exports it
        "AWS_EC2_METADATA_DISABLED": "true",  # a machine of AWS would have an account
    }
    shell = ["bash", "--noprofile", "--norc"]
    ended = subprocess.run(
        shell, input=block.text, cwd=home, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    return log.read_text(encoding="utf-8").splitlines(), ended.stderr.splitlines()


@pytest.mark.parametrize("block", BLOCKS, ids=str)
def test_a_block_of_the_readme_pastes_into_a_bare_shell(block: Block, tmp_path: Path) -> None:
    calls, said = pasted(block, tmp_path)
    ours = [line for line in block.commands if "bin/fanout" in line]
    assert len(said) == len(ours) and all(line.startswith("no AWS credentials were found") for line in said)
    assert len(calls) + len(ours) == len(block.commands)
    for words in map(str.split, calls):
        # Without running it: the target is there, and so is the verb of sam, which a test of e2e deletes with.
        programs = {"make": ["make", "-n", *words[1:]], "sam": [str(sam_of(ROOT)), *words[1:], "--help"]}
        known = programs.get(words[0], ["true"])  # tests/cli/setup/test_wheel.py installs it
        if os.access(known[0], os.X_OK) or words[0] == "make":
            subprocess.run(known, cwd=ROOT, capture_output=True, timeout=60, check=True)


def test_each_block_of_the_readme_is_pasted_somewhere() -> None:
    found = [one for one in blocks() if one.document.name == "README.md" and one not in BLOCKS]
    elsewhere = (ROOT / "tests/cli/setup/test_wheel.py").read_text(encoding="utf-8")
    assert len(found) == 1
    assert "def test_the_readme_s_deployment_pastes_into_a_bare_shell_up_to_aws" in elsewhere
