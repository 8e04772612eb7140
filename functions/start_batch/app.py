"""Lambda handler of the batches of S3's events; no state calls it, but a queue does."""

from __future__ import annotations

from typing import Any

from fanout.batch.event_batches import batch_run_id
from fanout.batch.start_batch import start_batch
from fanout.model.document import Json
from fanout.runtime.bootstrap import make_executions, settings
from fanout.runtime.events import messages_of
from fanout.runtime.handlers import handle
from fanout.runtime.telemetry import messages_refused


def handler(event: Json, context: Any) -> Json:
    """Start one run for a batch of messages; those that are no events go back, and in the end to the failed."""
    messages, here = messages_of(event), settings()
    answer = handle(
        "StartBatch",
        event,
        context,
        lambda step: start_batch(
            messages,
            here.event_request,
            here.state_machine,
            here.work_bucket,
            here.max_concurrency,
            make_executions(),
            step,
        ),
        run_id=batch_run_id(list(messages)),
    )
    messages_refused(answer["unreadable"])
    return {"batchItemFailures": [{"itemIdentifier": message_id} for message_id in answer["unreadable"]]}
