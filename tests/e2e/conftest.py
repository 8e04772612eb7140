"""One deployment for the whole session."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from fanout_cli.local import LocalPaths, LocalStack, find_toolchain
from tests.e2e.processes import Workers


@pytest.fixture(scope="session")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the local stack of the tests keeps its state; the first that starts it deploys."""
    return tmp_path_factory.mktemp("state")


@dataclass
class Stack:
    """The stack with a directory that stands for EFS."""

    stack: LocalStack
    mount: Path
    workers: Workers


@pytest.fixture(scope="module")
def local(state: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """The stack, up, for one module: its state can not be shared with a command that runs beside it."""
    mount = tmp_path_factory.mktemp("mount")
    paths = LocalPaths.find(state=state)
    mounts = {"data": mount, "sealed": Path("/sys/kernel")}
    with LocalStack(paths, find_toolchain(paths.repo), mounts) as stack:
        yield Stack(stack, mount, Workers(stack.endpoint))
