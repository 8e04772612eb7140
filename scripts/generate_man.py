"""Writes docs/man/fanout.1 of the commands' own help; --check only compares."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from typer.main import get_command

from fanout import __version__
from fanout.request.command_line import VERBS
from fanout_cli.commands.lazy_group import COMMANDS
from fanout_cli.main import app

PAGE = Path(__file__).resolve().parents[1] / "docs/man/fanout.1"


def roff(text: str) -> str:
    """A text as roff shows it: no line is a request, and no hyphen or backslash is taken for another sign."""
    plain = re.sub(r"\[/?(?:bold|dim|cyan|green|red|italic)\]", "", text)
    lines = (line.strip() for line in plain.replace("\\", "\\e").replace("-", "\\-").splitlines())
    return "\n".join("\\&" + line if line[:1] in (".", "'") else line for line in lines)


def page() -> str:
    """The whole page."""
    root: Any = get_command(app)
    name, does = "fanout", roff(root.help)
    lines = [
        f'.TH FANOUT 1 "" "fanout {__version__}" "Fan-out transfer"',
        ".SH NAME",
        f"{name} \\- {does[0].lower()}{does[1:].rstrip('.')}",
        ".SH SYNOPSIS",
        f".B {name}",
        "[\\fIoptions\\fR] \\fIcommand\\fR [\\fIarguments\\fR]",
        ".SH DESCRIPTION",
        does,
        ".PP",
        roff(root.epilog),
        ".SH OPTIONS",
        *options(root),
    ]
    transfers = {one.value: root.commands[one.value] for one in VERBS}
    panel = ""
    for each, known in COMMANDS.items():
        if known.panel != panel:
            panel = known.panel
            lines.append(f".SH {panel.upper()}")
        made = root.commands[each]
        lines += verb(made, transfers) if each in transfers else command(made, f"{name} {each}", transfers)
        if known.examples:
            lines += [".PP", "Examples:", ".PP", ".nf", *map(roff, known.examples), ".fi"]
    lines += [".SH OPTIONS OF A TRANSFER", *shared_options(transfers)]
    lines += [
        ".SH EXIT STATUS",
        "The page \\fIdocs/reference/commands.md\\fR has the exit statuses, the variables of the",
        "environment and the words for the end of a run.",
        ".SH SEE ALSO",
        ".BR aws (1),",
        ".BR sam (1)",
    ]
    return "\n".join(line for line in lines if line) + "\n"


def command(made: Any, path: str, transfers: Mapping[str, Any] = MappingProxyType({})) -> Iterator[str]:
    """The section of a command, and those of its own commands."""
    arguments = " ".join(argument(one) for one in made.params if one.param_type_name == "argument")
    yield f'.SS "{roff(path)}{" " + arguments if arguments else ""}"'
    yield roff(made.help or "").replace("\n\n", "\n.PP\n")
    yield from options(made)
    for each in getattr(made, "commands", {}).values():
        yield from (
            transfer_here(each, transfers, path) if each.name in transfers else command(each, f"{path} {each.name}")
        )


def transfer_here(made: Any, transfers: Mapping[str, Any], path: str) -> Iterator[str]:
    """The section of a transfer on this machine: the options that it shares with others stand once for all of them."""
    yield f'.SS "{roff(path)} {made.name} SOURCE DESTINATION"'
    yield roff(made.help)
    shared = {one.opts[0] for one in transfers[made.name].params}
    lacks = ", ".join(
        f"\\fB{roff(one.opts[0])}\\fR"
        for one in transfers[made.name].params
        if one.param_type_name == "option" and one.opts[0] not in {each.opts[0] for each in made.params}
    )
    yield f"Takes the options of a transfer, see below, but not {lacks}; and:"
    for one in made.params:
        if one.param_type_name == "option" and one.opts[0] not in shared and not one.hidden:
            yield from option(one)


def verb(made: Any, transfers: Mapping[str, Any]) -> Iterator[str]:
    """The section of a command that transfers: its options stand once for all of them."""
    yield f'.SS "fanout {made.name} SOURCE DESTINATION"'
    yield roff(made.help)
    own = {one.opts[0] for one in made.params}
    others = {one.opts[0]: None for each in transfers.values() for one in each.params}
    lacks = ", ".join(f"\\fB{roff(option)}\\fR" for option in others if option not in own)
    yield f"Takes the options of a transfer, see below{f', but not {lacks}' if lacks else ''}."


def shared_options(transfers: Mapping[str, Any]) -> Iterator[str]:
    """The options of all transfers by their parts of the help, each once."""
    found: dict[str, dict[str, Any]] = {}
    for made in transfers.values():
        for one in made.params:
            if one.param_type_name == "option":
                found.setdefault(one.rich_help_panel or "Other options", {}).setdefault(one.opts[0], one)
    for panel, known in found.items():
        yield f".SS {panel}"
        for one in known.values():
            yield from option(one)


def argument(one: Any) -> str:
    """An argument as the head of a section shows it, in brackets where it may be left out."""
    word = roff(one.metavar or one.name.upper())
    return word if one.required or word.startswith("[") else f"[{word}]"


def options(made: Any) -> Iterator[str]:
    """A paragraph for each option that the help shows."""
    for one in made.params:
        if one.param_type_name == "option" and not getattr(one, "hidden", False):
            yield from option(one)


def option(one: Any) -> Iterator[str]:
    """The paragraph of an option."""
    flags = ", ".join(f"\\fB{roff(flag)}\\fR" for flag in (*one.opts, *one.secondary_opts))
    takes = "" if one.is_flag else f" \\fI{roff(one.metavar or one.name.upper())}\\fR"
    yield ".TP"
    yield flags + takes
    yield roff(one.help or "\\&")


def main(arguments: list[str]) -> int:
    """Write the page; with --check say whether it is out of date."""
    text = page()
    if PAGE.exists() and PAGE.read_text(encoding="utf-8") == text:
        return 0
    if "--check" in arguments:
        sys.stderr.write(f"{PAGE.name} is not what the commands say; run: make docs\n")
        return 1
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
