"""Lambda handler of the states FinishTree and RestoreObjects."""

from __future__ import annotations

from typing import Any

from fanout.finishing.finish_tree import finish_tree, unfinished
from fanout.model.document import Json
from fanout.runtime.events import deletes_later, restores_of, round_mapped
from fanout.runtime.handlers import handle, handle_in_window
from fanout.work.context import Context


def handler(event: Json, context: Any) -> Json:
    """Finish the destination; before that, have S3 restore what lies in an archive."""
    shards = restores_of(event)
    if shards is not None:
        return _restore(event, shards, context)

    def finish(step: Context) -> Json:
        return finish_tree(step, deletes=deletes_later(event), mapped=round_mapped(event))

    return handle_in_window("FinishTree", event, context, finish, lambda _: unfinished(round_mapped(event)))


def _restore(event: Json, shards: Json, context: Any) -> Json:
    from fanout.copying.restore_objects import restore_objects

    found = handle("RestoreObjects", event, context, lambda step: restore_objects(shards["restores"], step))
    return {**shards, "paced": shards["paced"] and not shards["restores"], **found}
