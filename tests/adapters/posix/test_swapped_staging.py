"""A user of the mount who may write to a run's root swaps what the run stages in: nothing is read, forged or removed.

Root is the run's user here, as behind an access point with ``PosixUserId=0``; the attacker is another user.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fanout.adapters.posix.tree import PosixTree
from fanout.model.checksum import NO_BYTES
from fanout.model.entry import Attributes, Entry, Kind
from fanout.model.errors import InvalidRequest, ItemError, Superseded, Transient
from fanout.model.file_system import Staged
from fanout.model.shard import Receipt
from fanout.ports.turns import Fence
from tests.support.mounts import noted, write_whole
from tests.support.nobody import NOBODY, as_nobody, open_directory

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs two users")
NAME = ".fanout-staging-run"
BIG = Entry("private/big", Kind.FILE, 2 << 20)
SECRET = b"secret of a block"
# What the ledgers of runs note.
NOTES: dict[str, Staged | None] = {}


@pytest.fixture
def root() -> Iterator[Path]:
    """A root that belongs to the attacker, with a directory in it that he may not enter."""
    with open_directory() as mount:
        place = mount / "project"
        place.mkdir()
        os.chown(place, NOBODY, NOBODY)
        (place / "private").mkdir(mode=0o700)
        yield place


def tree_of(root: Path, nonce: str, run_id: str = "run") -> PosixTree:
    """A function of a run, which reads of its ledger what CheckMount noted."""
    tree = PosixTree(root.parent, root.name, run_id, nonce)
    found = NOTES.get(run_id)
    tree.recall(lambda: found)
    return tree


@pytest.fixture(autouse=True)
def no_notes() -> None:
    NOTES.clear()


def begun(root: Path, run_id: str = "run") -> PosixTree:
    """After CheckMount."""
    tree = tree_of(root, "check", run_id)
    tree.check(writing=True)
    NOTES[run_id] = tree.staged()
    return tree


def swap(root: Path, *below: str) -> None:
    """The attacker puts a directory of his own in the place of the run's, with others in it."""

    def attack() -> None:
        os.umask(0)
        os.chdir(root)
        os.rename(NAME, ".kept")
        for one in ("", *below):
            os.mkdir(f"{NAME}/{one}", 0o777)

    as_nobody(attack)


def read_by_attacker(root: Path) -> str:
    """All that he can read of the files below the root."""

    def attack() -> str:
        text = ""
        for at, _, names in os.walk(root):
            for name in names:
                if os.access(f"{at}/{name}", os.R_OK):
                    text += Path(at, name).read_bytes().decode(errors="replace")
        return text

    return str(as_nobody(attack))


WRITES: dict[str, Callable[[PosixTree], object]] = {
    "a file": lambda tree: write_whole(tree, "private/file", SECRET),
    "a directory": lambda tree: tree.make_directory(Entry("new/", Kind.DIRECTORY, 0), Attributes()),
    "a symlink": lambda tree: tree.make_symlink(Entry("private/link", Kind.SYMLINK, 1), b"x", Attributes()),
    "a block": lambda tree: tree.open_blocks(BIG, "token").write(0, 0, SECRET, 0),
    "the last block": lambda tree: tree.open_blocks(BIG, "token").complete([], 0, Attributes()),
    "attributes": lambda tree: tree.set_attributes(Entry("private/", Kind.DIRECTORY, 0), Attributes(mode=0o777)),
    "a mark": lambda tree: tree.mark(),
    "a trial": lambda tree: tree.limitations(),
}


@pytest.mark.parametrize("what", WRITES)
@pytest.mark.parametrize("is_noted", [True, False], ids=["noted", "of a run that noted nothing"])
def test_nothing_is_staged_in_a_directory_that_was_swapped(root: Path, what: str, is_noted: bool) -> None:
    begun(root)
    if not is_noted:
        NOTES.clear()
    swap(root, "big", "n1")
    before = sorted(root.rglob("*"))
    with pytest.raises(Superseded, match=r"/project/\.fanout-staging-run is .*owner 65534.*look who may"):
        WRITES[what](tree_of(root, "n1"))
    assert sorted(root.rglob("*")) == before
    assert SECRET.decode() not in read_by_attacker(root)


