"""The help of commands, quick to show: plain text in sections, without what draws tables and checks values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from textwrap import fill
from typing import Any

import typer
from typer._click.exceptions import BadParameter, NoSuchOption, UsageError
from typer.core import TyperCommand, TyperGroup

# The section of options that name none, and the one that a command with many options shows without being asked, which
# has the name of fanout.request.command_line.
OPTIONS = "Options"
COMMON = "Common"
_WHOLE = "fanout.whole_help"
# An option with its choices is on the line of what it means.
_WIDEST_OPTION = 38


class _QuickHelp:
    """Options that commands and groups share.

    Typer checks values by pydantic, and draws its help by rich: each takes longer to import than the whole command.
    A flag that is False is not checked, and a help without markup is not drawn.
    """

    def get_help_option(self, ctx: Any) -> Any:
        """The option ``--help``."""
        option = super().get_help_option(ctx)  # type: ignore[misc]
        if option is not None:
            option.default = False
        return option

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """See ``TyperCommand``; an option that there is not is answered with what helps."""
        try:
            left: list[str] = super().parse_args(ctx, args)  # type: ignore[misc]
            return left
        except NoSuchOption as error:
            raise UsageError(self.no_such_option(error.option_name, error.possibilities or ()), ctx) from error
        except BadParameter as error:
            error.message = _plainly(error.message)
            raise

    def no_such_option(self, name: str, like: Sequence[str]) -> str:
        """The sentence about an option that the command does not have; ``like`` are those with a similar name."""
        closest = get_close_matches(name, like, 1)
        return f"No such option: {name}" + (f"; did you mean {closest[0]}?" if closest else "")

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """The examples, a line each."""
        lines = (self.epilog or "").split("\n\n")  # type: ignore[attr-defined]
        if lines != [""]:
            formatter.write_paragraph()
            for line in lines:
                formatter.write(f"{line}\n")


def _plainly(message: str) -> str:
    """Say what is wrong with a value, without the words of the library that checked it, and what may be meant."""
    said = message.removeprefix("Value error, ").removesuffix(".")
    if "unable to parse string as a" in said:
        return f"it is not {'a whole number' if 'integer' in said else 'a number'}"
    typed, found, choices = said.partition(" is not one of ")
    if not found:
        return said
    closest = get_close_matches(typed.strip("'"), [one.strip("'") for one in choices.split(", ")], 1)
    return said + (f"; did you mean {closest[0]}?" if closest else "")


class QuickCommand(_QuickHelp, TyperCommand):
    """A command whose options are shown in sections by their ``rich_help_panel``, in the order of its parameters.

    With a section ``Common`` its help is short: that section, and the names of all other options.
    """

    @property
    def is_short(self) -> bool:
        """Whether ``--help`` shows the common options alone."""
        return any(getattr(one, "rich_help_panel", None) == COMMON for one in self.params)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments, then the options by their sections."""
        sections: dict[str, list[Any]] = {}
        for parameter in self.get_params(ctx):
            default = "Arguments" if parameter.param_type_name == "argument" else OPTIONS
            sections.setdefault(getattr(parameter, "rich_help_panel", None) or default, []).append(parameter)
        is_short = self.is_short and _WHOLE not in ctx.meta
        for name, parameters in sections.items():
            if is_short and name not in ("Arguments", COMMON):
                continue
            found = [one.get_help_record(ctx) for one in parameters]
            records = [(record[0], _clause(record[1]) if is_short else record[1]) for record in found if record]
            with formatter.section(name):
                formatter.write_dl(records, col_max=_WIDEST_OPTION if is_short else 30)
        if is_short:
            rest = {name: found for name, found in sections.items() if name not in ("Arguments", COMMON)}
            with formatter.section(f"More, which {ctx.command_path} --help-all explains"):
                _write_names(formatter, {name: [_name(one) for one in found] for name, found in rest.items()})


def whole_help(ctx: Any, wanted: bool) -> None:
    """The callback of ``--help-all``."""
    if wanted:
        ctx.meta[_WHOLE] = True
        typer.echo(ctx.get_help())
        ctx.exit()


def _clause(meaning: str) -> str:
    """The first clause of what an option means."""
    return meaning.partition(";")[0].partition("  [")[0]


def _write_names(formatter: Any, sections: Mapping[str, Sequence[str]]) -> None:
    """A paragraph for each section, which breaks between names alone."""
    first = max(map(len, sections)) + 2
    for name, options in sections.items():
        indent = " " * formatter.current_indent
        paragraph = fill(
            " ".join(options),
            formatter.width,
            initial_indent=f"{indent}{name:{first}}",
            subsequent_indent=indent + " " * first,
            break_on_hyphens=False,
        )
        formatter.write(f"{paragraph}\n")


def _name(option: Any) -> str:
    return str(max(option.opts, key=len))


class QuickGroup(_QuickHelp, TyperGroup):
    """A command that has commands."""

    def no_such_option(self, name: str, like: Sequence[str]) -> str:
        """The same for an option before the command, which may be one of the command's."""
        known = super().no_such_option(name, like)
        return f"{known}; options follow the command, as in fanout list --stack prod" if known.endswith(name) else known

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the first clause of what each command does, whole."""
        with formatter.section("Commands"):
            commands = {name: self.get_command(ctx, name) for name in self.list_commands(ctx)}
            formatter.write_dl([(name, _clause(one.help or "")) for name, one in commands.items() if one])


class CommandApp(typer.Typer):
    """A ``Typer`` whose commands are ``QuickCommand``."""

    def __init__(self, **how: Any) -> None:
        super().__init__(cls=QuickGroup, rich_markup_mode=None, add_completion=False, **how)

    def command(self, name: str | None = None, **how: Any) -> Any:
        return super().command(name, **{"cls": QuickCommand, **how})
