"""A body on its way: which pieces are handed over, and what is left of one that is not taken."""

from __future__ import annotations

import threading

import pytest

from fanout.adapters.http.arriving import PIECE_BYTES, Arriving

BODY = bytes(range(251)) * (3 * PIECE_BYTES // 251)


def came(arriving: Arriving, data: bytes, step: int) -> None:
    for start in range(0, len(data), step):
        arriving.add(data[start : start + step])
    arriving.end()


@pytest.mark.parametrize("step", [16_384, 65_536, 1_000, PIECE_BYTES, len(BODY)])
@pytest.mark.parametrize("place", [0, PIECE_BYTES, 7, 8 * PIECE_BYTES - 1])
def test_pieces_end_at_their_places_however_the_bytes_come(place: int, step: int) -> None:
    arriving = Arriving(place)
    came(arriving, BODY, step)
    pieces = list(arriving.take(lambda: True))
    assert b"".join(pieces) == BODY
    ends = [place + sum(map(len, pieces[: number + 1])) for number in range(len(pieces))]
    assert all(end % PIECE_BYTES == 0 for end in ends[:-1])
    assert max(map(len, pieces)) <= PIECE_BYTES
    assert (arriving.taken_bytes, arriving.left()) == (len(BODY), b"")


@pytest.mark.parametrize("size", [0, 1, len(BODY)])
def test_what_is_not_taken_is_left(size: int) -> None:
    arriving = Arriving(0)
    came(arriving, BODY[:size], 10_000)
    assert list(arriving.take(lambda: False)) == []
    assert (arriving.left(), arriving.taken_bytes) == (BODY[:size], 0)


def test_a_piece_is_there_before_the_body_ends() -> None:
    arriving = Arriving(0)
    arriving.add(BODY[: PIECE_BYTES + 5])
    pieces = arriving.take(lambda: True)
    assert next(pieces) == BODY[:PIECE_BYTES]
    threading.Timer(0.05, arriving.end).start()
    assert list(pieces) == [BODY[PIECE_BYTES : PIECE_BYTES + 5]]