def test_nor_in_another_directory_of_the_runs_own_user(root: Path) -> None:
    begun(root)
    (root / "secrets").mkdir(mode=0o700)
    os.rename(root / NAME, root / ".kept")
    os.rename(root / "secrets", root / NAME)
    for write in WRITES.values():
        with pytest.raises(Superseded, match="another directory than the run made"):
            write(tree_of(root, "n1"))
    assert list((root / NAME).iterdir()) == []


def test_what_was_open_before_it_was_swapped_stages_where_it_began(root: Path) -> None:
    begun(root)
    tree = tree_of(root, "n1")
    target = tree.create(Entry("private/file", Kind.FILE, len(SECRET)), Attributes(mode=0o100600))
    target.write(0, SECRET)
    swap(root, "n1")
    target.commit(NO_BYTES)
    assert (root / "private/file").read_bytes() == SECRET
    assert SECRET.decode() not in read_by_attacker(root)
    with pytest.raises(Superseded):
        write_whole(tree_of(root, "n2"), "private/other", SECRET)


@pytest.mark.parametrize("mode", [0o755, 0o1777])
def test_a_directory_of_the_runs_name_that_another_user_made_before_is_refused(root: Path, mode: int) -> None:
    root.chmod(mode)
    as_nobody(lambda: os.mkdir(root / NAME, 0o777))
    with pytest.raises(InvalidRequest, match=r"is not the run's user's alone \(owner 65534.*under another name"):
        begun(root)
    assert list((root / NAME).iterdir()) == []


def test_a_full_one_of_the_same_user_is_not_taken_and_not_removed(root: Path) -> None:
    (root / NAME / "thesis").mkdir(parents=True)
    (root / NAME).chmod(0o700)
    with pytest.raises(Transient, match="does not say that the run made it"):
        begun(root)
    assert tree_of(root, "finish").finish()[0].startswith("/project/.fanout-staging-run is a directory that no ledger")
    assert (root / NAME / "thesis").is_dir()


def test_another_attempt_at_the_check_takes_what_the_first_one_made_whether_it_noted_it_or_not(root: Path) -> None:
    first = inode_of(begun(root))
    NOTES.clear()
    assert inode_of(begun(root)) == first
    begun(root).mark()
    assert inode_of(begun(root)) == first
    assert tree_of(root, "finish").finish() == ()


def inode_of(tree: PosixTree) -> str:
    staged = tree.staged()
    assert staged is not None
    return staged.inode


def test_a_directory_with_the_number_of_one_that_was_removed_is_not_removed(root: Path) -> None:
    """An inode number is given again, also to a directory of the same user."""
    begun(root)
    (root / "secrets").mkdir(mode=0o700)
    (root / "secrets/file").write_text("private")
    removed = NOTES["run"]
    assert removed is not None
    NOTES["run"] = Staged(str((root / "secrets").stat().st_ino), 0, removed.mark)
    os.rename(root / NAME, root / ".kept")
    os.rename(root / "secrets", root / NAME)
    assert "with the number of its inode" in tree_of(root, "finish").finish()[0]
    with pytest.raises(Superseded):
        tree_of(root, "n1")._staging.end_copies()
    assert (root / NAME / "file").read_text() == "private"


def test_one_that_was_swapped_is_not_removed_at_the_end_and_the_runs_own_goes_where_it_is_now(root: Path) -> None:
    begun(root)
    write_whole(tree_of(root, "n1"), "private/file", SECRET)
    (root / "secrets/deep").mkdir(parents=True)
    os.rename(root / NAME, root / ".kept")
    os.rename(root / "secrets", root / NAME)
    [problem] = tree_of(root, "finish").finish()
    assert problem.startswith("/project/.fanout-staging-run is another directory than the run made")
    assert (root / NAME / "deep").is_dir() and not (root / ".kept").exists()


