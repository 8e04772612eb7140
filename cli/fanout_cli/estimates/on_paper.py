"""Carries out ``fanout estimate``: a run on paper, or one that has ended at other settings."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

from msgspec import Struct

from fanout.forecast.document import forecast_document
from fanout.ledger.documents import document_row
from fanout.ledger.ledger import Ledger
from fanout.model.books import Count
from fanout.model.errors import InvalidRequest
from fanout.model.file_system import ThroughputMode
from fanout.request.course import Mode
from fanout.request.parse import parse_request
from fanout.request.request import Request
from fanout_cli.arguments import mounts_of, read_request
from fanout_cli.estimates.estimate import (
    calibration_of,
    check_small,
    ending_by,
    given_shard_seconds,
    number_of,
    options_of,
    regions_of,
    state_of,
    write_page,
)
from fanout_cli.estimates.forecasts import forecast_tables, say_forecast
from fanout_cli.estimates.from_totals import EstimateFacts, choose_estimated, estimate
from fanout_cli.estimates.what_if import check_options, names_run, replayed, what_if_lines, what_if_table
from fanout_cli.places import resolved
from fanout_cli.runs.entries import ledger_in, ledger_of
from fanout_cli.runs.work_bucket import dump
from fanout_cli.stacks import find_stack
from fanout_cli.terminal import Terminal

# As template.yaml sets MaxConcurrency.
STACK_CONCURRENCY = 100


class Typed(Struct, frozen=True, kw_only=True):
    """The arguments and options of the command, each as it was typed."""

    source: str
    destination: str | None
    mode: Mode
    entries: str
    size: str
    unchanged: str
    stack: str | None
    local: bool
    unchanged_size: str
    small: str
    small_size: str
    has_no_index: bool
    largest_directory: int
    extras: int
    bucket_regions: list[str] | None
    probe: list[str] | None
    throughput_mode: ThroughputMode | None
    standard: str
    credits_: str
    provisioned_mibps: float
    functions: int | None
    memory: int | None
    rate: str
    max_concurrency: int | None
    by: str | None
    html: Path | None
    json_output: bool
    state: Path | None


# The option of a field, and its value where it was not given: of trees, and of a run that has ended.
_OF_TREES: dict[str, tuple[str, Any]] = {
    "entries": ("--entries", "0"),
    "size": ("--bytes", "0"),
    "unchanged": ("--unchanged", "0"),
    "extras": ("--extras", 0),
    "mode": ("--mode", Mode.COPY),
    "standard": ("--standard", "0"),
    "probe": ("--probe", None),
    "bucket_regions": ("--bucket-region", None),
    "has_no_index": ("--no-index", False),
    "unchanged_size": ("--unchanged-bytes", "0"),
    "small": ("--small", "0"),
    "small_size": ("--small-bytes", "0"),
    "largest_directory": ("--largest-directory", 0),
    "max_concurrency": ("--max-concurrency", None),
    "by": ("--by", None),
    "html": ("--html", None),
}
_OF_RUNS: dict[str, tuple[str, Any]] = {
    "functions": ("--functions", None),
    "memory": ("--memory", None),
    "rate": ("--rate", ""),
}


def predict(typed: Typed) -> None:
    """Print the prediction. Raises ``InvalidRequest`` for options that do not go together."""
    if typed.destination is None and names_run(typed.source):
        remedy = f"{typed.source} is taken for a run that has ended; name two trees, or REQUEST.json"
        check_options(_given(typed, _OF_TREES), remedy)
        _say_replay(typed)
        return
    check_options(_given(typed, _OF_RUNS), "it is for a RUN that has ended; of a request, see limits")
    _say_forecast(typed)


def _given(typed: Typed, options: dict[str, tuple[str, Any]]) -> dict[str, bool]:
    found = {option: (getattr(typed, name), unset) for name, (option, unset) in options.items()}
    return {option: value != unset and value != [] for option, (value, unset) in found.items()}


def _say_replay(typed: Typed) -> None:
    found = replayed(
        _ledger_of(typed),
        typed.functions,
        typed.memory,
        typed.rate,
        typed.throughput_mode,
        typed.provisioned_mibps,
        typed.credits_,
    )
    if typed.json_output:
        sys.stdout.write(dump(document_row(found)) + "\n")
        return
    out = Terminal()
    out.print(what_if_table(found))
    for line in what_if_lines(found):
        out.print(line, markup=False, highlight=False, soft_wrap=True)


def _ledger_of(typed: Typed) -> Ledger:
    """The ledger of a run of a stack, or in a directory."""
    if Path(typed.source).is_dir():
        return ledger_in(Path(typed.source), None)
    return ledger_of(find_stack(typed.stack, typed.local, typed.state), typed.source)


def _say_forecast(typed: Typed) -> None:
    document = _document_of(typed)
    parsed = parse_request(document, mounts_of(document), _concurrency_of(typed))
    known = _facts_of(typed, mounts_of(document), parsed)
    now, finish = time.time(), None
    if typed.by is not None:
        parsed = ending_by(parsed, typed.by, now)
    if parsed.limits.finish_by:
        found, finish = choose_estimated(parsed, known, now, given_shard_seconds(document))
    else:
        found = estimate(parsed, known)
    if typed.html is not None:
        write_page(typed.html, finish, parsed)
    row = document_row(forecast_document(found, now, parsed.limits.window, finish))
    if typed.json_output:
        sys.stdout.write(dump(row) + "\n")
        return
    out = Terminal()
    say_forecast(row, out)
    if finish is not None and finish.functions:
        out.print(f"  to take it: {options_of(finish)}", markup=False, highlight=False, soft_wrap=True)
    for table in forecast_tables(row):
        out.print(table)


def _document_of(typed: Typed) -> dict[str, Any]:
    """The request: of two trees, or as the file holds it."""
    if typed.destination is None:
        document: dict[str, Any] = read_request(Path(typed.source))
        return document
    ends = {"source": resolved(typed.source), "destination": resolved(typed.destination, writes=True)}
    return {**ends, "mode": typed.mode.value}


def _concurrency_of(typed: Typed) -> int:
    if typed.max_concurrency is not None:
        return typed.max_concurrency
    if typed.stack or typed.local:
        named = find_stack(typed.stack, typed.local, typed.state).parameters
        return int(named.get("MaxConcurrency", STACK_CONCURRENCY))
    return STACK_CONCURRENCY


def _facts_of(typed: Typed, mounts: tuple[str, ...], parsed: Request) -> EstimateFacts:
    """The totals that the forecast takes in place of a listing. Raises ``InvalidRequest``."""
    mode = typed.throughput_mode or ThroughputMode.ELASTIC
    system = state_of(mode, typed.standard, typed.credits_, typed.provisioned_mibps)
    known = EstimateFacts(
        number_of("--entries", typed.entries),
        number_of("--bytes", typed.size),
        typed.largest_directory,
        typed.extras,
        dict.fromkeys(mounts, system),
        dict(calibration_of(text, mounts) for text in typed.probe or []),
        number_of("--unchanged", typed.unchanged),
        number_of("--unchanged-bytes", typed.unchanged_size),
        indexed=not typed.has_no_index,
        regions=regions_of(typed.bucket_regions or [], parsed),
        small=Count(number_of("--small", typed.small), number_of("--small-bytes", typed.small_size)),
    )
    if not known.entries and not known.unchanged:
        remedy = "say how many entries are copied, or with --unchanged how many are not"
        raise InvalidRequest("--entries", "is missing", remedy)
    check_small(known)
    return known
