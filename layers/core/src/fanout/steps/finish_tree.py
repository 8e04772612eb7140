"""FinishTree: what can be done only when every file is in its place."""

from __future__ import annotations

from fanout.domain.entries import Attributes, Entry, Kind
from fanout.domain.errors import ItemError
from fanout.domain.ledger_keys import FAILURES
from fanout.domain.rows import Json
from fanout.steps.assemble_big_files import assemble_big_files
from fanout.steps.context import Context
from fanout.steps.link_names import link_names

DIRECTORY_FAILURES = f"directories/{FAILURES}"


def finish_tree(context: Context) -> Json:
    """Put big files together, link further names, set the attributes of the directories deepest first, and
    remove what was staged. Also after a run broke off, so that nothing half-written stays.

    A directory whose attributes can not be set is a row in the ledger, read by SummariseTransfer.
    """
    context.begin("finish")
    ledger = context.ledger
    plan = ledger.read_plan()
    destination = context.destination(plan)
    assemble_big_files(ledger, context.source(plan), destination)
    linked = link_names(plan, context)
    made: dict[str, Attributes] = {}
    for key in ledger.keys("directories/"):
        if key.endswith(".gz"):
            for row in ledger.read_rows(key):
                made[row["path"]] = _attributes(row)
    failures = []
    for path in sorted(made, key=lambda path: (-path.count("/"), path)):
        try:
            destination.set_attributes(Entry(path, Kind.DIRECTORY), made[path])
        except ItemError as error:
            failures.append({"path": path, "reason": error.reason.value, "message": error.message})
    ledger.write_rows(DIRECTORY_FAILURES, failures)
    destination.finish()
    if plan.request.between_mounts:
        ledger.staged().remove("")
    return {"directories": len(made), "failures": len(failures), "names": linked}


def _attributes(row: Json) -> Attributes:
    return Attributes(row["mode"], row["uid"], row["gid"], row["mtime_ns"], row["atime_ns"])
