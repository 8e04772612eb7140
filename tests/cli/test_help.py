"""The help of each command: as many lines as a screen has, and every option by its name."""

from __future__ import annotations

import re
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from fanout_cli.commands.lazy_group import COMMANDS
from fanout_cli.main import app
from tests.cli.test_lazy_imports import COMMANDS_OF, HELPS

# Rows of a terminal on a small screen.
SCREEN = 50
# `fanout schedule` and others show their commands; each of those is in HELPS.
LEAVES = [words for words in HELPS if len(words) > 1 or words[0] not in COMMANDS_OF]


def said(*words: str) -> str:
    """What the command prints to a terminal of 80 columns."""
    return (
        CliRunner()
        .invoke(app, words, env={"COLUMNS": "80"}, terminal_width=80, catch_exceptions=False, prog_name="fanout")
        .stdout
    )


def options_of(*words: str) -> list[str]:
    """The options of a command that a help shows, by their longest names."""
    command: Any = get_command(app)
    for word in words:
        command = command.commands[word]
    shown = [one for one in command.params if one.param_type_name == "option" and not one.hidden]
    return [max(one.opts, key=len) for one in shown]


@pytest.mark.parametrize("words", HELPS, ids=" ".join)
def test_a_help_fits_a_screen(words: tuple[str, ...]) -> None:
    lines = said(*words, "--help").splitlines()
    assert len(lines) <= SCREEN
    assert max(map(len, lines)) <= 80 or COMMANDS[words[0]].examples


@pytest.mark.parametrize("words", LEAVES, ids=" ".join)
def test_a_help_names_every_option(words: tuple[str, ...]) -> None:
    short, whole = said(*words, "--help").split(), said(*words, "--help-all").split()
    assert [option for option in options_of(*words) if not {option, f"{option},"} & set(short)] == []
    assert [option for option in options_of(*words) if not {option, f"{option},"} & set(whole)] == []


def test_the_whole_help_explains_what_the_short_one_only_names() -> None:
    short, whole = said("copy", "--help"), said("copy", "--help-all")
    assert "fanout copy --help-all explains" in short
    assert "account that must own the bucket" not in short
    assert "account that must own the bucket" in whole
    assert said("help", "copy", "--all") == whole
    assert said("help", "list", "--all") == said("list", "--help")
    assert said("help", "--all") == said("--help")


@pytest.mark.parametrize("words", LEAVES, ids=" ".join)
def test_a_variable_stands_for_every_option(words: tuple[str, ...]) -> None:
    command: Any = get_command(app)
    for word in words:
        command = command.commands[word]
    options = [one for one in command.params if one.param_type_name == "option" and "--help" not in one.opts[0]]
    variables = [one.envvar for one in options]
    assert all(re.fullmatch("FANOUT(_[A-Z0-9]+)+", one) for one in variables)
    assert len(set(variables)) == len(variables)


def test_the_variables_of_a_request_file_are_those_of_local() -> None:
    command: Any = get_command(app)
    found = {one.envvar for one in command.commands["local"].commands["request"].params if one.envvar}
    assert {"FANOUT_LOCAL_MOUNT", "FANOUT_LOCAL_WORK", "FANOUT_LOCAL_STATE"} <= found
