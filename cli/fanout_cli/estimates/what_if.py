"""``fanout estimate RUN``: a run that has ended, replayed at other settings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec.structs import replace
from rich.table import Table

from fanout.efs.capacity import FileSystemState, published
from fanout.facts.units import MIB
from fanout.forecast.choosing.finish import state_in
from fanout.ledger.ledger import Ledger
from fanout.model.errors import InvalidRequest
from fanout.model.file_system import ThroughputMode
from fanout.report.text import dollars, duration, size, spoken
from fanout_cli.estimates.estimate import number_of
from fanout_cli.estimates.whatif.what_if import OtherSettings, WhatIf, what_if

# Chosen: services whose dollars differ by less are not shown.
_ALIKE_DOLLARS = 0.00005


def names_run(source: str) -> bool:
    """Whether the one argument is a run, or the directory of its ledger, and not a file that holds a request."""
    named = "/" not in source and source != "-" and not source.endswith(".json") and not Path(source).is_file()
    return named or Path(source).is_dir()


def check_options(given: Mapping[str, bool], allowed: str) -> None:
    """Raise ``InvalidRequest`` for the first option that is given and has no meaning here."""
    for option, is_given in given.items():
        if is_given:
            raise InvalidRequest(option, "has no meaning here", allowed)


def replayed(
    ledger: Ledger,
    functions: int | None,
    megabytes: int | None,
    rate: str,
    mode: ThroughputMode | None,
    provisioned_mibps: float,
    credits_: str,
) -> WhatIf:
    """The run at these settings. Raises ``InvalidRequest``."""
    if mode is ThroughputMode.PROVISIONED and not provisioned_mibps:
        raise InvalidRequest("--provisioned-mibps", "is missing", "say what throughput is provisioned")
    per_second = number_of("--rate", rate.removesuffix("/s")) if rate else None
    if per_second is not None and per_second < 1:
        raise InvalidRequest("--rate", f"{rate!r} lets nothing be copied", 'for example "200 MiB/s"')
    left = float(number_of("--credits", credits_)) if credits_ else None
    state = None if mode is None and left is None else _state_at(mode, provisioned_mibps * MIB, left)
    return what_if(ledger, OtherSettings(functions, megabytes, per_second, state))


def _state_at(
    mode: ThroughputMode | None, provisioned: float, left: float | None
) -> Callable[[FileSystemState], FileSystemState]:
    """A function that turns a state into that in a mode, with so many credits, if it has any."""

    def turned(state: FileSystemState) -> FileSystemState:
        found = state if mode is None or mode is state.mode else state_in(state, mode)
        if mode is ThroughputMode.PROVISIONED:
            rate = published(mode, found.standard_bytes, provisioned, found.one_zone)
            found = replace(found, permitted_bytes_per_second=rate)
        return replace(found, credits_bytes=left) if left is not None and found.credits_bytes is not None else found

    return turned


def what_if_table(found: WhatIf) -> Table:
    """A table of what happened and of what would have."""
    table = Table("", "happened", "would", title=f"{found.run}, replayed")
    for name, happened, would in _rows(found):
        table.add_row(name, happened, would)
    return table


def what_if_lines(found: WhatIf) -> Iterator[str]:
    """How well the replay knows the run, and what it takes for granted."""
    copied, again = found.happened.copy_seconds, found.replayed_seconds
    yield f"at its own settings the replay's copy takes {duration(again)}; it took {duration(copied)}"
    yield from found.notes


def _rows(found: WhatIf) -> Iterator[tuple[str, ...]]:
    sides = found.happened, found.would
    shown: list[tuple[str, Callable[[Any], str]]] = [
        ("functions at once", lambda side: f"{side.functions:,}"),
        ("copy", lambda side: duration(side.copy_seconds)),
        ("in all", lambda side: duration(side.seconds)),
        ("what binds", lambda side: side.bound),
    ]
    for name, text in shown:
        yield (name, *map(text, sides))
    for name in dict.fromkeys(name for side in sides for name in side.credits_bytes):
        left = (side.credits_bytes.get(name) for side in sides)
        yield (f"burst credits of {name} at the end", *("none known" if one is None else size(one) for one in left))
    for name in found.happened.dollars:
        both = [side.dollars.get(name, 0.0) for side in sides]
        if name != "total" and abs(both[0] - both[1]) > _ALIKE_DOLLARS:
            yield (spoken(name), *(f"${one:,.4f}" for one in both))
    yield ("cost", *(dollars(side.dollars.get("total", 0.0)) for side in sides))
