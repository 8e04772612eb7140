"""The command ``doctor``."""

from __future__ import annotations

import sys
from typing import Annotated

import typer
from msgspec import to_builtins
from rich.console import Console

from fanout.ports.finding import Finding, Level
from fanout_cli.commands.run_commands import JsonOption, LocalOption, StackOption, StateOption, command
from fanout_cli.runs.progress import dump
from fanout_cli.runs.results import EXIT_FAILED
from fanout_cli.stacks import find_stack
from fanout_cli.terminal import Terminal

STYLES = {Level.OK: "green", Level.WARN: "yellow", Level.FAIL: "red"}


def doctor(
    stack: StackOption = None,
    local: LocalOption = False,
    kms_key_id: Annotated[str, typer.Option(help="Try this KMS key from inside the network too")] = "",
    json_output: JsonOption = False,
    state: StateOption = None,
) -> None:
    """Check a deployment from here and from inside its network. Status: 0, or 1 if a run would fail."""
    from fanout_cli.doctor.checks import examine_stack

    console = Terminal(stderr=True)
    with command(console):
        found: list[Finding] = []
        for finding in examine_stack(find_stack(stack, local, state), kms_key_id):
            found.append(finding)
            if not json_output:
                _print(Terminal(), finding)
        if json_output:
            sys.stdout.write(dump([to_builtins(finding) for finding in found]) + "\n")
        else:
            console.print(_verdict(found), highlight=False)
    if any(finding.level is Level.FAIL for finding in found):
        raise typer.Exit(EXIT_FAILED)


def _verdict(found: list[Finding]) -> str:
    failed, warned = (sum(one.level is level for one in found) for level in (Level.FAIL, Level.WARN))
    if not failed and not warned:
        return f"all {len(found)} checks passed"
    return f"{len(found)} checks: {failed} failed, {warned} with a warning"


def _print(console: Console, finding: Finding) -> None:
    console.print(f"{finding.level.value:<5}", style=STYLES[finding.level], end="")
    console.print(f"{finding.name}: {finding.what}", markup=False, highlight=False, soft_wrap=True)
    if finding.remedy:
        console.print(f"     {finding.remedy}", markup=False, highlight=False, soft_wrap=True)


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command()(doctor)
