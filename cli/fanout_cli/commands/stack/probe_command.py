"""The command ``probe``."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from fanout.model.errors import cause_message
from fanout_cli.command_error import EXIT_INTERRUPTED
from fanout_cli.commands.run_commands import (
    JsonOption,
    LocalOption,
    StackOption,
    StateOption,
    command,
)
from fanout_cli.probes import bring_probe, prober, start_probe, watch_probe
from fanout_cli.runs.progress import dump
from fanout_cli.runs.results import EXIT_FAILED, EXIT_INVALID_REQUEST
from fanout_cli.runs.run_ids import new_run_id
from fanout_cli.stacks import find_stack
from fanout_cli.terminal import Terminal

REFUSED = ("InvalidRequest", "AccessDenied")


def probe(
    path: Annotated[str, typer.Option(help="Directory of the file system in which the probe makes its own")] = "/",
    budget_bytes: Annotated[str, typer.Option(help="Bytes written and read at most, for example 1 GiB")] = "4 GiB",
    budget_seconds: Annotated[float, typer.Option(help="Seconds within which the experiments end")] = 600.0,
    max_functions: Annotated[int | None, typer.Option(help="Functions at once; default: 8, or the stack's")] = None,
    second: Annotated[bool, typer.Option("--second", help="Probe the second file system")] = False,
    stack: StackOption = None,
    local: LocalOption = False,
    name: Annotated[str, typer.Option(help="The probe's id; default: probe-, and the time")] = "",
    output: Annotated[Path | None, typer.Option(help="Directory for the result; default: fanout-PROBE")] = None,
    json_output: JsonOption = False,
    state: StateOption = None,
) -> None:
    """Measure a file system: what it lets functions write, read and create; plans of transfers use the result.

    Exit status: 0 measured, 1 failed or in part, 2 refused.
    """
    console = Terminal(stderr=True)
    request: dict[str, Any] = {"path": path, "budget_bytes": budget_bytes, "budget_seconds": budget_seconds}
    if max_functions is not None:
        request["max_functions"] = max_functions
    with command(console):
        found = prober(find_stack(stack, local, state), second=second)
        probe_id = start_probe(found, request, name or new_run_id("probe"))
        console.print(f"{probe_id} measures; Ctrl-C leaves it going", markup=False, highlight=False)
        try:
            described = watch_probe(found, probe_id, console)
        except KeyboardInterrupt:
            console.print(f"{probe_id} goes on; its result: s3://{found.work_bucket}/runs/{probe_id}/probe.json")
            raise typer.Exit(EXIT_INTERRUPTED) from None
        paths = bring_probe(found, probe_id, output or Path(f"fanout-{probe_id}"))
    status = _show(probe_id, described, paths, console, json_output=json_output)
    raise typer.Exit(status)


def _show(
    probe_id: str, described: Mapping[str, Any], paths: Mapping[str, str], console: Console, *, json_output: bool
) -> int:
    """Print what came of the probe; returns the exit status."""
    error = None
    if described["status"] != "SUCCEEDED":
        name = described.get("error") or described["status"]
        error = {"name": name, "message": cause_message(described.get("cause") or "")}
        console.print(f"{name}: {error['message']}", style="red", markup=False, highlight=False, soft_wrap=True)
    document = json.loads(Path(paths["result"]).read_bytes()) if "result" in paths else {}
    if json_output:
        answer = {
            "probe_id": probe_id,
            "status": described["status"],
            "error": error,
            "calibration": document.get("calibration"),
            "paths": {key: paths.get(key) for key in ("result", "page")},
        }
        sys.stdout.write(dump(answer) + "\n")
    for what in paths.values():
        console.print(what, markup=False, highlight=False, soft_wrap=True)
    if error is None:
        return 0
    return EXIT_INVALID_REQUEST if error["name"] in REFUSED else EXIT_FAILED


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command()(probe)
