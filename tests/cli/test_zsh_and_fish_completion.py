"""TAB in a real zsh and a real fish, with the scripts that ``fanout --show-completion`` prints."""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.test_bash_completion import CASES, FANOUT, PLACES

# What zsh puts on the line where bash does otherwise: it completes what two words have in common at their end too.
IN_ZSH = {"fanout retry c": "fanout retry copy-2026-11-2-030000"}


def made_home(tmp_path_factory: pytest.TempPathFactory, shell: str) -> Path:
    """A home with the command and a file of places."""
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell}")
    home = tmp_path_factory.mktemp("home")
    (home / "fanout.toml").write_text(PLACES)
    (home / "bin").mkdir()
    (home / "bin/fanout").write_text(FANOUT.format(python=sys.executable))
    (home / "bin/fanout").chmod(0o755)
    return home


def environment_of(home: Path) -> dict[str, str]:
    """The environment of the shell."""
    return {"HOME": str(home), "PATH": f"{home}/bin:/usr/bin:/bin", "TERM": "dumb", "PS1": "$ "}


class Zsh:
    """An interactive zsh with nothing but the completion of ``fanout``."""

    def __init__(self, home: Path) -> None:
        self._child, self._terminal = pty.fork()
        if not self._child:
            os.chdir(home)
            os.execve(str(shutil.which("zsh")), ["zsh", "-f", "-i"], environment_of(home))
        self._said("unset zle_bracketed_paste; unsetopt prompt_sp; stty columns 400; bindkey -e\n")
        self._said("autoload -U compinit; compinit -u -D\n")
        self._said('eval "$(fanout --show-completion zsh)"\n')

    def after_tab(self, typed: str) -> str:
        """The line that TAB makes of what was typed."""
        said = self._said(f'{typed}\t\x01echo "<\x05>"\n')
        found: list[str] = re.findall(r"^<(.*)>\r*$", said, re.MULTILINE)
        return found[-1]

    def _said(self, typed: str) -> str:
        os.write(self._terminal, typed.encode() + b"echo DO''NE\n")
        said, until = b"", time.monotonic() + 60
        while b"DONE" not in said:
            assert time.monotonic() < until, said
            if select.select([self._terminal], [], [], 1)[0]:
                said += os.read(self._terminal, 65536)
        return said.decode(errors="replace")

    def close(self) -> None:
        """End the shell."""
        os.close(self._terminal)
        os.waitpid(self._child, 0)


@pytest.fixture(scope="module")
def zsh(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Zsh]:
    shell = Zsh(made_home(tmp_path_factory, "zsh"))
    yield shell
    shell.close()


@pytest.mark.parametrize(("typed", "line"), CASES)
def test_tab_completes_in_zsh(zsh: Zsh, typed: str, line: str) -> None:
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
