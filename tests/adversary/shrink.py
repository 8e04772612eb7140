"""Cuts a script that finds something down to the shortest that still finds it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from msgspec.structs import replace

from tests.adversary.script import Act, Fault, Script

# Chosen: attempts; a script has some 40 parts, and few of them matter.
ATTEMPTS = 400


def shrunk(script: Script, still_finds: Callable[[Script], bool], attempts: int = ATTEMPTS) -> Script:
    """The script without any part that can be left out; ``still_finds`` says whether one finds the same."""
    place, failed = 0, 0
    for _ in range(attempts):
        candidates = list(_smaller(script))
        if failed >= len(candidates):
            break
        place %= len(candidates)
        if still_finds(candidates[place]):
            script, failed = candidates[place], 0  # what follows is tried next, and what went before again later
        else:
            place, failed = place + 1, failed + 1
    return script


def _smaller(script: Script) -> Iterator[Script]:
    """Scripts with a part left out, large parts first."""
    for acts in _fewer_acts(script.acts):
        yield replace(script, acts=acts)
    for name in ("destination", "source"):
        specs = getattr(script, name)
        step = len(specs)
        while step:
            for start in range(0, len(specs), step):
                yield replace(script, **{name: specs[:start] + specs[start + step :]})
            step //= 2
    for options in _fewer(script.options):
        yield replace(script, options=options)
    if script.ledger_in_s3:
        yield replace(script, ledger_in_s3=False)
    if script.short:
        yield replace(script, short=False)
    if script.jobs not in ("", "none"):
        yield replace(script, jobs="none")
    if script.skew_seconds:
        yield replace(script, skew_seconds=0)


def _fewer_acts(acts: tuple[Act, ...]) -> Iterator[tuple[Act, ...]]:
    for number, act in enumerate(acts):
        before, after = acts[:number], acts[number + 1 :]
        if len(acts) > 1:
            yield before + after
        for faults in _fewer_faults(act.faults):
            yield (*before, replace(act, faults=faults), *after)
        for options in _fewer(act.options):
            yield (*before, replace(act, options=options), *after)


def _fewer_faults(faults: tuple[Fault, ...]) -> Iterator[tuple[Fault, ...]]:
    for number, fault in enumerate(faults):
        before, after = faults[:number], faults[number + 1 :]
        yield before + after
        if fault.times > 1:
            yield (*before, replace(fault, times=1), *after)
        for acts in _fewer_acts(fault.acts):
            yield (*before, replace(fault, acts=acts), *after)


def _fewer(options: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for name in options:
        if name != "resume_from":
            yield {other: value for other, value in options.items() if other != name}
