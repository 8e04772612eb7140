"""OpenProbe and CloseProbe: the directory that a probe works in, made and removed."""

from __future__ import annotations

from fanout.model.document import Json
from fanout.model.errors import AccessDenied, FanoutError, InvalidRequest, ItemError, Transient
from fanout.model.outcome import Reason
from fanout.ports.probe import ProbeDirectories
from fanout.probe.experiments import PROBE_PLAN, check_space
from fanout.work.context import Context

_GONE = (Reason.DESTINATION_KIND, Reason.LINK_IN_PATH)


def open_probe(context: Context, directories: ProbeDirectories) -> Json:
    """Check the space, remove what stopped probes left, and make the directory.

    Raises ``InvalidRequest`` where space is short, or another probe is at work: each would measure the other.
    """
    plan = context.ledger.read(PROBE_PLAN)
    try:
        context.begin("open")
        with directories(plan.probe_id, plan.request.path) as directory:
            check_space(directory.free_bytes(), plan.request)
            others = directory.prepare()
            if others:
                directory.remove()
                problem = f"another probe is at work there ({', '.join(others)})"
                raise InvalidRequest("path", problem, "wait for its end, or five minutes if it was stopped")
    except ItemError as error:
        raise task_error(error, f"/{plan.request.path}") from error
    return {}


def close_probe(context: Context, directories: ProbeDirectories) -> Json:
    """Remove the directory with all that the probe wrote, whatever became of the probe."""
    plan = context.ledger.read(PROBE_PLAN)
    try:
        context.begin("close")
        with directories(plan.probe_id, plan.request.path) as directory:
            directory.remove()
    except ItemError as error:
        raise task_error(error, f"/{plan.request.path}") from error
    return {}


def task_error(error: ItemError, target: str) -> FanoutError:
    """Turns an error in the probe's own directory into the error of the whole probe."""
    if error.reason is Reason.DESTINATION_DENIED:
        return AccessDenied("probing", target, "check the access point's identity, and owner and mode of the directory")
    if error.reason is Reason.NO_SPACE:
        return InvalidRequest("path", error.message, "free space, or raise the quota")
    if error.reason in _GONE or "ENOENT" in error.message:
        return InvalidRequest("path", f"{target} is not a directory of the mount ({error.message})", "name one that is")
    return Transient(error.message)
