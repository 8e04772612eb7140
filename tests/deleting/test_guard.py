"""The guard of a sync is its table."""

from __future__ import annotations

import pytest

from fanout.deleting.guard import Scope, refusal
from fanout.request.parts.limits import DeleteGuard

DEFAULT = DeleteGuard()
TABLE = [
    # found, guard, a part of the refusal
    (Scope(0, 0, 0, complete=False), DEFAULT, ""),
    (Scope(100, 100, 0, complete=False), DEFAULT, ""),
    (Scope(100, 100, 1, complete=False), DeleteGuard(None, 100.0), "could not be listed"),
    (Scope(0, 100, 1, complete=True), DeleteGuard(None, 100.0), "the source holds nothing"),
    (Scope(5, 5, 5, complete=True), DeleteGuard(None, 100.0), "all of them"),
    (Scope(1, 1, 1, complete=True), DEFAULT, "all of them"),
    (Scope(100, 100, 5, complete=True), DeleteGuard(4, 100.0), "delete_guard.max_count 4"),
    (Scope(100, 100, 4, complete=True), DeleteGuard(4, 100.0), ""),
    (Scope(100, 100, 10, complete=True), DEFAULT, ""),
    (Scope(100, 100, 11, complete=True), DEFAULT, "11.0 %, over delete_guard.max_percent 10"),
    (Scope(100, 100, 1, complete=True), DeleteGuard(None, 0.0), "delete_guard.max_percent 0"),
    (Scope(1, 100, 99, complete=True), DeleteGuard(None, 100.0), ""),
]


@pytest.mark.parametrize(("found", "guard", "part"), TABLE)
def test_table(found: Scope, guard: DeleteGuard, part: str) -> None:
    verdict = refusal(found, guard)
    assert bool(verdict) == bool(part)
    assert part in verdict
