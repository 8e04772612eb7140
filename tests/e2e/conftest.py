"""One state for each module, so that no run and no measurement of one is there for another. The stack is built and
deployed once: each module begins with what that left."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from fanout_cli.local import LocalPaths, LocalStack, find_toolchain
from fanout_cli.local.access import Access
from fanout_cli.local.clients import Clients
from fanout_cli.local.emulator import Emulator
from tests.e2e.command import fanout
from tests.e2e.processes import Workers


@pytest.fixture(scope="module")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Emulator]:
    """The emulator alone, without a stack."""
    paths = LocalPaths.find(state=tmp_path_factory.mktemp("aws"))
    with Emulator(find_toolchain(paths.repo), paths) as found:
        found.wait()
        yield found


@pytest.fixture(scope="session")
def deployed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The state of the modules, which the functions name by its path, and what the command left there from nothing."""
    state, left = tmp_path_factory.mktemp("state"), tmp_path_factory.mktemp("deployed") / "state"
    answer = fanout("up", "--mount", f"data={tmp_path_factory.mktemp('mount')}", "--state", state)
    assert answer.returncode == 0, answer.stderr
    assert fanout("down", "--state", state).returncode == 0
    return state, state.rename(left)


@pytest.fixture(scope="module")
def state(deployed: tuple[Path, Path]) -> Iterator[Path]:
    """Where the local stack of the module keeps its state: deployed, and nothing has run on it."""
    state, left = deployed
    shutil.copytree(left, state, symlinks=True)
    yield state
    shutil.rmtree(state)


@dataclass
class Stack:
    """The stack with a directory that stands for EFS."""

    stack: LocalStack
    mount: Path
    workers: Workers


@pytest.fixture(scope="module")
def local(state: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """The stack, up; no command can run beside it on its state."""
    mount = tmp_path_factory.mktemp("mount")
    paths = LocalPaths.find(state=state)
    mounts = {"data": mount, "sealed": Path("/sys/kernel")}
    with LocalStack(paths, find_toolchain(paths.repo), mounts) as stack:
        yield Stack(stack, mount, Workers(stack.endpoint))


@pytest.fixture
def up(state: Path, tmp_path: Path) -> Iterator[Any]:
    """What ``fanout up`` said of the stack that it left running, with its ``mount`` and a client of its ``s3``."""
    mount = tmp_path / "mount"
    mount.mkdir()
    answer = fanout("up", "--mount", f"data={mount}", "--json", "--state", state)
    assert answer.returncode == 0, answer.stderr
    said = json.loads(answer.stdout)
    yield {**said, "mount": mount, "s3": Clients(Access.read(Path(said["environment"]))).s3}
    assert fanout("down", "--state", state).returncode == 0
