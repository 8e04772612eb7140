"""A limit of the request ends runs in any phase, and retries carry on until one ends well: drawn, and judged.

| drawn                                                       | what must hold                                   |
|-------------------------------------------------------------|--------------------------------------------------|
| time passes, or is paid for, in any phase of several runs   | each ends by its limit, or as without one        |
| each resumes the one before it; some of them compare alone, | no entry that no task came to is a difference    |
| after a run that copied                                     |                                                  |
| the last one has time                                       | it ends well                                     |
| a file that a comparison of the chain found equal           | no later comparison of the chain opens it again, |
|                                                             | unless a sync copied it again; between two       |
|                                                             | mounts its copy: a file is opened for its        |
|                                                             | attributes by the function that sees it          |
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from random import Random
from typing import Any

from msgspec.structs import replace

from fanout.ledger.ledger import Ledger
from fanout.model.errors import FanoutError
from fanout.model.outcome import Result
from fanout.shards.record import all_records, rows_of
from tests.adversary.deeds import soon
from tests.adversary.differences import NAMED
from tests.adversary.lab import Lab
from tests.adversary.remedies import RETRIED
from tests.adversary.scope import REFUSED, Finding, Record, Scope
from tests.adversary.script import TWO_MOUNTS, Act, Fault, Script
from tests.adversary.trees import Snapshot

LIMITED = "limited"
MAX_SECONDS, MAX_DOLLARS = 600, 0.02
# The phases, by the states in which most of the work is done.
_STATES = (
    *("list", "list destination", "partition", "copy", "copy", "pack", "unpack", "finish", "finish"),
    *("begin verification", "verify", "verify", "verify", "digest", "begin deletion", "delete", "remove directories"),
)
_OF_COMPARISONS = ("list", "partition", "verify", "verify", "verify", "digest")
_LIMITS = {"OutOfTime": "limits.max_seconds", "OutOfBudget": "limits.max_dollars"}
_NOT_REACHED = frozenset({"the shard failed", "not verified"})
_DIFFERENCES = frozenset({"missing at the destination", "size or kind differs", "not at the source"})
# These take over what the run that they resume listed, and others only what it proved.
CARRYING_OVER = ("copy", "move")
COPIED_FIRST = "copied-first"
_OTHER_LIMITS = frozenset({"window", "finish_by", "max_dollars"})
Acts = tuple[Act, ...]


def limited(draw: Random, options: dict[str, Any], acts: Acts) -> Acts:
    """Draw such a chain in place of ``acts``, now and then."""
    chance, runs, verify = draw.random(), draw.randint(1, 3), draw.choice(("all", "all", "copied", ""))
    limit = draw.choice(({"max_seconds": MAX_SECONDS}, {"max_seconds": MAX_SECONDS}, {"max_dollars": MAX_DOLLARS}))
    wait = Act("wait", seconds=draw.randint(5, 30))
    given, mode = options.get("limits", {}), options.get("mode", "copy")
    faults = [Fault(f"{draw.choice(_STATES)}/any", soon(draw, 60), "late", draw.random() < 0.5) for _ in range(runs)]
    compares = draw.random() < 0.4
    if (
        chance > 0.06
        or given.keys() & _OTHER_LIMITS
        or options.keys() & {"certificate", "checksums"}
        or acts[0].what != "run"
    ):
        return acts
    own: dict[str, Any] = {"limits": {**given, **limit}}
    plain = not compares and not options.keys() & {"verify", "manifest", "overwrite"} and mode in ("copy", "sync")
    own |= {"verify": verify} if verify and plain else {}
    chain: list[Act] = []
    if compares:
        own |= {"mode": "verify"}
        chain += [Act("run", COPIED_FIRST), wait]
        faults = [replace(one, kind=f"{draw.choice(_OF_COMPARISONS)}/any") for one in faults]
    for number, fault in enumerate([*faults, None]):
        name = RETRIED if fault is None else f"{LIMITED}{number}"
        resumed = {"resume_from": f"{LIMITED}{number - 1}"} if number else {}
        chain += [Act("run", name, {**own, **resumed}, (fault,) if fault else ()), wait]
    return (*chain, Act("run", "last"))


class Proofs:
    """The files that comparisons found equal, and those that each run opened to compare them."""

    def __init__(self) -> None:
        self._proven: dict[str, set[str]] = {}

    def judge(self, record: Record, resumed: str, opened: set[str], ledger: Ledger) -> Iterator[Finding]:
        """Find files that are compared again in a chain in which only time passed."""
        before = self._proven.get(resumed, set()) if resumed.startswith(LIMITED) else set()
        before -= _copied_by(ledger) if record.mode == "sync" else set()
        self._proven[record.run] = before | _proven_by(ledger if record.mode == "verify" else ledger.verification())
        moved = bool(record.touched or record.nested or record.told - {"late"})
        # A sync lists the destination anew, and reads it with this.
        reads = record.mode == "sync" and record.options.get("compare") == "checksum"
        again = sorted(before & opened) if not (moved or reads) else []
        if again:
            yield Finding("proven twice", f"run {record.run} compares {again} again, which run {resumed} has proven")


def opened_of(about: Iterable[str], script: Script, lab: Lab) -> set[str]:
    """The files that comparisons opened, by what their operations were about; see the module."""
    place = lab.destination if script.direction == TWO_MOUNTS else lab.source
    return {place.path_of(one) for one in about} - {""}


def _proven_by(comparison: Ledger) -> set[str]:
    """The files that a comparison found equal, by its ledger."""
    found: set[str] = set()
    try:
        for record in all_records(comparison):
            if record.proven is not None:
                equal = {one.path for _, one in rows_of(record, comparison) if one.result is Result.UNCHANGED}
                for shard in record.proven.shards:
                    found |= {one.path for one in comparison.read_shard(shard) if one.kind.value == "file"} & equal
    except FanoutError:  # a script that damages the ledger
        return found
    return found


def _copied_by(ledger: Ledger) -> set[str]:
    """The files that a run copied, by its ledger."""
    try:
        found = (one for record in all_records(ledger) for _, one in rows_of(record, ledger))
        return {one.path for one in found if one.result is Result.COPIED}
    except FanoutError:  # a script that damages the ledger
        return set()


def _is_in_the_way(path: str, there: Snapshot) -> bool:
    """Whether the destination holds an entry of another kind at the place of one, or above it."""
    above = any(path.startswith(f"{one}/") for one, found in there.items() if found.kind != "directory")
    return above or (not path.endswith("/") and any(one.startswith(f"{path}/") for one in there))


def judge_limit(record: Record, scope: Scope) -> Iterator[Finding]:
    """A run that a limit stops says so, and calls no entry different that no task came to."""
    result, alone = record.result, record.told == {"late"} and not (record.nested or record.touched)
    if not record.run.startswith(LIMITED) or not alone:
        return
    error = result.error if isinstance(result.error, dict) else {}
    name = error.get("name") or error.get("Error")
    limit = _LIMITS.get(str(name), "")
    if not limit and name not in (None, "FailedWithItems", *REFUSED):
        yield Finding("limit", f"run {record.run}, in which only time passed, ended as {error}")
    if limit and limit.partition(".")[2] not in record.options["limits"]:
        yield Finding("limit", f"run {record.run} has no such limit: {error}")
    tree = record.window[-1]
    for row in result.failures:
        path, reason = row["path"], row["reason"]
        if reason in _NOT_REACHED and not (limit and limit in row.get("message", "")):
            yield Finding("limit", f"run {record.run}, which ended as {error}, does not name a limit in {row}")
        if record.mode == "verify":  # which finds what the run before it did not copy
            differs = reason in _DIFFERENCES and path in record.after
        else:
            differs = reason in _DIFFERENCES or reason in NAMED
        if (
            limit
            and differs
            and not _is_in_the_way(path, record.after)
            and path in tree
            and scope.can_be_held(path, tree[path], tree)
        ):
            yield Finding("limit", f"run {record.run} was stopped by {limit}, and calls {path!r} different: {row}")
