"""Logs, metrics and traces of a function, in one place.

Log lines are event names with fields: state, run, shard, counts, seconds. No name
of an entry and no credential is logged at INFO.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any

from aws_lambda_powertools import Logger, Metrics
from aws_lambda_powertools.metrics import EphemeralMetrics, MetricUnit

from fanout.adapters.aws.xray import traced_by
from fanout.ledger.ledger import Ledger
from fanout.model.document import Json
from fanout.model.errors import FanoutError


@cache
def _logger() -> Logger:
    return Logger()


@cache
def _metrics() -> Metrics:
    return Metrics()


@contextmanager
def _in_trace(state: str, run_id: str) -> Iterator[None]:
    """Send a trace of what is done, where the invocation is traced; one that cannot be sent is only logged."""
    traced, began = traced_by(os.environ), time.time()
    failed: BaseException | None = None
    try:
        yield
    except BaseException as error:
        failed = error
        raise
    finally:
        if traced is not None:
            try:
                traced.send(state, began, time.time(), {"run_id": run_id}, failed)
            except OSError as error:
                _logger().warning("trace_not_sent", extra={"error": type(error).__name__})


@contextmanager
def observed(state: str, run_id: str, lambda_context: Any, **keys: str) -> Iterator[Json]:
    """Log, measure and trace one task. The yielded mapping takes counts that become metrics.

    Logs an error under its class, then raises it unchanged to the state machine.
    """
    logger, metrics = _logger(), _metrics()
    named = {"state": state, "run_id": run_id, "request_id": lambda_context.aws_request_id, **keys}
    logger.append_keys(**named)
    counts: Json = {}
    failed = 0
    began = time.monotonic()
    logger.info("task_began")
    try:
        with _in_trace(state, run_id):
            yield counts
    except FanoutError as error:
        failed = 1
        logger.warning("task_failed", extra={"error": type(error).__name__, "error_message": str(error)})
        raise
    except Exception:
        failed = 1
        logger.exception("task_broke")
        raise
    finally:
        seconds = time.monotonic() - began
        logger.append_keys(**named)  # a task that walks through others has been observing those
        metrics.add_dimension("state", state)
        if failed:
            metrics.add_metric("TasksFailed", MetricUnit.Count, 1)
        metrics.add_metric("Seconds", MetricUnit.Seconds, seconds)
        for name, value in counts.items():
            metrics.add_metric(name, MetricUnit.Count, value)
        logger.info("task_ended", extra={"seconds": round(seconds, 3), **counts})
        metrics.flush_metrics()


def goes_with_one_process() -> None:
    """Log that the function has no crew: it had a thread before it could begin one, or the first child has died."""
    _logger().warning("one_process")


def run_planned(answer: Json, _ledger: Ledger) -> None:
    """Emit that a run begins its work, or that it is skipped if PlanTransfer answers that another one does it."""
    is_skipped = "holder" in answer
    metrics = EphemeralMetrics()
    metrics.add_metric("RunsSkipped" if is_skipped else "RunsBegun", MetricUnit.Count, 1)
    metrics.flush_metrics()
    if is_skipped:
        _logger().info("run_skipped", extra={"holder": answer["holder"]})


def batch_started(answer: Json, _ledger: Ledger) -> None:
    """Log why messages of a queue go back, by their ids."""
    for message_id, reason in answer["unreadable"].items():
        _logger().warning("message_refused", extra={"message_id": message_id, "error_message": reason})


def run_ended(run_id: str, status: str, found: Mapping[str, float]) -> None:
    """Emit the metrics of a run, for the whole stack; the run id is a field and no dimension."""
    metrics = EphemeralMetrics()
    for name, value in found.items():
        metrics.add_metric(name, _unit(name), value)
    metrics.add_metadata("run_id", run_id)
    metrics.flush_metrics()
    _logger().info("run_ended", extra={"status": status, "failures": found["Failures"]})


def _unit(name: str) -> MetricUnit:
    if name.endswith("Seconds"):
        return MetricUnit.Seconds
    return MetricUnit.Bytes if name.startswith("Bytes") else MetricUnit.Count
