"""The command ``probe``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from fanout_cli.command_error import EXIT_INTERRUPTED
from fanout_cli.commands.common_options import HERE, JsonOption, at_a_stack, command
from fanout_cli.stacks import Where


@at_a_stack
def probe(
    path: Annotated[str, typer.Option(help="Directory of the file system in which the probe makes its own")] = "/",
    budget_bytes: Annotated[str, typer.Option(help="Bytes written and read at most, for example 1 GiB")] = "4 GiB",
    budget_seconds: Annotated[float, typer.Option(help="Seconds within which the experiments end")] = 600.0,
    max_functions: Annotated[int | None, typer.Option(help="Functions at once; default: 8, or the stack's")] = None,
    second: Annotated[bool, typer.Option("--second", help="Probe the second file system")] = False,
    where: Where = HERE,
    name: Annotated[str, typer.Option(help="The probe's id; default: probe-, and the time")] = "",
    output: Annotated[Path | None, typer.Option(help="Directory for the result; default: fanout-PROBE")] = None,
    json_output: JsonOption = False,
) -> None:
    """Measure a file system: what it lets functions write, read and create; plans of transfers use the result.

    Exit status: 0 measured, 1 failed or in part, 2 refused.
    """
    request: dict[str, Any] = {"path": path, "budget_bytes": budget_bytes, "budget_seconds": budget_seconds}
    if max_functions is not None:
        request["max_functions"] = max_functions
    with command() as console:
        from fanout_cli.probes import bring_probe, prober, show_probe, watch_probe
        from fanout_cli.runs.run_ids import new_run_id
        from fanout_cli.runs.runs import start_run

        found = prober(where.find(), second=second)
        probe_id = start_run(found, request, name or new_run_id("probe"))
        console.print(f"{probe_id} measures; Ctrl-C leaves it going", markup=False, highlight=False)
        try:
            described = watch_probe(found, probe_id, console)
        except KeyboardInterrupt:
            console.print(f"{probe_id} goes on; its result: s3://{found.work_bucket}/runs/{probe_id}/probe.json")
            raise typer.Exit(EXIT_INTERRUPTED) from None
        paths = bring_probe(found, probe_id, output or Path(f"fanout-{probe_id}"))
        raise typer.Exit(show_probe(probe_id, described, paths, console, json_output=json_output))


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command()(probe)
