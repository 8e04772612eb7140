"""Lambda handler of the state FinishTree."""

from __future__ import annotations

from typing import Any

from fanout.finishing.finish_tree import finish_tree, unfinished
from fanout.model.document import Json
from fanout.runtime.events import deletes_later, round_mapped
from fanout.runtime.handlers import handle_in_window
from fanout.work.context import Context


def handler(event: Json, context: Any) -> Json:
    """Finish the destination."""

    def finish(step: Context) -> Json:
        return finish_tree(step, deletes=deletes_later(event), mapped=round_mapped(event))

    return handle_in_window("FinishTree", event, context, finish, lambda _: unfinished(round_mapped(event)))
