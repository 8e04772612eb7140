"""Archived objects with metadata, and what comparisons and moves say of metadata: drawn, and found."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

from fanout.adapters.s3.client import faults
from fanout.books import verification_results
from fanout.model.errors import AccessDenied
from fanout.verifying import not_holdable
from tests.adversary.archived import archive
from tests.adversary.metadata import drawn_headers, drawn_tags
from tests.adversary.runner import Outcome, carry_out
from tests.adversary.script import DIRECTIONS, INSIDE_S3, S3_TO_MOUNT, Act, Script, Spec

FILES = tuple(Spec(f"d/f{number}", size=9, seed=number) for number in range(40))
ARCHIVED = tuple(Spec(f"a{number}", size=9, seed=number, storage="GLACIER") for number in range(40))
ALLOWS: dict[str, Any] = {"mode": "move", "on_not_holdable": "allow"}


def last(directory: Path, direction: str, source: tuple[Spec, ...], **options: Any) -> Outcome:
    return carry_out(Script(0, direction, source, (), (Act("run", "last"),), options), directory / "lab")


@pytest.mark.parametrize("options", [{}, {"verify": "all"}, {"mode": "move"}, ALLOWS])
@pytest.mark.parametrize("direction", [S3_TO_MOUNT, INSIDE_S3])
def test_what_is_archived_fails_or_is_left_out(direction: str, options: dict[str, Any], tmp_path: Path) -> None:
    source = (*FILES, *ARCHIVED)
    failed = last(tmp_path, direction, source, **options)
    assert (failed.findings, failed.statuses) == ([], [("last", "FAILED_WITH_ITEMS")])
    skips = last(tmp_path, direction, source, archived="skip", **options)
    held_back = options.get("mode") == "move" and direction == S3_TO_MOUNT and options != ALLOWS
    assert (skips.findings, skips.statuses) == ([], [("last", "FAILED_WITH_ITEMS" if held_back else "SUCCEEDED")])


def test_an_archived_object_that_is_read_as_another_fault_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(faults, "Held", AccessDenied)
    assert last(tmp_path, S3_TO_MOUNT, ARCHIVED).kinds == {"quiet entry failed"}


def test_a_move_that_does_not_count_tags_that_it_lets_go_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert last(tmp_path, S3_TO_MOUNT, FILES, **ALLOWS).findings == []
    monkeypatch.setattr(not_holdable, "_headers", lambda entry, source: [])
    assert last(tmp_path, S3_TO_MOUNT, FILES, **ALLOWS).kinds == {"let go"}


def test_a_comparison_that_does_not_say_what_it_leaves_out_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for direction in DIRECTIONS:
        assert last(tmp_path, direction, FILES[:4], verify="all").findings == []
    monkeypatch.setattr(verification_results, "not_compared", lambda *_: [])
    for direction in DIRECTIONS:
        assert last(tmp_path, direction, FILES[:4], verify="all").kinds == {"not told"}


def test_those_with_metadata_are_archived_first() -> None:
    drawn = [archive(Random(seed), S3_TO_MOUNT, FILES, {}) for seed in range(100)]
    held = [spec for source in drawn for spec in source if spec.storage]
    assert {spec.storage for spec in held} == {"GLACIER", "DEEP_ARCHIVE"}
    assert any(drawn_headers(spec) or drawn_tags(spec) for spec in held)
