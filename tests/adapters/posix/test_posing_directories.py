"""A user of the mount renames directories of others to names under which something is removed: nothing of them goes."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fanout.adapters.posix.probe.probe import probe_mount
from fanout.adapters.posix.probe.probe_directory import ABANDONED_SECONDS, PosixProbeDirectory
from fanout.adapters.posix.tree import PosixTree
from fanout.model.deadline import Deadline
from fanout.model.errors import InvalidRequest, ItemError
from tests.support.mounts import writable
from tests.support.nobody import NOBODY, open_directory

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs two users")


@pytest.fixture
def mount() -> Iterator[Path]:
    with open_directory() as path:
        yield path


def thesis(place: Path, name: str) -> Path:
    """A directory of somebody, under a name of ours."""
    (place / name / "deep").mkdir(parents=True)
    (place / name / "deep/thesis").write_text("years of work")
    return place / name / "deep/thesis"


@pytest.mark.parametrize("kind", ["owned", "group may write", "all may write"])
def test_no_version_is_removed_where_others_may_rename_what_is_next_to_it(mount: Path, kind: str) -> None:
    tree = writable(PosixTree(mount, "site/versions/v2", "v2", "n", stages_at="site/versions/"))
    above = mount / "site/versions"
    posing, old = thesis(above, ".removed-x"), thesis(above, "v1")
    if kind == "owned":
        os.chown(above, NOBODY, NOBODY)
    else:
        above.chmod(0o775 if kind == "group may write" else 0o1777)
    versions = tree.versions("current")
    for remove in (lambda: versions.retire("v1"), lambda: versions.remove_retired(Deadline(time.monotonic, 1e18))):
        with pytest.raises(InvalidRequest, match="no write permission for group and others"):
            remove()
    assert posing.is_file() and old.is_file()


def test_versions_of_the_runs_user_alone_are_removed(mount: Path) -> None:
    tree = writable(PosixTree(mount, "site/versions/v2", "v2", "n", stages_at="site/versions/"))
    old = thesis(mount / "site/versions", "v1")
    versions = tree.versions("current")
    versions.retire("v1")
    assert versions.remove_retired(Deadline(time.monotonic, 1e18)) == (True, ())
    assert not old.exists() and not list((mount / "site/versions").glob(".removed-*"))


@pytest.mark.parametrize("kind", ["another user's", "others may write to it"])
def test_a_probe_removes_no_directory_that_others_may_have_filled(mount: Path, kind: str) -> None:
    """Whatever a ledger notes of it."""
    old = PosixProbeDirectory(mount, "", "old", "client")
    made = old.begin()
    posing = thesis(mount, ".fanout-staging-probe-old/deep").parent
    place = mount / ".fanout-staging-probe-old"
    if kind == "another user's":
        os.chown(place, NOBODY, NOBODY)
    else:
        place.chmod(0o777)
    long_ago = time.time() - 10 * ABANDONED_SECONDS
    os.utime(place, (long_ago, long_ago))
    probe = PosixProbeDirectory(mount, "", "new", "client")
    probe.enter(probe.begin())
    assert probe.remove_others(lambda _probe_id: made).at_work == []
    assert probe.remove() == ""
    old.enter(made)
    assert "is not the run's user's alone" in old.remove()
    assert posing.is_dir() and not (mount / ".fanout-staging-probe-new").exists()


def test_a_probe_does_not_take_the_directory_that_another_user_made_for_it(mount: Path) -> None:
    (mount / ".fanout-staging-probe-new").mkdir(mode=0o777)
    os.chown(mount / ".fanout-staging-probe-new", NOBODY, NOBODY)
    probe = PosixProbeDirectory(mount, "", "new", "client")
    with pytest.raises(ItemError, match="is there already"):
        probe.begin()
    with pytest.raises(ItemError, match="is not noted as this probe's"):
        probe.claim("00-00")
    assert "no ledger of this stack notes" in probe.remove()
    assert (mount / ".fanout-staging-probe-new").is_dir()


def test_the_doctor_removes_nothing_that_it_did_not_make(mount: Path) -> None:
    posing = thesis(mount, ".fanout-staging-doctor-n1")
    assert any(finding.remedy for finding in probe_mount("data", mount, "n1"))
    assert posing.is_file()
    assert not any(one.name.endswith("n2") for one in mount.iterdir() if list(probe_mount("data", mount, "n2")))
