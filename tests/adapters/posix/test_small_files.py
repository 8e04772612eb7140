"""Small files from tree to tree in one go: the same files as by the general way, or left to it."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from fanout.adapters.posix.tree import PosixTree
from fanout.copying.copier import Copier
from fanout.facts import tuning
from fanout.model.checksum import NO_BYTES, crc64nvme, to_base64
from fanout.model.deadline import NEVER
from fanout.model.entry import Attributes, Entry
from fanout.model.entry_outcome import Outcome
from fanout.model.errors import ItemError
from fanout.model.outcome import Reason, Result
from fanout.ports.tree import SmallFiles, Source
from tests.support.memory import MemoryTree
from tests.support.mounts import writable

MTIME_NS = 1_600_000_000_123_456_789
SMALL = tuning.BLOCK_BYTES_FREE - 1  # the most bytes that go the short way


class Pair:
    """Two trees in directories, and the short way between them."""

    def __init__(self, root: Path) -> None:
        self.there, self.here = root / "in/tree", root / "out/copy"
        self.there.mkdir(parents=True)
        self.here.parent.mkdir()
        self.source = PosixTree(root / "in", "tree", "run", "attempt", "source")
        self.destination = writable(PosixTree(root / "out", "copy", "run", "attempt"))
        small = self.destination.small_files_from(self.source)
        assert small is not None
        self.small: SmallFiles = small

    def put(self, path: str, data: bytes, mode: int = 0o640) -> Entry:
        """A file at the source, as a listing shows it."""
        file = self.there / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
        file.chmod(mode)
        os.utime(file, ns=(MTIME_NS - 1, MTIME_NS))
        entry = self.source.find(path)
        assert entry is not None
        return entry

    def staged(self) -> list[Path]:
        return [path for path in self.here.rglob(".fanout-staging-*/**/*") if not path.is_dir()]


class Disk:
    """Takes so many bytes more, and then none."""

    def __init__(self, room: int, error: int) -> None:
        self.room, self._error, self._plain = room, error, os.pwrite

    def write(self, descriptor: int, data: bytes, offset: int) -> int:
        """As ``os.pwrite``."""
        if not self.room:
            raise OSError(self._error, os.strerror(self._error))
        written = self._plain(descriptor, data[: self.room], offset)
        self.room -= written
        return written


def copied(pair: Pair, entries: list[Entry], **options: Any) -> list[Outcome]:
    """What becomes of entries that a function copies one after the other."""
    copier = Copier(pair.source, pair.destination, NEVER, **options)
    return [outcome for _, outcome in sorted(copier.copy_all(enumerate(entries), 1), key=lambda done: done[0])]


@pytest.fixture
def pair(tmp_path: Path) -> Pair:
    return Pair(tmp_path)


@given(data=st.binary(max_size=SMALL), mode=st.sampled_from([0o400, 0o640, 0o777, 0o4755, 0o2711]))
def test_bytes_mode_and_times_arrive_with_the_checksum(data: bytes, mode: int) -> None:
    with tempfile.TemporaryDirectory() as root:
        pair = Pair(Path(root))
        checksum = pair.small.copy(pair.put("a/b/file", data, mode))
        found = (pair.here / "a/b/file").stat()
        assert (pair.here / "a/b/file").read_bytes() == data
        assert (stat.S_IMODE(found.st_mode), found.st_mtime_ns, found.st_nlink) == (mode, MTIME_NS, 1)
        assert checksum == crc64nvme(data, NO_BYTES)
        assert not pair.staged()


def test_a_file_that_is_there_is_replaced_and_one_for_another_place_goes_there(pair: Pair) -> None:
    (pair.here / "d").mkdir(parents=True)
    (pair.here / "d/old").write_text("old")
    pair.small.copy(pair.put("d/old", b"new"))
    moved = replace(pair.put("x:y", b"z"), target="d/x_y")
    pair.small.copy(moved)
    assert (pair.here / "d/old").read_bytes() == b"new"
    assert (pair.here / "d/x_y").read_bytes() == b"z"


@pytest.mark.parametrize("change", ["longer", "touched", "gone", "link", "directory"])
def test_a_source_that_is_not_what_was_listed_is_left_to_the_general_way(pair: Pair, change: str) -> None:
    entry = pair.put("file", b"bytes")
    file = pair.there / "file"
    if change == "longer":
        file.write_bytes(b"longer bytes")
        os.utime(file, ns=(MTIME_NS, MTIME_NS))
    elif change == "touched":
        os.utime(file, ns=(MTIME_NS, MTIME_NS + 1))
    else:
        file.unlink()
        if change == "link":
            file.symlink_to(pair.put("other", b"bytes").path)
        elif change == "directory":
            file.mkdir()
    assert pair.small.copy(entry) is None
    assert not (pair.here / "file").exists()


def test_a_file_that_changes_while_it_is_read_is_left_to_the_general_way(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry, plain = pair.put("file", b"bytes"), os.pread

    def read(descriptor: int, length: int, offset: int) -> bytes:
        data = plain(descriptor, length, offset)
        with (pair.there / "file").open("ab") as file:
            file.write(b" more")
        return data

    monkeypatch.setattr(os, "pread", read)
    assert pair.small.copy(entry) is None
    assert not (pair.here / "file").exists()


def test_what_can_not_be_written_says_why_and_leaves_nothing(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    (pair.here / "file").mkdir(parents=True)
    with pytest.raises(ItemError) as kind:
        pair.small.copy(pair.put("file", b"bytes"))
    monkeypatch.setattr(os, "pwrite", Disk(room=0, error=errno.EIO).write)
    with pytest.raises(ItemError, match="EIO") as broken:
        pair.small.copy(pair.put("other", b"bytes"))
    assert [kind.value.reason, broken.value.reason] == [Reason.DESTINATION_KIND, Reason.TRANSIENT]
    assert not pair.staged()
    assert not (pair.here / "other").exists()


def test_a_disk_that_is_full_after_a_part_of_the_file_is_called_full(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = Disk(room=3, error=errno.ENOSPC)
    monkeypatch.setattr(os, "pwrite", disk.write)
    with pytest.raises(ItemError, match="ENOSPC") as full:
        pair.small.copy(pair.put("d/file", b"bytes"))
    assert full.value.reason is Reason.NO_SPACE
    assert disk.room == 0
    assert not pair.staged()
    assert not (pair.here / "d/file").exists()


@pytest.mark.parametrize("compares", [False, True])
def test_files_of_less_than_64_kib_go_the_short_way_also_where_checksums_are_compared(
    pair: Pair, monkeypatch: pytest.MonkeyPatch, compares: bool
) -> None:
    small = pair.put("small", bytes(SMALL))
    large = pair.put("large", bytes(tuning.BLOCK_BYTES_FREE))
    opened, plain = [], pair.source.open

    def opening(entry: Entry) -> Source:
        opened.append(entry.path)
        return plain(entry)

    monkeypatch.setattr(pair.source, "open", opening)
    outcomes = copied(pair, [small, large], **({"same": lambda entry: None} if compares else {}))
    assert opened == ["large"]
    assert [outcome.result for outcome in outcomes] == [Result.COPIED] * 2
    assert outcomes[0].crc64nvme == to_base64(crc64nvme(bytes(small.size), NO_BYTES))


def test_a_file_of_64_kib_of_zeros_keeps_its_hole(pair: Pair) -> None:
    pair.put("zeros", b"")
    os.truncate(pair.there / "zeros", tuning.BLOCK_BYTES_FREE)
    entry = pair.source.find("zeros")
    assert entry is not None
    assert [outcome.result for outcome in copied(pair, [entry])] == [Result.COPIED]
    found = (pair.here / "zeros").stat()
    assert found.st_blocks * 512 < found.st_size == tuning.BLOCK_BYTES_FREE
    assert (pair.here / "zeros").read_bytes() == bytes(tuning.BLOCK_BYTES_FREE)


def test_a_symlink_in_the_way_leads_nobody_outside(pair: Pair, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (pair.here / "d").symlink_to(outside)
    with pytest.raises(ItemError) as refused:
        pair.small.copy(pair.put("d/file", b"bytes"))
    assert refused.value.reason is Reason.LINK_IN_PATH
    assert not list(outside.iterdir())


def test_only_plain_directories_of_mounts_know_the_short_way(pair: Pair, tmp_path: Path) -> None:
    followed = PosixTree(tmp_path / "in", "tree", "run", "attempt", "source", follow=True)
    assert pair.destination.small_files_from(followed) is None
    assert pair.destination.small_files_from(MemoryTree()) is None


@pytest.mark.parametrize("short", [True, False])
def test_bytes_that_the_server_refuses_when_they_are_sent_get_no_place(
    pair: Pair, monkeypatch: pytest.MonkeyPatch, short: bool
) -> None:
    entry, duplicate, close = pair.put("file", b"bytes"), os.dup, os.close
    duplicates: list[int] = []

    def dup(descriptor: int) -> int:
        duplicates.append(duplicate(descriptor))
        return duplicates[-1]

    def flush(descriptor: int) -> None:
        close(descriptor)
        if descriptor in duplicates:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "dup", dup)
    monkeypatch.setattr(os, "close", flush)
    with pytest.raises(ItemError) as full:
        if short:
            pair.small.copy(entry)
        else:
            target = pair.destination.create(entry, Attributes(mode=0o640, mtime_ns=MTIME_NS))
            target.write(0, b"bytes")
            target.commit(NO_BYTES)
    monkeypatch.undo()
    assert (full.value.reason, len(duplicates)) == (Reason.NO_SPACE, 1)
    assert not (pair.here / "file").exists()
