"""The command ``init``: five questions, and their answers as a section of samconfig.toml."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fanout.model.errors import InvalidRequest
from fanout_cli.account import region_named, session_options
from fanout_cli.commands.common_options import command
from fanout_cli.local.paths import LocalPaths
from fanout_cli.setup.answers import Answers, ExistingFileSystem, check, check_section, parameters
from fanout_cli.setup.samconfig import add_section, section

if TYPE_CHECKING:
    from fanout_cli.terminal import Terminal

NIGHTLY = "cron(0 3 * * ? *)"


def init(
    read: Annotated[list[str] | None, typer.Option(help="Bucket that transfers read; may be repeated")] = None,
    write: Annotated[list[str] | None, typer.Option(help="Bucket that transfers write; may be repeated")] = None,
    file_system: Annotated[str, typer.Option(help="An existing EFS file system (fs-...); default: a new one")] = "",
    access_point: Annotated[str, typer.Option(help="Its access point, where it has several")] = "",
    security_group: Annotated[str, typer.Option(help="The functions' group, where it lets several in")] = "",
    schedule: Annotated[str, typer.Option(help=f"When to start a transfer, for example '{NIGHTLY}'")] = "",
    timezone: Annotated[str, typer.Option(help="Time zone of the schedule, for example Europe/Berlin")] = "UTC",
    source: Annotated[str, typer.Option("--from", help="Source of the scheduled transfer")] = "",
    destination: Annotated[str, typer.Option("--to", help="Destination of the scheduled transfer")] = "",
    sync: Annotated[bool, typer.Option(help="The scheduled transfer deletes what the source lacks")] = False,
    max_delete: Annotated[int, typer.Option(help="Most entries that the scheduled sync may delete")] = 1000,
    email: Annotated[str, typer.Option(help="Address that is notified when runs end")] = "",
    production: Annotated[bool, typer.Option("--production/--trial", help="What stays, and how long")] = False,
    computed_checksums: Annotated[bool, typer.Option(help="Runs may have S3 compute checksums, by paid jobs")] = False,
    stack: Annotated[str, typer.Option(help="Name of the stack")] = "fanout",
    config_env: Annotated[str, typer.Option(help="Section to write; default: the stack's name")] = "",
    samconfig: Annotated[Path | None, typer.Option(help="File to write; default: samconfig.toml")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Ask nothing: options and defaults are the answers")] = False,
) -> None:
    """Ask five things and write a section of samconfig.toml. Status: 0, or 2 where an answer cannot be."""
    with command() as console:
        if not yes and not _is_terminal():
            raise InvalidRequest("--yes", "there is no terminal to ask at", "give --yes, and the answers as options")
        name = config_env or stack
        check_section(name)
        answers = Answers(
            tuple(read or ()),
            tuple(write or ()),
            None,
            schedule,
            timezone,
            _request(source, destination, max_delete if sync else None),
            email,
            production,
            computed_checksums,
        )
        if not yes:
            answers, file_system = _asked(answers, file_system)
        if file_system:
            existing = _existing(file_system, access_point, security_group)
            _show(existing, console)
            answers = Answers(**{**vars(answers), "existing": existing})
        check(answers)
        region = region_named()
        partition = "aws-cn" if region.startswith("cn-") else "aws-us-gov" if region.startswith("us-gov-") else "aws"
        file = samconfig or LocalPaths.find().samconfig
        add_section(file, name, section(name, stack, region, list(parameters(answers, partition))))
        console.print(f"{file}: section {name}", soft_wrap=True)
        console.print(f"next: fanout deploy --config-env {name}", soft_wrap=True)


def _is_terminal() -> bool:
    return sys.stdin.isatty()


def _request(source: str, destination: str, max_delete: int | None) -> dict[str, Any]:
    """The request of the schedule; none without an end."""
    if not source and not destination:
        return {}
    document: dict[str, Any] = {"source": source, "destination": destination}
    return document if max_delete is None else document | {"mode": "sync", "delete_guard": {"max_count": max_delete}}


def _asked(given: Answers, file_system: str) -> tuple[Answers, str]:
    """The answers of a person; what was given as an option is the answer that Enter takes."""
    read = _words(typer.prompt("1. Buckets to read, with spaces between", default=" ".join(given.read), err=True))
    write = _words(typer.prompt("   Buckets to write", default=" ".join(given.write), err=True))
    file_system = typer.prompt("2. File system: new, or an id (fs-...)", default=file_system or "new", err=True)
    schedule, request = given.schedule, given.request
    if typer.confirm("3. Start a transfer on a schedule?", default=bool(schedule), err=True):
        schedule = typer.prompt("   When", default=schedule or NIGHTLY, err=True)
        source = typer.prompt("   From", default=request.get("source", ""), err=True)
        destination = typer.prompt("   To", default=request.get("destination", "efs:///"), err=True)
        most = None
        if typer.confirm("   Delete what the source lacks (sync)?", default="mode" in request, err=True):
            most = typer.prompt("   Entries that it may delete at most", default=1000, type=int, err=True)
        request = _request(source, destination, most)
    else:
        schedule, request = "", {}
    email = typer.prompt("4. Address that is notified when runs end; empty for none", default=given.email, err=True)
    production = typer.confirm("5. Production? Otherwise a trial, which keeps little", given.production, err=True)
    others = production, given.computed_checksums
    asked = Answers(read, write, None, schedule, given.time_zone, request, email.strip(), *others)
    return asked, "" if file_system == "new" else file_system


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.replace(",", " ").split())


def _existing(file_system: str, access_point: str, security_group: str) -> ExistingFileSystem:
    from boto3 import Session

    from fanout_cli.setup.look_up import look_up

    return look_up(Session(**session_options()), file_system, access_point, security_group)


def _show(found: ExistingFileSystem, console: Terminal) -> None:
    for what, value in (
        ("access point", found.access_point),
        ("subnets", ", ".join(found.subnets)),
        ("security groups", ", ".join(found.groups)),
        ("user, group", f"{found.user}, {found.group}"),
    ):
        console.print(f"  {what}: {value}", soft_wrap=True)


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command()(init)
