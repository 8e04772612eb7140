"""Bringing a run's report from the work bucket into a directory."""

from __future__ import annotations

import json
from pathlib import Path

from fanout.deleting.deletions import deleted_entries
from fanout.ledger.keys import FAILURES, REPORT, SUMMARY
from fanout.ledger.ledger import Ledger
from fanout.ledger.run_places import run_prefix
from fanout.model.errors import InvalidRequest, NotFound
from fanout_cli.command_error import CommandError
from fanout_cli.runs.advice import step_after_stop
from fanout_cli.runs.runs import describe_run
from fanout_cli.runs.work_bucket import BucketStore, document_in
from fanout_cli.stacks import Stack


def bring_report(stack: Stack, run_id: str, directory: Path) -> dict[str, str]:
    """Download the summary, the failures and the page, and write the names that a sync deleted; returns their paths.

    Raises ``CommandError`` that says why there is no report.
    """
    store = BucketStore(stack.client("s3"), stack.work_bucket)
    try:
        prefix = run_prefix(run_id)
        summary = store.get(prefix + SUMMARY)
    except InvalidRequest as error:
        raise CommandError(f"{run_id[:80]!r} is not a run; `fanout list {stack.option}` shows the runs") from error
    except NotFound as error:
        raise CommandError(_why_none(stack, run_id)) from error
    directory.mkdir(parents=True, exist_ok=True)
    paths = {"summary": directory / SUMMARY}
    paths["summary"].write_bytes(summary)
    for name, key in (("failures", str(FAILURES)), ("report", str(REPORT))):
        paths[name] = directory / key
        paths[name].write_bytes(store.get(prefix + key))
    number = 2
    for key in store.list(f"{prefix}failures-"):
        (directory / f"failures-{number}.jsonl").write_bytes(store.get(key))
        number += 1
    if deleted := write_deleted(summary, Ledger(store, run_id), directory):
        paths["deleted"] = deleted
    return {name: str(path) for name, path in paths.items()}


def write_deleted(summary: bytes, ledger: Ledger, directory: Path) -> Path | None:
    """Write the entries that a run deleted into ``deleted.jsonl``, a row each; ``None`` if it deleted none.

    Raises ``LedgerBroken``.
    """
    if not document_in(summary, SUMMARY)["totals"]["deleted"]["entries"]:
        return None
    path = directory / "deleted.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for one in deleted_entries(ledger):
            file.write(json.dumps({"path": one.path, "kind": one.kind, "size": one.size}) + "\n")
    return path


def _why_none(stack: Stack, run_id: str) -> str:
    status = describe_run(stack, run_id)["status"]
    if status == "RUNNING":
        return f"{run_id} still runs; follow it: {stack.command('watch', run_id)}"
    if status == "ABORTED":
        step = step_after_stop(stack, run_id)
        return f"{run_id} was stopped and has no report; {step.text}: {step.command(run_id)} {stack.option}"
    return (
        f"{run_id} has no report: it ended before it had a plan, or its ledger has expired; "
        f"what it said: {stack.command('watch', run_id)}"
    )
