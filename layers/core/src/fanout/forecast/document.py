"""The forecast as a document: forecast.json, and ``forecast`` of summary.json."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from fanout.efs.model import Drain, FileSystemState
from fanout.facts import prices
from fanout.facts.limits import GIB, MIB
from fanout.forecast.costs import Dollars
from fanout.forecast.credits import Credits
from fanout.forecast.forecast import Forecast
from fanout.model.document import Json

_DAY_SECONDS = 86_400


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
        "cloudwatch": _cents(dollars.metrics),
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
    return {
        "begin_bytes": round(credits.begin),
        "reserve_bytes": round(credits.reserve),
        "held_bytes_per_second": round(credits.bytes_per_second) if credits.is_held else None,
        **_drain_row(credits.drain, begins),
        "unheld": _drain_row(credits.unheld, begins),
        "sentence": credit_sentence(credits, begins),
    }


def _drain_row(drain: Drain, begins: float) -> Json:
    at = None if drain.empty_seconds is None else begins + drain.empty_seconds
    return {
        "end_bytes": round(drain.credits_end),
        "runs_out_share": None if drain.empty_share is None else round(drain.empty_share, 4),
        "runs_out_at": None if at is None else datetime.fromtimestamp(int(at), UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    }


def credit_sentence(credits: Credits, begins: float) -> str:
    """What becomes of the credits, for people: they last, are held to the reserve, or run out all the same."""
    said = _end(credits.drain, credits, begins)
    if not credits.is_held:
        return said
    lasts = "lasts" if credits.begin > credits.reserve else "is not spent"
    kept = f"so that the reserve of {credits.reserve_percent:g}% {lasts}"
    unheld = _end(credits.unheld, credits, begins)
    return f"held to {credits.bytes_per_second / MIB:,.1f} MiB/s {kept}: {said}; unheld: {unheld}"


def _end(drain: Drain, credits: Credits, begins: float) -> str:
    if drain.empty_share is not None and drain.empty_seconds is not None:
        empty = datetime.fromtimestamp(int(begins + drain.empty_seconds), UTC)
        days = f" {empty:%Y-%m-%d}" if drain.empty_seconds >= _DAY_SECONDS else ""
        return f"run out after {drain.empty_share * 100:.0f}% at{days} {empty:%H:%M} UTC"
    left = f"{drain.credits_end / GIB:,.1f} GiB of {credits.begin / GIB:,.1f} GiB are left at the end"
    if drain.credits_end < credits.reserve * 0.999:
        return f"{left}, below the reserve of {credits.reserve / GIB:,.1f} GiB"
    return left
