"""Completion of run ids, which no definition knows."""

from __future__ import annotations

from typing import Any

import typer

# Chosen: as many as a person looks through.
MOST = 20


def complete_runs(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """The newest runs of the stack that the words so far name, each with how it ended."""
    from fanout_cli.command_error import CommandError, human_errors
    from fanout_cli.local.errors import LocalRunError
    from fanout_cli.runs.listed import newest_executions
    from fanout_cli.stacks import find_stack

    given: dict[str, Any] = ctx.params
    try:
        with human_errors():
            stack = find_stack(given.get("stack"), bool(given.get("local")), given.get("state"))
            found = newest_executions(stack, MOST)
    except (CommandError, LocalRunError):
        return []  # a shell shows no error; the command itself will
    return [(one["name"], one["status"]) for one in found if one["name"].startswith(incomplete)]
