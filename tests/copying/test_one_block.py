"""One block from a source to a target: in which pieces, and what becomes of the source where it goes wrong."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from fanout.copying.copier import copy_block
from fanout.model.checksum import NO_BYTES, crc64nvme
from fanout.model.entry import Attributes, Entry, Kind
from fanout.model.errors import ItemError
from fanout.model.outcome import Reason
from tests.support.memory_files import MemorySource, Stored

DATA = b"0123456789"


class Streamed(MemorySource):
    """Comes in pieces of four bytes."""

    is_closed = False

    def stream(self, offset: int, length: int) -> Generator[bytes]:
        """See ``ports.tree.Source``."""
        data = self.read(offset, length)
        try:
            for start in range(0, len(data), 4):
                yield data[start : start + 4]
        finally:
            self.is_closed = True


@pytest.fixture
def source() -> Streamed:
    return Streamed(Stored(Entry("f", Kind.FILE, len(DATA)), DATA, Attributes()))


@pytest.mark.parametrize(
    ("pieces", "written"), [(True, [(2, b"2345"), (6, b"678")]), (False, [(2, b"2345678")])], ids=["pieces", "whole"]
)
def test_each_piece_is_written_at_its_place(source: Streamed, pieces: bool, written: list[tuple[int, bytes]]) -> None:
    got: list[tuple[int, bytes, int]] = []
    before = crc64nvme(b"01", NO_BYTES)
    checksum = copy_block(source, 2, 7, before, lambda *one: got.append(one), pieces=pieces)
    assert [one[:2] for one in got] == written
    assert checksum == got[-1][2] == crc64nvme(DATA[:9], NO_BYTES)


@pytest.mark.parametrize("pieces", [True, False])
def test_a_source_that_is_shorter_has_changed(source: Streamed, pieces: bool) -> None:
    with pytest.raises(ItemError) as problem:
        copy_block(source, 5, 6, NO_BYTES, lambda *_: None, pieces=pieces)
    assert problem.value.reason is Reason.SOURCE_CHANGED


def test_a_source_is_left_where_a_write_fails(source: Streamed) -> None:
    def write(*_: object) -> None:
        raise ItemError(Reason.TRANSIENT, "no space")

    with pytest.raises(ItemError, match="no space"):
        copy_block(source, 0, 10, NO_BYTES, write, pieces=True)
    assert source.is_closed
