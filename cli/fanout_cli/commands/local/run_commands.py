"""``fanout local retry``, ``report`` and ``entries``: the runs of this machine's ledger."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from fanout_cli.command_error import EXIT_FAILED
from fanout_cli.commands.common_options import JsonOption
from fanout_cli.commands.entries_command import EntriesJson, MostOption, OutcomeOption, PathOption
from fanout_cli.commands.local.options import LedgerOption, NameOption, RunOfLedger, S3Option, here_command


def retry(
    run: RunOfLedger = None,
    again: Annotated[bool, typer.Option("--again", help="List again: start the stored request of a copy too")] = False,
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="FIELD=VALUE", help="Start the stored request with another value; repeatable"),
    ] = None,
    s3_endpoint: S3Option = "",
    state: LedgerOption = "",
    name: NameOption = "",
    json_output: JsonOption = False,
) -> None:
    """Resume a run of this machine: a copy from its listing, any other from its stored request."""
    with here_command() as console:
        from fanout_cli.here.carry_out import HereOptions, carry_out
        from fanout_cli.here.ledger import HereLedger
        from fanout_cli.here.retry import retried

        options = HereOptions(HereLedger(state, s3_endpoint), s3_endpoint, name, json_output)
        document, ends = retried(options.ledger, run, changes or (), again=again)
        raise typer.Exit(carry_out(document, ends, "retry", options, console))


def report(
    run: RunOfLedger = None,
    open_page: Annotated[bool, typer.Option("--open", help="Open the page in a browser")] = False,
    state: LedgerOption = "",
    json_output: JsonOption = False,
) -> None:
    """Print the verdict of a run of this machine, and the path of its report."""
    with here_command() as console:
        from fanout_cli.here.ledger import HereLedger
        from fanout_cli.here.result import say_report

        result = say_report(HereLedger(state), run, json_output, console)
        if open_page and result.paths.get("report"):
            webbrowser.open(Path(str(result.paths["report"])).as_uri())
        raise typer.Exit(result.exit_status)


def entries(
    run: RunOfLedger = None,
    outcome: OutcomeOption = None,
    path: PathOption = None,
    limit: MostOption = None,
    state: LedgerOption = "",
    json_output: EntriesJson = False,
) -> None:
    """Print what became of each entry of a run of this machine, one line each; tabs separate the columns."""
    with here_command() as console:
        from fanout_cli.commands.entries_command import print_entries
        from fanout_cli.here.ledger import HereLedger

        ledger = HereLedger(state)
        run_id = ledger.found(run)
        if ledger.mode(run_id) is None:
            console.print(f"{run_id} has no plan, so it has no entries", soft_wrap=True)
            raise typer.Exit(EXIT_FAILED)
        print_entries(ledger.of_run(run_id), (outcome, path, limit), json_output, console)
