"""How hypothesis searches, and how the tests are shared out over processes (`make test` runs three)."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, settings
from jinja2 import ModuleLoader
from xdist.remote import Producer  # type: ignore[import-untyped]
from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

from tests.commands import COMMANDS, is_run, may_hold
from tests.facts.strict import held_to_the_models
from tests.nfs.selections import IN_GUEST

# Before workers begin, which must collect the same tests on both sides of midnight.
os.environ.setdefault("FANOUT_DAY", str(date.today().toordinal()))
# By chance at a desk, the same examples each time in CI, long when asked to, few where each call is slow; for mutants
# whether a test fails, and not its shortest example.
settings.register_profile("desk", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.register_profile("long", deadline=None, max_examples=2000)
settings.register_profile("few", deadline=None, max_examples=5)
settings.register_profile("mutants", deadline=None, derandomize=True, phases=[Phase.explicit, Phase.generate])
_USUAL = "few" if IN_GUEST else "ci" if os.environ.get("CI") else "desk"
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or _USUAL)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Which command of the Makefile runs: ``tests/commands.py`` says what that is."""
    parser.addoption("--command", choices=COMMANDS, default="", help="run the tests of one command of the Makefile")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out what the command does not run; None lets others decide."""
    command = config.getoption("--command")
    if not command or may_hold(collection_path.relative_to(config.rootpath).as_posix(), command):
        return None
    return True


@pytest.fixture(scope="session", autouse=True)
def modules_of_templates_stay() -> Iterator[None]:
    """Jinja leaves weak references in ``sys.modules``; hypothesis looks at every module, also when one has died."""
    kept = []
    plain = ModuleLoader.__init__

    def keeping(self: ModuleLoader, *arguments: Any, **named: Any) -> None:
        plain(self, *arguments, **named)
        kept.append(self.module)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ModuleLoader, "__init__", keeping)
        yield


@pytest.fixture(scope="session", autouse=True)
def requests_are_what_the_models_take() -> Iterator[None]:
    """Those that tests make in this process, of boto3 and of our own client of S3."""
    with held_to_the_models():
        yield


@pytest.fixture(autouse=True, scope="module")
def few_open_directories() -> Iterator[None]:
    """Trees that tests leave in circles keep their directories open until they are collected, which may be late."""
    yield
    if len(os.listdir("/proc/self/fd")) > 2_000:
        gc.collect()


# Files of tests/e2e with an emulator of their own, or none, the longest first. The others share one deployed stack.
OWN_EMULATOR = (
    *("deployment", "package", "layer", "organisations", "release", "function_limits"),
    *("admission", "emulator", "pasted", "cdk"),
)
OF_OWN = [f"tests/e2e/test_{name}.py" for name in OWN_EMULATOR]


# Rooms whose files share what is expensive: a deployed stack; a browser and the reports that it opens.
SHARED = ("tests/e2e/", "tests/browser/")


class ByFile(LoadScopeScheduling):  # type: ignore[misc]
    """Each file's tests run in one process; the files that share something expensive run in the same one."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return file if file in OF_OWN else next((room for room in SHARED if file.startswith(room)), file)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> ByFile:
    """What xdist asks for a way to share tests out; its own groups are lost on pytest 9.2."""
    config.option.loadscopereorder = False  # pytest_collection_modifyitems puts the longest first
    return ByFile(config, log)


def begins(item: pytest.Item) -> int:
    """A rank by when a test begins: the stack that e2e shares, the virtual machine, the rest of e2e, everything else.

    The first two take longest, and each runs in one process.
    """
    file = item.nodeid.partition("::")[0]
    if file in OF_OWN:
        return 2 + OF_OWN.index(file)
    first = [file.startswith(f"tests/{room}/") for room in ("e2e", "nfs")]
    return first.index(True) if any(first) else 2 + len(OF_OWN)


ON_A_MOUNT = {"tmp_path", "mounts"}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put the longest first.

    In the guest whatever touches no directory of a mount proves nothing, and is left out.
    """
    if IN_GUEST:
        left_out = [item for item in items if ON_A_MOUNT.isdisjoint(getattr(item, "fixturenames", ()))]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]
    if command := config.getoption("--command"):
        others = [item for item in items if not is_run(item.nodeid, command)]
        config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if is_run(item.nodeid, command)]
    items.sort(key=begins)
    gc.freeze()  # what was collected stays: no later collection looks at it again
