"""FinishTree: what can be done only when every file is in its place."""

from __future__ import annotations

from fanout.finishing.assemble_big_files import assemble_big_files
from fanout.finishing.finish_directories import finish_directories
from fanout.finishing.link_names import link_names
from fanout.finishing.withdrawal import is_finished, withdraw
from fanout.ledger import keys
from fanout.model.document import Json
from fanout.model.errors import Superseded, Transient
from fanout.work.context import Context

_NOTHING_LEFT: Json = {"done": True, "big_files": 0, "names": 0, "directory_files": 0}


def finish_tree(context: Context, *, deletes: bool = False) -> Json:
    """Put big files together, link further names, set the attributes of the directories, and remove what was
    staged. Also after a run broke off, so that nothing half-written stays.

    With it goes the run's right to write, unless it ``deletes`` after this.
    Returns ``done``: false where the time was up, and another task goes on from the ledger.
    Raises ``Transient`` if nothing at all could be finished in the time of a task, and ``Superseded``.
    """
    try:
        return _finish_tree(context, deletes)
    except Superseded:
        if not is_finished(context.ledger):  # by an attempt beside this one
            raise
        return _NOTHING_LEFT


def _finish_tree(context: Context, deletes: bool) -> Json:
    if not context.ledger.has(keys.phase_key("finish")):
        context.begin("finish")
    plan = context.ledger.read_plan()
    if is_finished(context.ledger):
        withdraw(plan, context)
        return _NOTHING_LEFT
    deadline = context.deadline()

    big_files, done = assemble_big_files(context, plan, deadline)
    names = directories = 0
    if done:
        names, done = link_names(plan, context, deadline)
    if done:
        directories, done = finish_directories(context, context.destination(plan), deadline)
    if done:
        if plan.request.between_mounts:
            context.ledger.staged().remove("")
        files = context.destination(plan).file_system
        if not deletes:
            withdraw(plan, context)
        elif files is not None:
            files.clear()
    elif not big_files + names + directories:
        raise Transient("nothing could be finished in the time of a function")
    return {"done": done, "big_files": big_files, "names": names, "directory_files": directories}
