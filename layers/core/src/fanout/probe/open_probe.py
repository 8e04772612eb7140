"""OpenProbe and CloseProbe: the directory that a probe works in, made and removed.

OpenProbe notes which directory it made before anything is done in it; a name proves nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from fanout.ledger import probe_keys as keys
from fanout.ledger.documents import Notes
from fanout.ledger.ledger import Ledger
from fanout.model.document import Json
from fanout.model.errors import AccessDenied, FanoutError, InvalidRequest, ItemError, Transient
from fanout.model.file_system import Staged
from fanout.model.outcome import Reason
from fanout.ports.probe import ProbeDirectories, ProbeDirectory
from fanout.probe.experiments import PROBE_PLAN, check_space
from fanout.work.context import Context

_GONE = (Reason.DESTINATION_KIND, Reason.LINK_IN_PATH)
# The notes of these states.
PHASES = _OPEN, _CLOSE = "open", "close"


def open_probe(context: Context, directories: ProbeDirectories) -> Json:
    """Check the space, make the directory and note it, and remove what stopped probes left.

    Raises ``InvalidRequest`` where space is short, or another probe is at work: each would measure the other.
    """
    ledger = context.ledger
    plan = ledger.read(PROBE_PLAN)
    try:
        context.begin(_OPEN)
        with directories(plan.probe_id, plan.request.path) as directory:
            check_space(directory.free_bytes(), plan.request)
            directory.enter(ledger.find(keys.OWN_DIRECTORY) or _made(directory, ledger))
            others = directory.remove_others(lambda probe_id: _made_by(probe_id, ledger))
            if others.at_work:
                directory.remove()
                problem = f"another probe is at work there ({', '.join(others.at_work)})"
                raise InvalidRequest("path", problem, "wait for its end, or five minutes if it was stopped")
            _note(_OPEN, others.left, ledger)
    except ItemError as error:
        raise task_error(error, f"/{plan.request.path}") from error
    return {}


def _made(directory: ProbeDirectory, ledger: Ledger) -> Staged:
    made = directory.begin()
    try:
        ledger.write(keys.OWN_DIRECTORY, made)
    except Exception:
        directory.enter(made)
        directory.remove()
        raise
    return made


def _made_by(probe_id: str, ledger: Ledger) -> Staged | None:
    """The directory that another probe noted; none where no probe can have that id."""
    try:
        return ledger.of_run(probe_id).find(keys.OWN_DIRECTORY)
    except InvalidRequest:
        return None


def close_probe(context: Context, directories: ProbeDirectories) -> Json:
    """Remove the directory with all that the probe wrote, whatever became of the probe; only the one that was noted."""
    ledger = context.ledger
    plan = ledger.read(PROBE_PLAN)
    try:
        context.begin(_CLOSE)
        made = ledger.find(keys.OWN_DIRECTORY)
        if made is not None:
            with directories(plan.probe_id, plan.request.path) as directory:
                directory.enter(made)
                left = directory.remove()
            _note(_CLOSE, [left] if left else [], ledger)
    except ItemError as error:
        raise task_error(error, f"/{plan.request.path}") from error
    return {}


def _note(phase: str, left: Sequence[str], ledger: Ledger) -> None:
    """Note what has the name of a probe's directory and is left; nothing if there is nothing."""
    if left:
        remedy = "it was left there; look who put it there, and remove it if nobody needs it"
        ledger.write(keys.left_key(phase), Notes([f"{one}: {remedy}" for one in left]))


def task_error(error: ItemError, target: str) -> FanoutError:
    """Turns an error in the probe's own directory into the error of the whole probe."""
    if error.reason is Reason.DESTINATION_DENIED:
        return AccessDenied("probing", target, "check the access point's identity, and owner and mode of the directory")
    if error.reason is Reason.NO_SPACE:
        return InvalidRequest("path", error.message, "free space, or raise the quota")
    if error.reason in _GONE or "ENOENT" in error.message:
        return InvalidRequest("path", f"{target} is not a directory of the mount ({error.message})", "name one that is")
    return Transient(error.message)
