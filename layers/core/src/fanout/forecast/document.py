"""The forecast as a document: forecast.json, and ``forecast`` of summary.json."""

from __future__ import annotations

from datetime import UTC, datetime

from msgspec import Struct
from msgspec.structs import asdict

from fanout.efs.capacity import Drain, FileSystemState
from fanout.facts import prices
from fanout.facts.units import GIB, MIB
from fanout.forecast.between_regions import TRANSFER
from fanout.forecast.choosing.finish import Finish
from fanout.forecast.copying import Limit
from fanout.forecast.costs import Dollars
from fanout.forecast.credits import Credits
from fanout.forecast.datasync import TaskMode
from fanout.forecast.forecast import Forecast
from fanout.ledger import keys
from fanout.model.books import Count
from fanout.model.document import utc
from fanout.model.file_system import ThroughputMode
from fanout.request.parts.window import closed_seconds

_DAY_SECONDS = 86_400


class ForecastPace(Struct, frozen=True):
    """The pace that reaches the limit of the file systems: concurrent functions, threads and bytes a second of each."""

    max_concurrency: int
    threads: int
    bytes_per_second: int


class Drained(Struct, frozen=True):
    """Credits at the end; the share that is done when they run out and when that is, in UTC, if they do."""

    end_bytes: int
    runs_out_share: float | None
    runs_out_at: str | None


class ForecastCredits(Struct, frozen=True):
    """Burst credits over the copying as PaceCopy keeps them; ``sentence`` says the same for people."""

    begin_bytes: int
    reserve_bytes: int
    held_bytes_per_second: int | None
    end_bytes: int
    runs_out_share: float | None
    runs_out_at: str | None
    unheld: Drained
    sentence: str


class ForecastFileSystem(Struct, frozen=True):
    """A file system as the forecast takes it to be; ``credits`` are ``None`` where they play no part."""

    mount: str
    throughput_mode: ThroughputMode
    performance_mode: str
    permitted_bytes_per_second: int
    stored_bytes: int
    assumptions: tuple[str, ...]
    credits: ForecastCredits | None


class ForecastCounts(Struct, frozen=True):
    """The functions that are called, the states that are entered, and the requests to the work bucket.

    ``is_short``: one function carries the run from the listing on; ``warm_seconds`` is what that takes in all where the
    functions are warm.
    """

    is_short: bool
    functions: int
    transitions: int
    requests: int
    warm_seconds: float | None


class ForecastDocument(Struct, frozen=True):
    """The whole document: seconds by phase, dollars by service and in all, and what is known after the run alone."""

    predicted_seconds: dict[str, float]
    actual_seconds: dict[str, float]
    binding_limit: Limit
    limit_seconds: dict[Limit, float]
    pace: ForecastPace
    file_systems: list[ForecastFileSystem]
    dollars: dict[str, float]
    actual_dollars: dict[str, float] | None
    datasync_dollars: dict[str, float]
    datasync_mode: TaskMode
    prices_date: str
    linked: Count = Count()
    counts: ForecastCounts | None = None
    finish: Finish | None = None


FORECAST = keys.FORECAST.of(ForecastDocument)


def forecast_document(
    found: Forecast, begins: float, window: str = "", finish: Finish | None = None
) -> ForecastDocument:
    """The document of a forecast whose copying begins then, in seconds since 1970, and works in such a window.

    ``finish`` says which plan was chosen to end in time.
    """
    seconds = dict(found.seconds)
    if window:
        seconds["pause"] = closed_seconds(window, begins, sum(seconds.values()))
    dollars, pace = found.dollars, found.pace
    other = found.datasync
    transfer = {TRANSFER: other.transfer} if other.transfer else {}
    datasync = {"fee": other.fee, "s3": other.s3, "efs": other.efs, **transfer, "total": other.total}
    return ForecastDocument(
        predicted_seconds={phase: round(took, 3) for phase, took in seconds.items()},
        actual_seconds={},
        binding_limit=found.binding,
        limit_seconds={limit: round(seconds, 3) for limit, seconds in found.limit_seconds.items()},
        pace=ForecastPace(pace.max_concurrency, pace.threads, round(pace.bytes_per_second)),
        file_systems=[
            _file_system(mount, state, found.credits.get(mount), begins) for mount, state in found.states.items()
        ],
        dollars=by_service(dollars),
        actual_dollars=None,
        datasync_dollars={name: round(value, 6) for name, value in datasync.items()},
        datasync_mode=other.mode,
        prices_date=prices.DATE,
        linked=found.linked,
        counts=_counts(found, sum(seconds.values())),
        finish=finish,
    )


def _counts(found: Forecast, seconds: float) -> ForecastCounts:
    way, counts = found.way, found.counts
    warm = round(seconds - way.warm_seconds, 3) if way.is_short else None
    requests = round(counts.gets + counts.puts)
    return ForecastCounts(way.is_short, round(counts.calls), round(counts.transitions), requests, warm)


def by_service(dollars: Dollars) -> dict[str, float]:
    """Dollars by the name of the service, and in all."""
    found = {
        **dollars.services,
        "s3": dollars.s3,
        "work_bucket": dollars.ledger,
        "efs": dollars.efs,
        "lambda": dollars.compute,
        "step_functions": dollars.states,
        "cloudwatch": dollars.metrics,
        **({"kms": dollars.signing} if dollars.signing else {}),
        "total": dollars.total,
    }
    return {name: round(value, 6) for name, value in found.items()}


def _file_system(mount: str, state: FileSystemState, credits: Credits | None, begins: float) -> ForecastFileSystem:
    return ForecastFileSystem(
        mount=mount,
        throughput_mode=state.mode,
        performance_mode=state.performance_mode,
        permitted_bytes_per_second=round(state.permitted_bytes_per_second),
        stored_bytes=state.stored_bytes,
        assumptions=state.assumptions,
        credits=None if credits is None else _credits(credits, begins),
    )


def _credits(credits: Credits, begins: float) -> ForecastCredits:
    held = _drained(credits.drain, begins)
    return ForecastCredits(
        begin_bytes=round(credits.begin),
        reserve_bytes=round(credits.reserve),
        held_bytes_per_second=round(credits.bytes_per_second) if credits.is_held else None,
        **asdict(held),
        unheld=_drained(credits.unheld, begins),
        sentence=credit_sentence(credits, begins),
    )


def _drained(drain: Drain, begins: float) -> Drained:
    return Drained(
        end_bytes=round(drain.credits_end),
        runs_out_share=None if drain.empty_share is None else round(drain.empty_share, 4),
        runs_out_at=None if drain.empty_seconds is None else utc(begins + drain.empty_seconds),
    )


def credit_sentence(credits: Credits, begins: float) -> str:
    """A sentence on the credits: they last, are held to the reserve, or run out despite it."""
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