@pytest.mark.parametrize("in_ledger", [True, False], ids=["a run's name", "no run's name"])
@pytest.mark.parametrize("known", [True, False], ids=["to be fenced", "found there"])
def test_what_somebody_renamed_to_a_staging_directory_is_not_removed(root: Path, in_ledger: bool, known: bool) -> None:
    """It is another user's, whom the attacker may not delete for."""
    begun(root)
    (root / "alice/deep").mkdir(parents=True)
    (root / "alice/deep/thesis").write_text("years of work")
    os.chown(root / "alice", 1000, 1000)
    (root / "alice").chmod(0o700)
    as_nobody(lambda: os.rename(root / "alice", root / ".fanout-staging-zz"))
    made_by = noted(root) if in_ledger else noted()
    fences = [Fence("project/", "zz")] if known else []
    whole, left = tree_of(root, "fence").fence(fences, tuple, made_by=made_by)
    assert whole and "/project/.fanout-staging-zz is " in left[0] and "remove it once no run" in left[0]
    assert (root / ".fanout-staging-zz/deep/thesis").read_text() == "years of work"


def test_a_stopped_runs_directory_goes_under_the_name_that_somebody_gave_it(root: Path) -> None:
    begun(root, "old")
    made_by = noted(root / ".fanout-staging-old")
    os.rename(root / ".fanout-staging-old", root / ".kept")
    (root / ".fanout-staging-old").mkdir()
    begun(root)
    _, left = tree_of(root, "fence").fence([], tuple, made_by=made_by)
    assert len(left) == 1 and not (root / ".kept").exists() and (root / ".fanout-staging-old").is_dir()


TOKENS = ["/etc/forged", "../forged", "../../forged", "..", ".", "", "a/b", "a\0b"]


@pytest.mark.parametrize("token", TOKENS)
def test_a_token_is_one_name(root: Path, token: str) -> None:
    begun(root)
    with pytest.raises(ItemError, match="is not the name of an entry"):
        tree_of(root, "n1").open_blocks(BIG, token)


def blocks_of(root: Path, *pieces: bytes) -> list[Receipt]:
    """Receipts of blocks, each of which a function of its own wrote."""
    receipts = []
    for index, piece in enumerate(pieces):
        blocks = tree_of(root, f"n{index}").open_blocks(BIG, "token")
        receipts.append(Receipt(index, etag=blocks.write(index, index << 20, piece, 0)))
        blocks.sync()
    return receipts


def test_blocks_of_a_big_file_are_in_one_file_that_the_first_of_them_made(root: Path) -> None:
    begun(root)
    receipts = blocks_of(root, b"a" * (1 << 20), b"b" * (1 << 20))
    [staged] = (root / NAME / "big").iterdir()
    assert {one.etag for one in receipts} == {str(staged.stat().st_ino)}
    tree_of(root, "finish").open_blocks(BIG, "token").complete(receipts, 0, Attributes(mode=0o100600))
    tree_of(root, "again").open_blocks(BIG, "token").complete(receipts, 0, Attributes(mode=0o100600))
    assert (root / "private/big").read_bytes() == b"a" * (1 << 20) + b"b" * (1 << 20)


def replaced(staged: Path) -> None:
    staged.rename(staged.with_name("kept"))
    staged.write_bytes(b"forged")


def owned(staged: Path) -> None:
    os.chown(staged, NOBODY, NOBODY)


def linked(staged: Path) -> None:
    os.link(staged, staged.parents[2] / "mine")


def made_a_fifo(staged: Path) -> None:
    staged.rename(staged.with_name("kept"))
    os.mkfifo(staged)
    os.open(staged, os.O_RDWR | os.O_NONBLOCK)  # so that nobody waits for a reader


@pytest.mark.parametrize("deed", [replaced, owned, linked, made_a_fifo])
def test_another_file_than_the_blocks_were_written_to_gets_no_place(root: Path, deed: Callable[[Path], None]) -> None:
    begun(root)
    receipts = blocks_of(root, b"a" * (1 << 20))
    deed(root / NAME / "big/token")
    with pytest.raises(Superseded, match=r"big/token is (no file|not the run's|another file)"):
        tree_of(root, "finish").open_blocks(BIG, "token").complete(receipts, 0, Attributes())
    assert not (root / "private/big").exists()


def test_a_completion_that_ended_between_link_and_unlink_is_done_again(root: Path) -> None:
    begun(root)
    receipts = blocks_of(root, b"a" * (1 << 20), b"b" * (1 << 20))
    os.link(root / NAME / "big/token", root / "private/big")
    tree_of(root, "finish").open_blocks(BIG, "token").complete(receipts, 0, Attributes())
    assert (root / "private/big").stat().st_size == BIG.size
