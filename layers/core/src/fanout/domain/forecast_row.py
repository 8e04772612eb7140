"""The forecast as a document: forecast.json, and ``forecast`` of summary.json."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from fanout.domain import prices
from fanout.domain.costs import Dollars
from fanout.domain.efs_model import FileSystemState, ThroughputMode
from fanout.domain.forecast import Credits, Forecast
from fanout.domain.limits import GIB

Json = dict[str, Any]


def forecast_row(found: Forecast, begins: float) -> Json:
    """The document of a forecast whose copying begins then, in seconds since 1970."""
    return {
        "predicted_seconds": {phase: round(seconds, 3) for phase, seconds in found.seconds.items()},
        "actual_seconds": {},
        "binding_limit": found.binding.value,
        "limit_seconds": {limit.value: round(seconds, 3) for limit, seconds in found.limit_seconds.items()},
        "pace": {
            "max_concurrency": found.pace.max_concurrency,
            "threads": found.pace.threads,
            "bytes_per_second": round(found.pace.bytes_per_second),
        },
        "file_systems": [
            _file_system_row(mount, state, found.credits.get(mount), begins) for mount, state in found.states.items()
        ],
        "dollars": _dollars_row(found.dollars),
        "actual_dollars": None,
        "datasync_dollars": {
            "fee": _cents(found.dollars.datasync_fee),
            "s3": _cents(found.dollars.s3),
            "efs": _cents(found.dollars.efs),
            "total": _cents(found.dollars.datasync),
        },
        "prices_date": prices.DATE,
    }


def with_actual(row: Json, seconds: Mapping[str, float], dollars: Dollars) -> Json:
    """The document after the run, with what its phases took and what the ledger counted comes to."""
    return row | {"actual_seconds": dict(seconds), "actual_dollars": _dollars_row(dollars)}


def _cents(dollars: float) -> float:
    return round(dollars, 6)


def _dollars_row(dollars: Dollars) -> Json:
    return {
        "s3": _cents(dollars.s3),
        "work_bucket": _cents(dollars.ledger),
        "efs": _cents(dollars.efs),
        "lambda": _cents(dollars.compute),
        "step_functions": _cents(dollars.states),
        "total": _cents(dollars.total),
    }


def _file_system_row(mount: str, state: FileSystemState, credits: Credits | None, begins: float) -> Json:
    return {
        "mount": mount,
        "throughput_mode": state.mode.value,
        "performance_mode": state.performance_mode,
        "permitted_bytes_per_second": round(state.permitted_bytes_per_second),
        "stored_bytes": state.stored_bytes,
        "assumptions": list(state.assumptions),
        "credits": None if credits is None else _credits_row(credits, begins),
    }


def _credits_row(credits: Credits, begins: float) -> Json:
    drain = credits.drain
    at = None if drain.empty_seconds is None else begins + drain.empty_seconds
    return {
        "begin_bytes": round(credits.begin),
        "end_bytes": round(drain.credits_end),
        "reserve_bytes": round(credits.reserve),
        "runs_out_share": None if drain.empty_share is None else round(drain.empty_share, 4),
        "runs_out_at": None if at is None else datetime.fromtimestamp(int(at), UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "sentence": credit_sentence(credits, at),
    }


def credit_sentence(credits: Credits, empty_at: float | None) -> str:
    """What becomes of the credits, for people: they run out, go below the reserve, or last."""
    drain = credits.drain
    left = f"{drain.credits_end / GIB:,.1f} GiB of {credits.begin / GIB:,.1f} GiB are left at the end"
    if drain.empty_share is not None and empty_at is not None:
        time = datetime.fromtimestamp(int(empty_at), UTC).strftime("%H:%M")
        return f"runs out after {drain.empty_share * 100:.0f}% at {time} UTC"
    if drain.credits_end < credits.reserve:
        return f"{left}, below the reserve of {credits.reserve / GIB:,.1f} GiB"
    return left


def state_row(state: FileSystemState) -> Json:
    """A measured file system, as file-systems.json holds it by mount."""
    return asdict(state) | {"mode": state.mode.value, "assumptions": list(state.assumptions)}


def state_from_row(row: Json) -> FileSystemState:
    """The file system of a row."""
    given = row | {"mode": ThroughputMode(row["mode"]), "assumptions": tuple(row["assumptions"])}
    return FileSystemState(**given)
