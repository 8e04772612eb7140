"""A forecast as people read it in a terminal, from its document."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.console import Console
from rich.table import Table

from fanout.ledger.keys import FORECAST
from fanout.ledger.ledger import Ledger
from fanout.model.errors import LedgerBroken
from fanout.report.text import dollars, duration, size, spoken
from fanout_cli.loudness import is_verbose

# Chosen: the forecast of a shorter run is one line.
SHORT_SECONDS = 60.0


def read_forecast(ledger: Ledger) -> dict[str, Any] | None:
    """forecast.json of a run; ``None`` as long as there is none."""
    try:
        found: dict[str, Any] = ledger.read_json(FORECAST)
    except LedgerBroken:
        return None
    return found


def forecast_lines(row: dict[str, Any]) -> Iterator[str]:
    """The forecast in a few sentences: how long, what binds, what it costs, what becomes of the credits."""
    seconds, money, other = row["predicted_seconds"], row["dollars"], row["datasync_dollars"]
    phases = ", ".join(f"{phase} {duration(took)}" for phase, took in seconds.items() if took)
    yield f"forecast: {duration(sum(seconds.values()))} in all ({phases})"
    if copies(row):
        functions = 1 if _is_short(row) else row["pace"]["max_concurrency"]
        yield f"  what binds: {row['binding_limit']}; {functions:,} function{'s' if functions != 1 else ''} at once"
    services = ", ".join(f"{spoken(name)} {dollars(cost)}" for name, cost in money.items() if cost and name != "total")
    yield f"  cost: {dollars(money['total'])} ({services}); DataSync, {row['datasync_mode']}: {dollars(other['total'])}"
    yield from counted_lines(row)
    yield from finish_lines(row)
    for system in row["file_systems"]:
        about = f"{system['throughput_mode']}, {size(system['permitted_bytes_per_second'])}/s permitted"
        burst = f"; burst credits: {system['credits']['sentence']}" if system["credits"] else ""
        yield f"  efs://{system['mount']}/: {about}{burst}"
        yield from (f"    {sentence}" for sentence in system["assumptions"])


def finish_lines(row: dict[str, Any]) -> Iterator[str]:
    """Lines of the plan that was chosen to end by a time, and of the file systems' other modes."""
    finish = row.get("finish")
    if not finish:
        return
    if finish["functions"]:
        yield f"  by {finish['at']}: ends at {finish['predicted_end']}; {finish['why']}"
    else:
        yield f"  by {finish['at']}: {finish['why']}; the nearest is limits.finish_by={finish['nearest']!r}"
    yield from (f"    {one['sentence']}" for one in finish["other_modes"])


def finish_table(finish: dict[str, Any]) -> Table:
    """The plans that no other beats in both seconds and dollars."""
    found = Table("functions", "shards, s", "takes", "$", "binds", "", title="Plans that no other beats")
    for one in finish["plans"]:
        taken = (one["functions"], one["shard_seconds"]) == (finish["functions"], finish["shard_seconds"])
        found.add_row(
            f"{one['functions']:,}",
            f"{one['shard_seconds']:g}",
            duration(one["seconds"]),
            f"{one['dollars']:,.4f}",
            one["binding_limit"],
            "taken" if taken else "",
        )
    return found


def counted_lines(row: dict[str, Any]) -> Iterator[str]:
    """Lines of what a run calls and asks for; none for a forecast of an earlier version."""
    if row.get("counts"):
        counts = row["counts"]
        calls = f"{counts['functions']:,} functions, {counts['transitions']:,} states"
        warm = _warm(row, "; ", " in all where functions are warm")
        yield f"  calls: {calls}, {counts['requests']:,} requests to the work bucket{warm}"


def _is_short(row: dict[str, Any]) -> bool:
    """Whether one function carries the run from the listing on."""
    return bool((row.get("counts") or {}).get("is_short"))


def _warm(row: dict[str, Any], before: str, after: str) -> str:
    """Seconds of a small run whose functions are warm."""
    warm = (row.get("counts") or {}).get("warm_seconds")
    return "" if warm is None else f"{before}{duration(warm)}{after}"


def watched_forecast(row: dict[str, Any], *, is_local: bool, is_over: bool = False) -> Iterator[str]:
    """The lines for who follows a run: one of a short run, of one that is over, and of a local one.

    The local stack has neither the states of AWS, which take seconds, nor its prices.
    """
    seconds = sum(row["predicted_seconds"].values())
    if not is_verbose() and (is_local or is_over or seconds < SHORT_SECONDS):
        took, money = duration(seconds), dollars(row["dollars"]["total"])
        took += _warm(row, " (", " with warm functions)")
        yield f"on AWS it would take {took} and cost {money}" if is_local else f"forecast: {took}, {money}"
    else:
        yield from forecast_lines(row)


def copies(row: dict[str, Any]) -> bool:
    """Whether anything is forecast to be copied or compared."""
    return any(row["limit_seconds"].values())


def say_forecast(row: dict[str, Any], console: Console) -> None:
    """Print the sentences."""
    for line in forecast_lines(row):
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def forecast_tables(row: dict[str, Any]) -> Iterator[Table]:
    """The forecast as tables: seconds by phase, seconds by limit, dollars by service."""
    if row.get("finish"):
        yield finish_table(row["finish"])
    phases = Table("phase", "seconds", title="Forecast")
    for phase, took in row["predicted_seconds"].items():
        phases.add_row(phase, f"{took:,.1f}")
    phases.add_row("in all", f"{sum(row['predicted_seconds'].values()):,.1f}")
    yield phases
    if copies(row):
        limits = Table("limit", "seconds that it alone takes", title="The copying")
        for name, took in sorted(row["limit_seconds"].items(), key=lambda item: -item[1]):
            limits.add_row(f"{name}, binds" if name == row["binding_limit"] else name, f"{took:,.1f}")
        yield limits
    money, other = row["dollars"], row["datasync_dollars"]
    costs = Table(
        "service",
        "this run, $",
        f"DataSync ({row['datasync_mode']}), $",
        title=f"Cost, at prices of {row['prices_date']}",
    )
    for name, cost in money.items():
        if name != "total":
            costs.add_row(spoken(name), f"{cost:,.4f}", f"{other[name]:,.4f}" if name in other else "")
    costs.add_row("DataSync's own fee", "", f"{other['fee']:,.4f}")
    costs.add_row("total", f"{money['total']:,.4f}", f"{other['total']:,.4f}")
    yield costs
