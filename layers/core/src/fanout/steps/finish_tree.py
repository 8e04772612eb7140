"""FinishTree: what can be done only when every file is in its place."""

from __future__ import annotations

from msgspec.structs import replace

from fanout.domain import ledger_keys as keys
from fanout.domain.errors import Transient
from fanout.domain.rows import Json
from fanout.steps.assemble_big_files import assemble_big_files
from fanout.steps.context import Context
from fanout.steps.finish_directories import finish_directories
from fanout.steps.link_names import link_names


def finish_tree(context: Context) -> Json:
    """Put big files together, link further names, set the attributes of the directories, and remove what was
    staged. Also after a run broke off, so that nothing half-written stays.

    Returns ``done``: false where the time was up, and another task goes on from the ledger.
    Raises ``Transient`` if nothing at all could be finished in the time of a task.
    """
    if not context.ledger.has(keys.phase_key("finish")):
        context.begin("finish")
    plan = context.ledger.read_plan()
    stop_at = context.stop_at

    def out_of_time() -> bool:
        return context.clock.now() > stop_at

    files, done = assemble_big_files(context, plan, out_of_time)
    names = directories = 0
    if done:
        names, done = link_names(plan, context, out_of_time)
    if done:
        directories, done = finish_directories(context, context.destination(plan), out_of_time)
    if done:
        left = list(context.destination(plan).finish())
        for run_id in plan.resumes:  # those that were stopped left what they had staged
            left += context.destination(replace(plan, run_id=run_id)).finish()
        if left:
            context.ledger.write_json(keys.note_key("finish"), left)
        if plan.request.between_mounts:
            context.ledger.staged().remove("")
    elif not files + names + directories:
        raise Transient("nothing could be finished in the time of a function")
    return {"done": done, "big_files": files, "names": names, "directory_files": directories}
