"""SummariseProbe: probe.json and its page, and the newest result where the plans of transfers look for it."""

from __future__ import annotations

from typing import Any

from fanout.efs.probe_result import NEWEST_RESULT, PROBE_RESULT, ProbeResult, ProbeStatus
from fanout.ledger import probe_keys as keys
from fanout.model.document import Json
from fanout.model.errors import run_error
from fanout.probe.experiments import PROBE_PLAN
from fanout.probe.open_probe import PHASES
from fanout.probe.result import probe_result
from fanout.probe.samples import samples_key
from fanout.work.context import Context


def summarise_probe(context: Context, caught: dict[str, Any]) -> Json:
    """Read the results, write probe.json and its page, also of a probe that broke off; ``caught`` is why, or empty.

    A result becomes the newest of its file system where it has a calibration and nothing failed.
    """
    # Here, because no other function of a probe renders anything.
    from fanout.report.probe_page import render_probe

    ledger = context.ledger
    plan = ledger.read(PROBE_PLAN)
    samples = [ledger.read(samples_key.at(key)) for key in ledger.keys(keys.SAMPLES)]
    noted = (ledger.find(keys.left_key(phase)) for phase in PHASES)
    notes = [note for one in noted if one is not None for note in one.notes]
    result = probe_result(plan, samples, run_error(caught) if caught else None, context.clock.now(), notes)
    ledger.write(PROBE_RESULT, result)
    ledger.write_text(keys.PAGE, render_probe(result))
    if result.status is ProbeStatus.SUCCEEDED and result.calibration is not None:
        ledger.of_file_system(result.file_system).write(NEWEST_RESULT, result)
    return {"status": result.status.value, **_end(result)}


def _end(result: ProbeResult) -> Json:
    """How the execution ends, where it does not succeed."""
    if result.error is not None:
        return {"error": result.error.name, "cause": result.error.message}
    failed = [experiment for experiment in result.experiments if experiment.problems]
    if failed:
        names = ", ".join(experiment.name for experiment in failed)
        return {"error": "FailedExperiments", "cause": f"{names}: {failed[0].problems[0].message}"}
    return {"error": "", "cause": ""}
