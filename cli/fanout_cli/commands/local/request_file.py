"""``fanout local REQUEST.json``: one run on the emulator."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fanout_cli.command_error import EXIT_FAILED, EXIT_INTERRUPTED
from fanout_cli.commands.common_options import RequestArgument
from fanout_cli.commands.help import QuickCommand
from fanout_cli.commands.local.emulator_commands import (
    INTERRUPTED,
    EndpointOption,
    LoadOption,
    MountOption,
    ResultOption,
    StateOfRun,
)
from fanout_cli.local.errors import LocalRunError

if TYPE_CHECKING:
    from fanout_cli.runs.results import RunResult
    from fanout_cli.terminal import Terminal


class RequestFile(QuickCommand):
    """The command of a request file; its options have the variables of ``fanout local``."""

    is_not_typed = True


def local(
    request: RequestArgument,
    mount: MountOption = None,
    s3_endpoint: EndpointOption = "",
    s3_load: LoadOption = None,
    s3_save: Annotated[
        list[str] | None, typer.Option(help="s3://bucket/prefix/=DIRECTORY is downloaded after; may be repeated")
    ] = None,
    output: Annotated[
        Path | None, typer.Option(help="Where the run's ledger and report go; default: below the state")
    ] = None,
    json_output: ResultOption = False,
    state: StateOfRun = None,
) -> None:
    """Run one request on this machine through the state machine.

    Exit status: docs/reference/commands.md; 130 after Ctrl-C.
    """
    from fanout.model.errors import AccessDenied, InvalidRequest
    from fanout_cli.runs.ending import say_result
    from fanout_cli.runs.results import refused
    from fanout_cli.runs.work_bucket import dump
    from fanout_cli.terminal import Terminal

    console = Terminal(stderr=True)
    try:
        result = _run_local(request, mount, s3_endpoint, s3_load, s3_save, output, state, console)
    except InvalidRequest as error:
        result = refused(error)
        say_result(result, console)
    except (LocalRunError, AccessDenied) as error:
        console.say_error(error)
        raise typer.Exit(EXIT_FAILED) from error
    except KeyboardInterrupt:
        console.print(INTERRUPTED, soft_wrap=True)
        raise typer.Exit(EXIT_INTERRUPTED) from None
    if json_output:
        sys.stdout.write(dump(result.document()) + "\n")
    raise typer.Exit(result.exit_status)


def _run_local(
    request: Path,
    mount: list[str] | None,
    s3_endpoint: str,
    s3_load: list[str] | None,
    s3_save: list[str] | None,
    output: Path | None,
    state: Path | None,
    console: Terminal,
) -> RunResult:
    from fanout.request.parse import parse_request
    from fanout_cli.arguments import parse_load, parse_mounts, parse_save, read_request
    from fanout_cli.local.paths import LocalPaths
    from fanout_cli.runs.local_run import LocalOptions, local_runs

    document = read_request(request)
    paths = LocalPaths.find(state=state)
    mounts = parse_mounts(mount or [], paths.state / "mount")
    if not (isinstance(document, dict) and document.get("resume_from")):  # the earlier run's request has the rest
        parse_request(document, tuple(mounts), sys.maxsize)
    options = LocalOptions(
        mounts=mounts,
        s3_endpoint=s3_endpoint,
        loads=[parse_load(text) for text in s3_load or []],
        saves=[parse_save(text) for text in s3_save or []],
        output=output,
    )
    with local_runs(options, console, state) as runs:
        return runs.run(document)
