"""Completion by bash, zsh and fish, which differ in where a word ends.

Bash ends one at ``:`` and ``=``: a place such as ``s3://bucket/`` is three of its words. To zsh and fish
``--compare=checksum`` is one, and their answer is the whole of it.
"""

from __future__ import annotations

import os
from typing import Any

from typer import _completion_shared
from typer._click.shell_completion import CompletionItem, add_completion_class, split_arg_string
from typer._completion_classes import BashComplete, FishComplete, ZshComplete

SHELLS = ("bash", "zsh", "fish")

# Sends the line as it is typed; of each answer, bash wants only the part behind its own last break. What ends in : or /
# is a beginning, and no space follows it.
SCRIPT = r"""
%(complete_func)s() {
    local IFS=$'\n' line=${COMP_LINE:0:$COMP_POINT} word head=
    COMPREPLY=( $( COMP_WORDS=$line %(autocomplete_var)s=complete_bash "$1" ) )
    [[ ${#COMPREPLY[@]} -eq 1 && $COMPREPLY == *[:/] ]] && compopt -o nospace
    word=${line##*[[:space:]]}
    [[ $word != [\'\"]* ]] && head=${word%%"${word##*[:=]}"}
    COMPREPLY=( "${COMPREPLY[@]#"$head"}" )
    return 0
}

complete -o default -F %(complete_func)s %(prog_name)s
"""


class WholeWords(BashComplete):
    """Splits the line at its spaces alone."""

    source_template = SCRIPT

    def get_completion_args(self) -> tuple[list[str], str]:
        """The words before the last one, without the command, and the last one, which may be empty."""
        line = os.environ["COMP_WORDS"]
        words = split_arg_string(line)[1:]
        return (words, "") if line[-1:].isspace() or not words else (words[:-1], words[-1])


class _WholeOptions:
    """Answers with an option and its value where both are one word."""

    def get_completions(self, args: list[str], incomplete: str) -> list[Any]:
        """The words that may complete the incomplete one."""
        found: list[Any] = super().get_completions(args, incomplete)  # type: ignore[misc]
        option, equals, _ = incomplete.partition("=")
        if not equals or not option.startswith("--"):
            return found
        return [CompletionItem(f"{option}={item.value}", item.type, item.help) for item in found]


class Zsh(_WholeOptions, ZshComplete):
    """Zsh, which takes an option with its value for one word."""


class Fish(_WholeOptions, FishComplete):
    """Fish, which takes an option with its value for one word."""


def use_whole_words() -> None:
    """Have typer print, install and answer these for the shells; call it after ``completion_init``."""
    _completion_shared._completion_scripts["bash"] = SCRIPT
    add_completion_class(WholeWords, "bash")
    add_completion_class(Zsh, "zsh")
    add_completion_class(Fish, "fish")
