"""TAB in a real zsh and a real fish."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator

import pytest

from tests.cli.shells import CASES, Shell, environment_of, made_home

# What zsh puts on the line where bash does otherwise: it completes what two words have in common at their end too.
IN_ZSH = {"fanout retry c": "fanout retry copy-2026-11-2-030000"}
FIRST = (
    "unset zle_bracketed_paste; unsetopt prompt_sp; stty columns 400; bindkey -e",
    "autoload -U compinit; compinit -u -D",
    'eval "$(fanout --show-completion zsh)"',
)


@pytest.fixture(scope="module")
def zsh(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    shell = Shell(made_home(tmp_path_factory, "zsh"), ["zsh", "-f", "-i"], FIRST, '"')
    yield shell
    shell.close()


@pytest.mark.parametrize(("typed", "line"), CASES)
def test_tab_completes_in_zsh(zsh: Shell, typed: str, line: str) -> None:
    # zsh takes away the space behind a word when another key than a letter follows.
    assert zsh.after_tab(typed).replace("'", "") == IN_ZSH.get(typed, line.rstrip())


@pytest.fixture(scope="module")
def offered(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """What fish offers for the last word of each line."""
    home = made_home(tmp_path_factory, "fish")
    lines = ["fanout --show-completion fish | source"]
    lines += [f'complete -C "{typed}" | string split -f 1 \\t | string join0; echo -n ////' for typed, _ in CASES]
    fish = ["fish", "--no-config", "-c", "\n".join(lines)]
    ran = subprocess.run(fish, env=environment_of(home), cwd=home, capture_output=True, text=True, check=True)
    answers = ran.stdout.split("////")
    return {typed: answer.split("\0")[:-1] for (typed, _), answer in zip(CASES, answers, strict=False)}


@pytest.mark.parametrize(("typed", "line"), CASES)
def test_tab_completes_in_fish(offered: dict[str, list[str]], typed: str, line: str) -> None:
    found = offered[typed]
    common = os.path.commonprefix(found)  # noqa: RUF071 - of texts, not of paths
    assert line.rstrip().endswith(common)
    assert common.startswith(typed.split()[-1])
    assert (len(found) == 1) is (line != typed and not line.endswith("-2"))
