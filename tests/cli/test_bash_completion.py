"""TAB in a real bash."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cli.shells import CASES, Shell, made_home

FIRST = (
    "bind 'set enable-bracketed-paste off'; bind 'set horizontal-scroll-mode off'; stty columns 400",
    'eval "$(fanout --show-completion bash)"',
)


@pytest.fixture(scope="module")
def bash(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    shell = Shell(made_home(tmp_path_factory, "bash"), ["bash", "--noprofile", "--norc", "-i"], FIRST)
    yield shell
    shell.close()


@pytest.mark.parametrize(("typed", "line"), CASES)
def test_tab_completes(bash: Shell, typed: str, line: str) -> None:
    assert bash.after_tab(typed) == line
