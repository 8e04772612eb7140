"""ExamineNetwork removes the directory of a self-test, and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fanout.model.errors import InvalidRequest
from fanout.runtime.selftest_removal import MARK
from tests.functions.conftest import Invoke

NAME = "fanout-selftest-20261123t000000"


def test_a_directory_with_its_mark_alone_is_removed_also_twice(s3: Any, invoke: Invoke, tmp_path: Path) -> None:
    (tmp_path / NAME).mkdir()
    (tmp_path / NAME / MARK).touch()
    for _ in range(2):
        assert invoke("ExamineNetwork", {"step": "RemoveSelftest", "directory": NAME}) == {"error": None}
    assert list(tmp_path.iterdir()) == []


def test_a_directory_that_holds_more_stays_whole(s3: Any, invoke: Invoke, tmp_path: Path) -> None:
    (tmp_path / NAME).mkdir()
    for name in (MARK, "mine"):
        (tmp_path / NAME / name).touch()
    assert (
        invoke("ExamineNetwork", {"step": "RemoveSelftest", "directory": NAME})["error"]
        == f"{NAME}: Directory not empty"
    )
    assert len(list((tmp_path / NAME).iterdir())) == 2


def test_a_symlink_of_that_name_is_not_followed(s3: Any, invoke: Invoke, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / MARK).touch()
    (tmp_path / NAME).symlink_to("mine")
    assert invoke("ExamineNetwork", {"step": "RemoveSelftest", "directory": NAME})["error"] is not None
    assert (tmp_path / "mine" / MARK).exists() and (tmp_path / NAME).is_symlink()


@pytest.mark.parametrize(
    "name", ["mine", "", None, 5, "fanout-selftest-", "fanout-selftest-../mine", f"{NAME}/x", f"{NAME}\n"]
)
def test_any_other_name_is_refused(s3: Any, invoke: Invoke, tmp_path: Path, name: Any) -> None:
    (tmp_path / "mine").mkdir()
    with pytest.raises(InvalidRequest, match="is not a directory of a self-test"):
        invoke("ExamineNetwork", {"step": "RemoveSelftest", "directory": name})
    assert (tmp_path / "mine").is_dir()
