"""The first deployment as a stranger pastes it: in a bare shell, in a fresh clone, up to the change set."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from fanout_cli.local.emulator import Emulator
from tests.docs.commands import Block, blocks
from tests.docs.pages import ROOT

# Sets up a checkout of its own, with everything that it installs.
pytestmark = [pytest.mark.e2e, pytest.mark.timeout(1800)]
PATH = "/usr/bin:/bin"
PYTHON = next(Path.home().glob(".pyenv/versions/3.13*/bin/python3.13"), shutil.which("python3.13"))
WAYS = ("HTTP_", "HTTPS_", "NO_PROXY", "http_", "https_", "no_proxy", "SSL_", "PIP_", "UV_")
# One that asks needs a terminal; tests/cli/setup/test_init.py answers.
BLOCKS = [one for one in blocks() if "fanout deploy --config-env" in one.text and "--yes" in one.text]


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clone without anything that this checkout has installed."""
    place = tmp_path_factory.mktemp("stranger") / "fanout"
    subprocess.run(["git", "clone", "-q", "--local", ROOT, place], check=True)
    return place


@pytest.mark.skipif(not PYTHON, reason="the layer's bytecode is made by a Python 3.13, which is not here")
@pytest.mark.parametrize("sam_on_path", [False, True], ids=["", "sam on the path"])
@pytest.mark.parametrize("block", BLOCKS, ids=str)
def test_a_block_that_deploys_comes_to_its_change_set(
    block: Block, sam_on_path: bool, clone: Path, emulator: Emulator, tmp_path: Path
) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "python3.13").symlink_to(str(PYTHON))
    path = f"{clone / '.fanout/tools/sam/bin'}:{PATH}" if sam_on_path else PATH
    # Where AWS and the package index are; the region is the block's own.
    kept = {name: value for name, value in emulator.environment().items() if name.startswith(("AWS_", *WAYS))}
    given = {name: value for name, value in kept.items() if name not in ("AWS_DEFAULT_REGION", "AWS_REGION")}
    environment = {**given, "HOME": str(tmp_path), "PATH": f"{path}:{tools}", "SAM_CLI_TELEMETRY": "0"}
    # No: the change set is shown and goes, and nothing is deployed.
    ended = subprocess.run(
        ["sh", "-u", "-c", block.text],
        cwd=clone,
        env=environment,
        input="n\n",
        capture_output=True,
        text=True,
        check=False,
    )
    shown = ended.stdout + ended.stderr
    assert "Changeset created successfully" in shown, shown[-4000:]
    assert "no Python 3.13" not in shown
    (clone / "samconfig.toml").write_bytes((ROOT / "samconfig.toml").read_bytes())
