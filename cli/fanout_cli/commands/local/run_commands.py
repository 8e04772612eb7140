"""The commands about runs of this machine's ledger: retry, watch, stop, report, entries, certificate."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from fanout_cli.command_error import EXIT_FAILED, EXIT_INTERRUPTED
from fanout_cli.commands.common_options import JsonOption
from fanout_cli.commands.entries_command import EntriesJson, MostOption, OutcomeOption, PathOption
from fanout_cli.commands.local.options import (
    NEWEST,
    KeyOption,
    NameOption,
    RunOfLedger,
    WhereHere,
    at_a_ledger,
    here_command,
    options_of,
)


@at_a_ledger
def retry(
    run: RunOfLedger = None,
    again: Annotated[bool, typer.Option("--again", help="List again: start the stored request of a copy too")] = False,
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="FIELD=VALUE", help="Start the stored request with another value; repeatable"),
    ] = None,
    where: WhereHere = NEWEST,
    name: NameOption = "",
    signing_key: KeyOption = "",
    json_output: JsonOption = False,
) -> None:
    """Resume a run of this machine: a copy from its listing, any other from its stored request."""
    with here_command() as console:
        from fanout_cli.here.carry_out import carry_out
        from fanout_cli.here.retry import retried

        given = {"name": name, "json_output": json_output, "signing_key": signing_key}
        options = options_of({**where._asdict(), **given})
        document, asked = retried(options.ledger, run, changes or (), again=again)
        raise typer.Exit(carry_out(document, asked, "retry", options, console))


@at_a_ledger
def watch(run: RunOfLedger = None, where: WhereHere = NEWEST, json_output: JsonOption = False) -> None:
    """Follow a run of another process until it ends; Ctrl-C leaves it running."""
    with here_command() as console:
        from fanout_cli.here.result import say_report
        from fanout_cli.here.watching import watch_here

        ledger = where.find()
        run_id = ledger.found(run)
        try:
            watch_here(ledger, run_id, console, in_lines=json_output)
        except KeyboardInterrupt:
            words = f"fanout local watch {run_id}{ledger.words}"
            console.print(f"{run_id} was not stopped; come back: {words}", highlight=False, soft_wrap=True)
            raise typer.Exit(EXIT_INTERRUPTED) from None
        raise typer.Exit(say_report(ledger, run_id, json_output, console, in_lines=json_output).exit_status)


@at_a_ledger
def stop(run: RunOfLedger = None, where: WhereHere = NEWEST) -> None:
    """Stop a run of another process, as Ctrl-C does there. Copied files stay; prints how to resume it."""
    with here_command() as console:
        from fanout_cli.here.result import say_plainly, say_stopped
        from fanout_cli.here.stopping import ask_to_stop

        ledger = where.find()
        run_id = ledger.found(run)
        if ask_to_stop(ledger, run_id):
            say_stopped(ledger, run_id, lambda text: say_plainly(console, text))
        else:
            say_plainly(console, f"{run_id} had ended already; its end: fanout local report {run_id}{ledger.words}")


@at_a_ledger
def report(
    run: RunOfLedger = None,
    open_page: Annotated[bool, typer.Option("--open", help="Open the page in a browser")] = False,
    where: WhereHere = NEWEST,
    json_output: JsonOption = False,
) -> None:
    """Print the verdict of a run of this machine, and the path of its report."""
    with here_command() as console:
        from fanout_cli.here.result import say_report

        result = say_report(where.find(), run, json_output, console)
        if open_page and result.paths.get("report"):
            webbrowser.open(Path(str(result.paths["report"])).as_uri())
        raise typer.Exit(result.exit_status)


@at_a_ledger
def entries(
    run: RunOfLedger = None,
    outcome: OutcomeOption = None,
    path: PathOption = None,
    limit: MostOption = None,
    where: WhereHere = NEWEST,
    json_output: EntriesJson = False,
) -> None:
    """Print what became of each entry of a run of this machine, one line each; tabs separate the columns."""
    with here_command() as console:
        from fanout_cli.commands.entries_command import print_entries

        ledger = where.find()
        run_id = ledger.found(run)
        if ledger.mode(run_id) is None:
            console.print(f"{run_id} has no plan, so it has no entries", soft_wrap=True)
            raise typer.Exit(EXIT_FAILED)
        print_entries(ledger.of_run(run_id), (outcome, path, limit), json_output, console)


@at_a_ledger
def certificate(
    run: RunOfLedger = None,
    output: Annotated[
        Path | None, typer.Option(help="The file to write; default: certificate-RUN.json", show_default=False)
    ] = None,
    key_output: Annotated[
        Path | None,
        typer.Option(help="Write the public key that signed it too, for who checks it", show_default=False),
    ] = None,
    where: WhereHere = NEWEST,
) -> None:
    """Write the certificate of a run to a file; print how to check it."""
    with here_command() as console:
        from fanout_cli.here.certificates import write_certificate
        from fanout_cli.here.result import say_plainly

        ledger = where.find()
        for line in write_certificate(ledger, ledger.found(run), output, key_output):
            say_plainly(console, line)
