"""What is unlinked while this client, or another, holds it open."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from fanout.adapters.posix import removal
from fanout.adapters.posix.paths.directories import DIRECTORY_FLAGS
from fanout.adapters.posix.publishing.retired import remove_retired
from fanout.adapters.posix.tree import PosixTree
from fanout.model.checksum import NO_BYTES
from fanout.model.deadline import NEVER
from fanout.model.entry import Attributes, Entry, Kind
from fanout.model.errors import ItemError, Superseded, Transient
from fanout.ports.tree import Target
from tests.nfs.inside.mounts import Mounts, wait_until
from tests.support.mounts import world_of, writable
from tests.support.syncs import KEEP, SYNC, names, write


def begun(mount: Path, name: str = "file") -> tuple[PosixTree, Target]:
    """A tree of an attempt that has a file open in its staging directory."""
    tree = writable(PosixTree(mount, "tree", "run", "attempt"))
    target = tree.create(Entry(name, Kind.FILE, 8), Attributes())
    target.write(0, b"half")
    return tree, target


def test_a_run_ends_once_a_file_that_this_client_holds_is_closed(mounts: Mounts) -> None:
    _, target = begun(mounts.a)
    timer = threading.Timer(2.0, target.abort)
    timer.start()
    assert PosixTree(mounts.a, "tree", "run", "other").finish() == ()
    timer.join()
    assert names(mounts.b) == {"tree"}


def test_it_says_what_is_held_where_nobody_closes_it(mounts: Mounts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(removal, "REMOVAL_SECONDS", 0.5)
    tree, target = begun(mounts.a)
    with pytest.raises(Transient, match="held open"):
        PosixTree(mounts.a, "tree", "run", "other").finish()
    target.abort()
    assert tree.finish() == ()


def test_what_another_client_holds_open_goes_at_once_and_it_is_fenced(mounts: Mounts) -> None:
    _, target = begun(mounts.a)
    assert PosixTree(mounts.b, "tree", "run", "other").finish() == ()
    assert names(mounts.served) == {"tree"}
    with pytest.raises((ItemError, Superseded)):
        target.commit(NO_BYTES)
    target.abort()
    assert names(mounts.served) == {"tree"}


def test_a_version_whose_file_is_open_here_goes_with_the_next_removal(mounts: Mounts) -> None:
    write(mounts.a / ".removed-v1", "d/open", "d/e/file", "file")
    above = os.open(mounts.a, DIRECTORY_FLAGS)
    with (mounts.a / ".removed-v1/d/open").open():
        assert remove_retired(above, ".removed-v1", "v1", NEVER, lambda: None).done
        assert [path.is_dir() for path in (mounts.a / ".removed-v1/d").iterdir()] == [False]
    assert remove_retired(above, ".removed-v1", "v1", NEVER, lambda: None).done
    os.close(above)
    assert os.listdir(mounts.a) == []


def test_a_sync_leaves_what_a_client_holds_open_at_either_end(mounts: Mounts) -> None:
    write(mounts.a / "in", *KEEP, "open")
    write(mounts.a / "out", "keep/open", "extra")
    with (mounts.a / "in/open").open(), (mounts.a / "out/keep/open").open():
        (mounts.a / "in/open").unlink()
        (mounts.a / "out/keep/open").unlink()
        summary = world_of(mounts.b).run(SYNC)
        assert (summary["status"], summary["totals"]["skipped"]["entries"]) == ("SUCCEEDED", 1)
        assert len(list(mounts.b.rglob(".nfs*"))) == 2
    wait_until(lambda: not list(mounts.served.rglob(".nfs*")))  # close does not wait for the removal
    assert names(mounts.served / "in") == names(mounts.served / "out")
