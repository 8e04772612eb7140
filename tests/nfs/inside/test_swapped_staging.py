"""The attacks of a second user on what a run stages in, by an NFS client, and on a run behind an access point."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fanout.adapters.posix.tree import PosixTree
from fanout.model.errors import InvalidRequest, Superseded
from tests.adapters.posix.test_swapped_staging import (  # noqa: F401 - they run here on the mount
    NAME,
    NOTES,
    SECRET,
    no_notes,
    read_by_attacker,
    swap,
    test_a_completion_that_ended_between_link_and_unlink_is_done_again,
    test_a_directory_of_the_runs_name_that_another_user_made_before_is_refused,
    test_a_stopped_runs_directory_goes_under_the_name_that_somebody_gave_it,
    test_another_attempt_at_the_check_takes_what_the_first_one_made_whether_it_noted_it_or_not,
    test_another_file_than_the_blocks_were_written_to_gets_no_place,
    test_blocks_of_a_big_file_are_in_one_file_that_the_first_of_them_made,
    test_nothing_is_staged_in_a_directory_that_was_swapped,
    test_one_that_was_swapped_is_not_removed_at_the_end_and_the_runs_own_goes_where_it_is_now,
    test_what_somebody_renamed_to_a_staging_directory_is_not_removed,
    test_what_was_open_before_it_was_swapped_stages_where_it_began,
)
from tests.nfs.inside.mounts import POINT_USER, Mounts
from tests.support.mounts import noted, write_whole
from tests.support.nobody import NOBODY, as_nobody


@pytest.fixture
def root(mounts: Mounts) -> Path:
    """A root that belongs to the attacker, with a directory in it that he may not enter."""
    place = mounts.a / "project"
    place.mkdir()
    os.chown(place, NOBODY, NOBODY)
    (place / "private").mkdir(mode=0o700)
    return place


@pytest.fixture
def point(mounts: Mounts) -> Path:
    """The same root as an access point with another user than root shows it; who attacks is behind no access point."""
    place = mounts.a / "project"
    place.mkdir()
    os.chown(place, NOBODY, NOBODY)
    place.chmod(0o777)
    return mounts.point / "project"


def begun(point: Path, nonce: str) -> PosixTree:
    tree = PosixTree(point.parent, "project", "run", nonce)
    tree.recall(lambda: NOTES.get("run"))
    return tree


def test_behind_an_access_point_the_owner_is_its_user(point: Path) -> None:
    first = begun(point, "check")
    first.check(writing=True)
    NOTES["run"] = staged = first.staged()
    assert staged is not None and staged.owner == POINT_USER
    write_whole(begun(point, "n1"), "file", b"data")
    assert begun(point, "n2").finish() == ()
    assert [path.name for path in point.iterdir()] == ["file"]


def test_a_swap_by_a_user_of_another_client_is_found_behind_an_access_point(point: Path, mounts: Mounts) -> None:
    first = begun(point, "check")
    first.check(writing=True)
    NOTES["run"] = first.staged()
    swap(mounts.a / "project", "n1")
    with pytest.raises(Superseded, match="owner 65534"):
        write_whole(begun(point, "n1"), "file", SECRET)
    assert SECRET.decode() not in read_by_attacker(mounts.a / "project")
    [problem] = begun(point, "finish").finish()
    assert "left there" in problem and (mounts.a / "project" / NAME).is_dir()


def test_one_that_was_made_before_is_refused_behind_an_access_point(point: Path, mounts: Mounts) -> None:
    as_nobody(lambda: os.mkdir(mounts.a / "project" / NAME, 0o777))
    with pytest.raises(InvalidRequest, match="owner 65534"):
        begun(point, "check").check(writing=True)


def test_what_another_user_renamed_is_left_behind_an_access_point(point: Path, mounts: Mounts) -> None:
    place = mounts.a / "project"
    (place / "alice").mkdir()
    (place / "alice/thesis").write_text("years of work")
    first = begun(point, "check")
    first.check(writing=True)
    as_nobody(lambda: os.rename(place / "alice", place / ".fanout-staging-zz"))
    assert first.fence([], tuple, made_by=noted(place)).left
    assert (place / ".fanout-staging-zz/thesis").is_file()
