"""Lambda handler of the states FinishTree, RestoreObjects and PublishVersion."""

from __future__ import annotations

from typing import Any

from fanout.finishing.finish_tree import finish_tree, unfinished
from fanout.model.document import Json
from fanout.runtime.events import deletes_later, has_broken_off, is_to_publish, restores_of, round_mapped
from fanout.runtime.handlers import handle, handle_in_window, not_done
from fanout.work.context import Context


def handler(event: Json, context: Any) -> Json:
    """Finish the destination; before that, have S3 restore what lies in an archive; after that, publish it."""
    if is_to_publish(event):
        return _publish(event, context)
    shards = restores_of(event)
    if shards is not None:
        return _restore(event, shards, context)

    def finish(step: Context) -> Json:
        return finish_tree(step, deletes=deletes_later(event), mapped=round_mapped(event))

    return handle_in_window("FinishTree", event, context, finish, lambda _: unfinished(round_mapped(event)))


def _publish(event: Json, context: Any) -> Json:
    from fanout.publishing.publish_version import publish_version

    def publish(step: Context) -> Json:
        return publish_version(step, broken=has_broken_off(event))

    return handle_in_window("PublishVersion", event, context, publish, not_done)


def _restore(event: Json, shards: Json, context: Any) -> Json:
    from fanout.restoring.restore_objects import restore_objects

    found = handle("RestoreObjects", event, context, lambda step: restore_objects(shards["restores"], step))
    return {**shards, "paced": shards["paced"] and not shards["restores"], **found}
