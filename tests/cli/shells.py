"""Real shells in a terminal of their own, with the completion that ``fanout --show-completion`` prints."""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

# The command as it is, but for the runs of a stack, which are given.
FANOUT = """#!{python}
from fanout_cli import stacks
from fanout_cli.runs import listed
stacks.find_stack = lambda *named: named
runs = [{{"name": name, "status": "SUCCEEDED"}} for name in ("copy-2026-11-20-030000", "copy-2026-11-21-030000", "nightly")]
listed.newest_executions = lambda stack, most: runs[:1] if stack[0] == "other" else runs
from fanout_cli.main import app
app(prog_name="fanout")
"""  # noqa: E501
PLACES = '[places]\nphotos = "s3://my-photos/originals/"\nprojects = "efs:///projects"\n'
# What is typed before TAB, and the line after it.
CASES = [
    ("fanout cop", "fanout copy "),
    ("fanout help cop", "fanout help copy "),
    ("fanout copy pho", "fanout copy photos:"),
    ("fanout copy photos: pro", "fanout copy photos: projects:"),
    ("fanout copy photos:sub/ pro", "fanout copy photos:sub/ projects:"),
    ("fanout copy s3://bucket/in/ pro", "fanout copy s3://bucket/in/ projects:"),
    ("fanout copy p", "fanout copy p"),  # two begin so
    ("fanout copy s", "fanout copy s3://"),
    ("fanout copy s3:", "fanout copy s3://"),
    ("fanout copy photos: efs:", "fanout copy photos: efs:///"),
    ("fanout copy --exclude '*.tmp' photos: pro", "fanout copy --exclude *.tmp photos: projects:"),
    ("fanout copy photos: projects: --inclu", "fanout copy photos: projects: --include "),
    ("fanout copy photos: projects: --compare che", "fanout copy photos: projects: --compare checksum "),
    ("fanout copy photos: projects: --compare=che", "fanout copy photos: projects: --compare=checksum "),
    ("fanout estimate pho", "fanout estimate photos:"),
    ("fanout report ni", "fanout report nightly "),
    ("fanout retry c", "fanout retry copy-2026-11-2"),
    ("fanout watch --stack other c", "fanout watch --stack other copy-2026-11-20-030000 "),
    ("fanout start fano", "fanout start fanout.toml "),
]


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


class Shell:
    """An interactive shell with nothing but the completion of ``fanout``."""

    def __init__(self, home: Path, command: Sequence[str], first: Sequence[str], quote: str = "'") -> None:
        """``first`` are the lines that it is told before any test; ``quote`` is put around what was completed."""
        self._quote = quote
        self._child, self._terminal = pty.fork()
        if not self._child:
            os.chdir(home)
            os.execve(str(shutil.which(command[0])), list(command), environment_of(home))
        for line in first:
            self._said(f"{line}\n")

    def after_tab(self, typed: str) -> str:
        """The line that TAB makes of what was typed: put between marks by keys of its editor, and printed."""
        said = self._said(f"{typed}\t\x01echo {self._quote}<\x05>{self._quote}\n")
        found: list[str] = re.findall(r"^<(.*)>\r*$", said, re.MULTILINE)
        return found[-1]

    def _said(self, typed: str) -> str:
        """What the shell says to a line, until it says so itself."""
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
