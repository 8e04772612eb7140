"""The values of ``fanout estimate``'s options, as the forecast takes them."""

from __future__ import annotations

from pathlib import Path

from fanout.efs.calibration import Calibration
from fanout.efs.model import FileSystemState
from fanout.efs.probe_result import ProbeResult
from fanout.facts.units import MIB
from fanout.forecast.estimate import idle_state
from fanout.ledger.documents import document_of
from fanout.model.errors import InvalidRequest
from fanout.model.file_system import ThroughputMode
from fanout.model.json_text import json_value
from fanout.request.units import size_of


def state_of(mode: ThroughputMode, standard: str, credits_: str, provisioned_mibps: float) -> FileSystemState:
    """A file system at rest, by the options. Raises ``InvalidRequest``."""
    if mode is ThroughputMode.PROVISIONED and not provisioned_mibps:
        raise InvalidRequest("--provisioned-mibps", "is missing", "say what throughput is provisioned")
    left = float(number_of("--credits", credits_)) if credits_ else None
    return idle_state(mode, number_of("--standard", standard), provisioned_mibps * MIB, left)


def number_of(option: str, text: str) -> int:
    """A number or a size as an option gives it. Raises ``InvalidRequest``."""
    found = size_of(option, int(text) if text.isdecimal() else text)
    return found or 0


def calibration_of(text: str, mounts: tuple[str, ...]) -> tuple[str, Calibration]:
    """The mount and the calibration of ``MOUNT=probe.json``. Raises ``InvalidRequest``."""
    name, separator, file = text.partition("=")
    mount, path = (name, Path(file)) if separator else (mounts[0], Path(text))
    if mount not in mounts:
        raise InvalidRequest("--probe", f"the request names no mount {mount!r}", f"it names {', '.join(mounts)}")
    try:
        found = document_of(json_value(path.read_bytes()), ProbeResult).calibration
    except (OSError, ValueError) as error:
        raise InvalidRequest("--probe", f"{path} cannot be read ({error})", "name a probe.json") from error
    if found is None:
        raise InvalidRequest("--probe", f"the probe of {path} ended before it had a calibration", "probe again")
    return mount, found
