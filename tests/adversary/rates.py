"""``limits.json`` written anew at any moment, with what is not valid: the run ends as if nobody had."""

from __future__ import annotations

from random import Random

from msgspec.structs import replace

from tests.adversary.deeds import soon
from tests.adversary.script import Act, Change, Fault

NOT_VALID = "limits.json"
BODIES = (
    b'{"schema_version": 2, "files_per_second": 0}',
    b'{"schema_version": 2, "bytes_per_second": -5}',
    b'{"schema_version": 2, "files_per_second": 1e308}',
    b'{"schema_version": 2, "bytes_per_second": NaN}',
    b'{"schema_version": 2, "files_per_second": "100"}',
    b'{"schema_version": 1, "files_per_second": 100}',
    b'{"schema_version": 2, "bytes_per_sec',
    b"[]",
    b"null",
    b"",
    b"\xff not JSON",
    b"[" * 5_000,
)


def not_valid(run: str, at: int, seed: int) -> Fault:
    """Somebody writes one of the bodies, at an operation of a run."""
    return Fault("any", at, "change", change=Change(NOT_VALID, run, seed, "ledger"))


def rates_written(draw: Random, acts: tuple[Act, ...]) -> tuple[Act, ...]:
    """Draw such writes for one of the runs, now and then."""
    chance, times, which = draw.random(), draw.randint(1, 3), draw.random()
    faults = [(soon(draw, 300), draw.randrange(len(BODIES))) for _ in range(times)]
    runs = [number for number, act in enumerate(acts) if act.what == "run" and not act.faults]
    if chance > 0.04 or not runs:
        return acts
    at = runs[int(which * len(runs))]
    written = tuple(not_valid(acts[at].run, *one) for one in faults)
    return (*acts[:at], replace(acts[at], faults=written), *acts[at + 1 :])
