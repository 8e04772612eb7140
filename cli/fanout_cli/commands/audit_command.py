"""The command ``fanout audit``: what a tree would meet in S3 Files, said before it is moved there."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from fanout.ledger.ledger import Ledger
from fanout.model.errors import InvalidRequest
from fanout.model.location import S3Location, parse_location
from fanout.report.text import count, dollars, size
from fanout_cli.arguments import check_request
from fanout_cli.audit.findings import Audit
from fanout_cli.audit.trees import audit_bucket, audit_directory, audit_plan
from fanout_cli.command_error import EXIT_INTERRUPTED, CommandError
from fanout_cli.commands.run_commands import (
    JsonOption,
    LocalOption,
    StackOption,
    StateOption,
    command,
)
from fanout_cli.runs.progress import BucketStore, dump
from fanout_cli.runs.results import EXIT_FAILED
from fanout_cli.runs.run_ids import new_run_id
from fanout_cli.runs.runs import result_of_run, start_run
from fanout_cli.runs.watch import watch_run
from fanout_cli.stacks import aws_client_maker, find_stack
from fanout_cli.terminal import Terminal


def audit(
    tree: Annotated[
        str, typer.Argument(metavar="TREE", help="s3://bucket/prefix/, efs://MOUNT/path, or a directory here")
    ],
    to: Annotated[str, typer.Option(help="Of a file system: where it is to go, s3://bucket/prefix/")] = "",
    heads: Annotated[int, typer.Option(min=0, help="Objects, chosen by chance, that are asked for metadata")] = 100,
    examples: Annotated[int, typer.Option(min=0, max=1000, help="Paths shown of each finding")] = 5,
    stack: StackOption = None,
    local: LocalOption = False,
    json_output: JsonOption = False,
    state: StateOption = None,
) -> None:
    """Say what of a tree S3 Files would not show, refuse, change or make dearer. Writes nothing at either end.

    Exit status: 0 nothing found that is lost or changed, 1 something is.
    """
    console = Terminal(stderr=True)
    with command(console):
        if tree.startswith("efs://"):
            looked = _of_file_system(tree, to, examples, stack, local, state, console)
        elif tree.startswith("s3://"):
            looked = _of_bucket(tree, heads, examples, local=local, state=state)
        elif Path(tree).is_dir():
            looked = Audit(is_keyed=False, prefix_bytes=_prefix_bytes(to), examples=examples)
            audit_directory(looked, Path(tree))
        else:
            remedy = "s3://bucket/prefix/, efs://MOUNT/path, or a directory of this machine"
            raise InvalidRequest("TREE", f"{tree!r} is none of the trees that can be audited", remedy)
    document = {"tree": tree, **looked.document()}
    if json_output:
        sys.stdout.write(dump(document) + "\n")
    else:
        _show(document, Terminal())
    raise typer.Exit(EXIT_FAILED if any(row["effect"] != "costlier" for row in document["findings"]) else 0)


def _prefix_bytes(to: str) -> int:
    return len(_location("--to", to).prefix.encode()) if to else 0


def _location(field: str, text: str) -> S3Location:
    location = parse_location(field, text, ()) if text.startswith("s3://") else None
    if not isinstance(location, S3Location):
        raise InvalidRequest(field, f"{text!r} is not in S3", "s3://bucket/prefix/")
    return location


def _of_bucket(tree: str, heads: int, examples: int, *, local: bool, state: Path | None) -> Audit:
    """A prefix, listed with the person's own credentials."""
    location = _location("TREE", tree)
    s3 = find_stack(None, local, state).client("s3") if local else aws_client_maker()("s3")
    looked = Audit(is_keyed=True, examples=examples)
    audit_bucket(looked, s3, location.bucket, location.prefix, heads)
    return looked


def _of_file_system(
    tree: str, to: str, examples: int, stack: str | None, local: bool, state: Path | None, console: Terminal
) -> Audit:
    """A file system that only functions see: the stack lists it as a plan, whose ledger is read."""
    if not to:
        raise InvalidRequest("--to", "is missing", "say where the tree is to go: --to s3://bucket/prefix/")
    request = {"source": tree, "destination": to, "mode": "plan", "compare": "always"}
    check_request(request)
    found = find_stack(stack, local, state)
    run_id = start_run(found, request, new_run_id("audit"))
    console.print(f"{run_id} lists the tree; Ctrl-C leaves it going", soft_wrap=True)
    try:
        described = watch_run(found, run_id, console)
    except KeyboardInterrupt:
        console.print(f"{run_id} goes on; it writes nothing at either end", soft_wrap=True)
        raise typer.Exit(EXIT_INTERRUPTED) from None
    result = result_of_run(found, run_id, described)
    if not result.is_counted or result.skipped:
        raise CommandError(f"the tree could not be listed; what the run says: {found.command('watch', run_id)}")
    looked = Audit(is_keyed=False, prefix_bytes=_prefix_bytes(to), examples=examples)
    audit_plan(looked, Ledger(BucketStore(found.client("s3"), found.work_bucket), run_id))
    return looked


def _show(document: Mapping[str, Any], out: Terminal) -> None:
    out.print(f"{document['tree']}: {count(document['entries'])} entries, {size(document['bytes'])}")
    if not document["findings"]:
        out.print("Nothing that S3 Files would hide, refuse, change or make dearer was found.")
    table = Table("effect", "entries", "bytes", "found", "what to do")
    for row in document["findings"]:
        of_sample = f" of {count(document['sampled_objects'])} asked" if row["of_sample"] else ""
        table.add_row(row["effect"], count(row["entries"]) + of_sample, size(row["bytes"]), row["words"], row["remedy"])
    if document["findings"]:
        out.print(table)
    for row in document["findings"]:
        for path in row["examples"]:
            out.print(f"{row['finding']}: {path}", soft_wrap=True)
    month = document["dollars_a_month"]
    out.print(
        f"Storage a month in us-east-1: EFS Standard {dollars(month['efs_standard'])}, S3 Standard"
        f" {dollars(month['s3_standard'])}, S3 Files up to {dollars(month['s3_files_all_small_in_use'])} while all its"
        " small files are in use",
        soft_wrap=True,
    )


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command()(audit)
