"""What was changed after a run, or outside of its ends, that the run may not change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from tests.adversary.scope import Finding
from tests.adversary.thieves import THIEF
from tests.adversary.trees import Snapshot


def judge_zombies(
    run: str, zombies: Iterable[tuple[str, Snapshot]], after: Snapshot, listed: Snapshot, *, to_bucket: bool
) -> Iterator[Finding]:
    """What a stopped run changed after a later one had ended, whose trees then are ``zombies``, by its name.

    No fence holds back a late write to a bucket over bytes that the stopped run had ``listed``
    (docs/understand/stopped-runs.md). A local user may forge a file of the root at any time.
    """
    for later, then in zombies:
        for path in sorted(then.keys() | after.keys()):
            old, new, known = then.get(path), after.get(path), listed.get(path)
            is_late = to_bucket and new is not None and (old and old.content) == (known and known.content)
            shown = [one and (one.content, one.mode) for one in (old, new)]
            is_forged = new is not None and new.uid == THIEF
            if shown[0] != shown[1] and not is_late and not is_forged:
                yield Finding("zombie", f"run {run}, stopped, changed {path!r} after run {later} had ended")


def judge_outside(run: str, end: str, before: Snapshot, now: Snapshot) -> Iterator[Finding]:
    """A change outside the root of an end."""
    changed = changed_paths(before, now)
    if changed:
        yield Finding("outside", f"run {run} changed {changed} outside the {end}")


def changed_paths(then: Snapshot, now: Snapshot) -> list[str]:
    """The paths of entries that differ in more than their ctime."""
    return sorted(path for path in then | now if _without_ctime(then, path) != _without_ctime(now, path))


def _without_ctime(tree: Snapshot, path: str) -> Any:
    version = tree.get(path)
    return version and replace(version, changed_ns=0)
