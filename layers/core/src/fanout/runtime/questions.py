"""The handlers of the functions that ``fanout doctor`` and ``fanout selftest`` ask; they answer nothing else.

They are no states: whoever may invoke them plans, lists, copies and deletes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from fanout.flow.events import field
from fanout.model.document import Json
from fanout.model.errors import InvalidRequest
from fanout.runtime.watch import take_no_task_after_a_stall, watched

# By function and by the event's ``step``.
QUESTIONS = {
    "ExamineNetwork": {
        "ExamineNetwork": "fanout.runtime.doctor:examine",
        "RemoveSelftest": "fanout.runtime.selftest_removal:remove_selftest",
    },
    "ExamineTurns": {"ExamineTurns": "fanout.runtime.turns_doctor:examine"},
}


def question_handler_of(function: str) -> Callable[[Json, Any], Json]:
    """The handler of a function that answers questions. Raises ``InvalidRequest`` for anything else."""
    known = QUESTIONS[function]

    def handler(event: Json, lambda_context: Any) -> Json:
        name = field(event, "step")
        take_no_task_after_a_stall()
        with watched(lambda_context, {"state": str(name)}):
            if name not in known:
                raise InvalidRequest(
                    "step", f"{name!r} is no question to {function}", f"allowed are {', '.join(known)}"
                )
            module, _, answer = known[name].partition(":")
            found: Json = getattr(import_module(module), answer)(event)
            return found

    return handler
