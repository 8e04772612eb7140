"""The values of ``fanout estimate``'s options, as the forecast takes them."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from fanout.efs.calibration import Calibration
from fanout.efs.capacity import FileSystemState
from fanout.efs.probe_result import ProbeResult
from fanout.facts.aws import EFS_LEAST_BILLED
from fanout.facts.units import MIB
from fanout.forecast.choosing.finish import Finish
from fanout.ledger.documents import document_of
from fanout.model.books import Count
from fanout.model.document import json_value
from fanout.model.errors import InvalidRequest
from fanout.model.file_system import ThroughputMode
from fanout.report.page import render_finish
from fanout.request.fields.units import size_of
from fanout.request.parts.finish_by import finish_at, local_time
from fanout.request.request import Request
from fanout_cli.estimates.from_totals import EstimateFacts, idle_state


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


def regions_of(given: list[str], request: Request) -> dict[str, str]:
    """The regions of ``BUCKET=REGION``, each a bucket of the request. Raises ``InvalidRequest``."""
    regions = {bucket: region for bucket, _, region in (text.partition("=") for text in given)}
    known = [end.bucket for end in (request.source, request.destination) if end.is_keyed]
    for bucket, region in regions.items():
        if bucket not in known or not region:
            what = f"{bucket}={region} names no region of a bucket of the request"
            raise InvalidRequest("--bucket-region", what, f"say BUCKET=REGION of {' or '.join(known) or 'a bucket'}")
    return regions


def check_small(known: EstimateFacts) -> None:
    """Raise ``InvalidRequest`` if the small files are none of the entries, or not small."""
    small, rest = known.small, Count(known.entries, known.bytes) - known.small
    if small.bytes > small.entries * EFS_LEAST_BILLED:
        raise InvalidRequest("--small-bytes", "are more than 32 KiB for each of --small", "give those below 32 KiB")
    if min(rest.entries, rest.bytes) < 0 or (not rest.entries and rest.bytes):
        raise InvalidRequest("--small", "is more than --entries and --bytes leave", "both count the small files too")


def ending_by(request: Request, by: str, now: float) -> Request:
    """The request that ends by a time, which without a zone is that of this machine. Raises ``InvalidRequest``."""
    text = local_time(by, now)
    try:
        finish_at(text, now)
    except InvalidRequest as error:
        raise error.of_field("--by") from error
    return replace(request, limits=replace(request.limits, finish_by=text))


def given_shard_seconds(document: Any) -> float | None:
    """``limits.shard_seconds`` of a request that names it."""
    limits = document.get("limits") or {}
    found: float | None = limits.get("shard_seconds")
    return found


def write_page(path: Path, finish: Finish | None, request: Request) -> None:
    """Write the page of the plans. Raises ``InvalidRequest`` where there are none, or it cannot be written."""
    if finish is None:
        raise InvalidRequest("--html", "shows the plans that end by a time", "say by when with --by")
    try:
        path.write_text(render_finish(finish, str(request.source), str(request.destination)), encoding="utf-8")
    except OSError as error:
        raise InvalidRequest("--html", f"{path} cannot be written ({error.strerror})", "name another file") from error


def options_of(finish: Finish) -> str:
    """The options of ``fanout copy`` by which a run takes the plan."""
    return shlex.join(["--finish-by", finish.finish_by, "--shard-seconds", f"{finish.shard_seconds:g}"])
