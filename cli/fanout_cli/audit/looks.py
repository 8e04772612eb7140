"""The look at a tree that is audited, wherever it lies, and its findings for people."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

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
from fanout_cli.progress.watch import watch_run
from fanout_cli.runs.run_ids import new_run_id
from fanout_cli.runs.runs import result_of_run, start_run
from fanout_cli.runs.work_bucket import BucketStore
from fanout_cli.stacks import Where, aws_client_maker, local_or_none
from fanout_cli.terminal import Terminal


def look(tree: str, to: str, heads: int, examples: int, where: Where, console: Terminal) -> Audit:
    """Look at a tree. Raises ``InvalidRequest`` for one that nothing here can look at."""
    if tree.startswith("efs://"):
        return _of_file_system(tree, to, examples, where, console)
    if tree.startswith("s3://"):
        return _of_bucket(tree, heads, examples, where)
    if Path(tree).is_dir():
        looked = Audit(is_keyed=False, prefix_bytes=_prefix_bytes(to), examples=examples)
        audit_directory(looked, Path(tree))
        return looked
    remedy = "s3://bucket/prefix/, efs://MOUNT/path, or a directory of this machine"
    raise InvalidRequest("TREE", f"{tree!r} is none of the trees that can be audited", remedy)


def _prefix_bytes(to: str) -> int:
    return len(_location("--to", to).prefix.encode()) if to else 0


def _location(field: str, text: str) -> S3Location:
    location = parse_location(field, text, ()) if text.startswith("s3://") else None
    if not isinstance(location, S3Location):
        raise InvalidRequest(field, f"{text!r} is not in S3", "s3://bucket/prefix/")
    return location


def _of_bucket(tree: str, heads: int, examples: int, where: Where) -> Audit:
    """A prefix, listed with the person's own credentials."""
    location = _location("TREE", tree)
    here = local_or_none(*where)
    s3 = (here.client if here else aws_client_maker())("s3")
    looked = Audit(is_keyed=True, examples=examples)
    audit_bucket(looked, s3, location.bucket, location.prefix, heads)
    return looked


def _of_file_system(tree: str, to: str, examples: int, where: Where, console: Terminal) -> Audit:
    """A file system that only functions see: the stack lists it as a plan, whose ledger is read."""
    if not to:
        raise InvalidRequest("DESTINATION", "is missing", "say where the tree is to go: s3://bucket/prefix/")
    request = {"source": tree, "destination": to, "mode": "plan", "compare": "always"}
    check_request(request)
    found = where.find()
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


def show(document: Mapping[str, Any], out: Terminal) -> None:
    """Print the findings, and what the tree costs to store."""
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
