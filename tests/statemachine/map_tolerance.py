"""What moto leaves out of a Distributed Map: too many failed children fail it.

Moto counts the failed children and reads the tolerance, and then lets every Map succeed.
Without this addition a failure in a listing would look like an empty source.
"""

from __future__ import annotations

from typing import cast

import pytest
from moto.stepfunctions.parser.api import HistoryEventType, MapRunFailedEventDetails
from moto.stepfunctions.parser.asl.component.common.error_name.failure_event import FailureEvent, FailureEventException
from moto.stepfunctions.parser.asl.component.common.error_name.states_error_name import StatesErrorName
from moto.stepfunctions.parser.asl.component.common.error_name.states_error_name_type import StatesErrorNameType
from moto.stepfunctions.parser.asl.component.state.exec.state_map.iteration.itemprocessor import (
    distributed_item_processor_worker as moto_worker,
)
from moto.stepfunctions.parser.asl.component.state.exec.state_map.iteration.job import Job
from moto.stepfunctions.parser.asl.eval.environment import Environment
from moto.stepfunctions.parser.asl.eval.event.event_detail import EventDetails

EXCEEDED = "States.ExceedToleratedFailureThreshold"
CAUSE = "The specified tolerated failure threshold was exceeded"

Worker = moto_worker.DistributedItemProcessorWorker


def enforce(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails a Map, as AWS does, once the failed share of its children is over the tolerance (0 if none is set).

    The share is of the children started so far: right for the tolerances 0 and 100, and no other is used.
    """
    moto_eval_job = Worker._eval_job

    def eval_job(worker: Worker, env: Environment, job: Job) -> None:
        moto_eval_job(worker, env, job)  # type: ignore[no-untyped-call,unused-ignore]
        run = worker._map_run_record
        share = 100 * run.item_counter.failed.get() / run.item_counter.total.get()
        if share > run.tolerated_failure_percentage:
            job.job_output = exceeded(env)

    monkeypatch.setattr(Worker, "_eval_job", eval_job)


def exceeded(env: Environment) -> FailureEventException:
    details = {"mapRunFailedEventDetails": MapRunFailedEventDetails(error=EXCEEDED, cause=CAUSE)}
    return FailureEventException(
        failure_event=FailureEvent(
            env=env,
            error_name=StatesErrorName(typ=StatesErrorNameType.StatesExceedToleratedFailureThreshold),
            event_type=HistoryEventType.MapRunFailed,
            event_details=cast(EventDetails, details),
        )
    )
