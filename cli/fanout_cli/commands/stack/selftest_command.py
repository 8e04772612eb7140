"""The command ``selftest``."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from fanout_cli.command_error import EXIT_FAILED, EXIT_INTERRUPTED, CommandError
from fanout_cli.commands.common_options import HERE, JsonOption, at_a_stack, command
from fanout_cli.stacks import Where

BUDGET_DOLLARS = 20.0
NO_DATASYNC = (
    "--with-datasync is not supported: the stack has no DataSync locations, no task and no role for them, and making "
    "those was never shown to work; make them by hand as docs/operate/first-deployment.md says, "
    "and compare with selftest.json"
)
_ID = re.compile(r"[0-9a-z]{1,30}")


@at_a_stack
def selftest(
    where: Where = HERE,
    budget_dollars: Annotated[float, typer.Option(min=0, help="It spends no more, and refuses if it might")] = (
        BUDGET_DOLLARS
    ),
    bucket: Annotated[
        str, typer.Option(help="Bucket that the stack may read and write; default: the first in both parameters")
    ] = "",
    size: Annotated[str, typer.Option(help="standard: 20 GiB and 100,000 files; small: for a first look")] = "standard",
    clean_id: Annotated[str, typer.Option("--clean", metavar="ID", help="Only remove what that self-test left")] = "",
    with_datasync: Annotated[bool, typer.Option("--with-datasync", help="Refused, with the way by hand")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Spend without asking")] = False,
    output: Annotated[Path | None, typer.Option(help="Directory for the result; default: fanout-selftest-ID")] = None,
    json_output: JsonOption = False,
) -> None:
    """Prove a deployment by real transfers, each with its forecast, and remove what they made.

    Exit status: 0 as expected, 1 something was wrong, 2 refused or not confirmed, 130 Ctrl-C.
    """
    with command() as console:
        from fanout_cli.runs.work_bucket import dump
        from fanout_cli.selftest.cases import SelftestPlace
        from fanout_cli.selftest.data_sizes import PROFILES
        from fanout_cli.selftest.whole import SelftestOptions, bucket_of, clean, new_id, run_selftest

        def say(text: str) -> None:
            console.print(text, markup=False, highlight=False, soft_wrap=True)

        def confirm(text: str) -> bool:
            if yes:
                say(text)
            return yes or typer.confirm(text, err=True)

        if with_datasync:
            raise CommandError(NO_DATASYNC)
        if size not in PROFILES:
            raise CommandError(f"--size {size!r} is not known; take {' or '.join(PROFILES)}")
        if clean_id and not _ID.fullmatch(clean_id):
            raise CommandError(f"{clean_id[:80]!r} is not an id of a self-test; the directory of its result names it")
        found = where.find()
        place = SelftestPlace(bucket_of(found, bucket), clean_id or new_id())
        if clean_id:
            left = clean(found, place)
            for one in left:
                say(one)
            raise typer.Exit(EXIT_FAILED if left else 0)
        directory = output or Path(place.name)
        answer = run_selftest(found, SelftestOptions(place, size, budget_dollars, directory, confirm), say)
        if answer is None:
            raise typer.Exit(2)
        document, paths = answer
        if json_output:
            sys.stdout.write(dump(document) + "\n")
        raise typer.Exit(_say(document, paths, say))


def _say(document: dict[str, Any], paths: dict[str, str], say: Any) -> int:
    """Print the verdict; returns the exit status."""
    for one in document["wrong"]:
        say(one)
    say(f"{document['status']}: {paths['page']}")
    if document["status"] == "INTERRUPTED":
        return EXIT_INTERRUPTED
    return 0 if document["status"] == "SUCCEEDED" else EXIT_FAILED


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command()(selftest)
