"""SummariseProbe: probe.json and its page, and the newest result where the plans of transfers look for it."""

from __future__ import annotations

from typing import Any

from fanout.ledger import probe_keys as keys
from fanout.model.document import Json
from fanout.model.run_error import run_error
from fanout.probe.open_probe import read_probe_plan
from fanout.probe.result import FAILED, FAILED_EXPERIMENTS, SUCCEEDED, probe_document
from fanout.work.context import Context


def summarise_probe(context: Context, caught: dict[str, Any]) -> Json:
    """Write what was found, also of a probe that broke off; ``caught`` is what broke it off, or empty.

    A result becomes the newest of its file system where it has a calibration and nothing failed.
    """
    # Here, because no other function of a probe renders anything.
    from fanout.report.probe_page import render_probe

    ledger = context.ledger
    plan = read_probe_plan(ledger)
    found = run_error(caught) if caught else None
    error = {"name": found.name, "message": found.message} if found else None
    rows = [ledger.read_json(key) for key in ledger.keys(keys.SAMPLES)]
    document = probe_document(plan, rows, error, context.clock.now())
    ledger.write_json(keys.RESULT, document)
    ledger.write_text(keys.PAGE, render_probe(document))
    if document["status"] == SUCCEEDED and document["calibration"] is not None:
        ledger.of_file_system(plan.file_system).write_json(keys.LATEST, document)
    return {"status": document["status"], **_end(document)}


def _end(document: Json) -> Json:
    """How the execution ends, where it does not succeed."""
    if document["status"] == FAILED:
        return {"error": document["error"]["name"], "cause": document["error"]["message"]}
    if document["status"] == FAILED_EXPERIMENTS:
        names = [row["name"] for row in document["experiments"] if row["problems"]]
        first = next(problem for row in document["experiments"] for problem in row["problems"])
        return {"error": "FailedExperiments", "cause": f"{', '.join(names)}: {first['message']}"}
    return {"error": "", "cause": ""}
