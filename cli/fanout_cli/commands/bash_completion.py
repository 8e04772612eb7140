"""Completion by bash, whose words end at ``:`` and ``=``: a place such as ``s3://bucket/`` is three of them."""

from __future__ import annotations

import os

from typer import _completion_shared
from typer._click.shell_completion import add_completion_class, split_arg_string
from typer._completion_classes import BashComplete

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


def use_whole_words() -> None:
    """Have typer print, install and answer this script for bash; call it after ``completion_init``."""
    _completion_shared._completion_scripts["bash"] = SCRIPT
    add_completion_class(WholeWords, "bash")
