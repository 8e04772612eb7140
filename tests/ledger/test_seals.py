"""Seals of the ledger's objects: what is read is what was written, under its own key, or an error."""

from __future__ import annotations

import gzip
import json
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanout.ledger.seals import sealed_gzip, sealed_json, unsealed_gzip, unsealed_json

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**127), 2**127) | st.text(),
    lambda one: st.lists(one) | st.dictionaries(st.text(), one),
).filter(lambda value: isinstance(value, (list, dict)))
KEYS = st.text(min_size=1)


def read(key: str, data: bytes) -> bytes | None:
    try:
        return unsealed_gzip(key, data)
    except ValueError:
        return None


@given(KEYS, VALUES)
def test_a_document_comes_back_and_is_json_to_everybody(key: str, value: object) -> None:
    data = sealed_json(key, value)
    assert unsealed_json(key, data) == value
    assert json.loads(data) == value


@given(KEYS, VALUES, st.data())
def test_a_changed_document_is_refused(key: str, value: object, data: st.DataObject) -> None:
    written = sealed_json(key, value)
    at = data.draw(st.integers(0, len(written) - 1))
    changed = written[:at] + bytes([written[at] ^ data.draw(st.integers(1, 255))]) + written[at + 1 :]
    with pytest.raises(ValueError):
        unsealed_json(key, changed)


@given(KEYS, VALUES, st.data())
def test_a_truncated_document_is_refused_or_lacks_its_seal_alone(key: str, value: object, data: st.DataObject) -> None:
    written = sealed_json(key, value)
    cut = written[: data.draw(st.integers(0, len(written) - 1))]
    try:
        assert unsealed_json(key, cut) == value
    except ValueError:
        return
    assert len(written) - len(cut) == 33


@given(KEYS, KEYS, VALUES, st.binary())
def test_an_object_of_another_key_is_refused(key: str, other: str, value: object, rows: bytes) -> None:
    if key == other:
        return
    with pytest.raises(ValueError, match="not those that were written"):
        unsealed_json(other, sealed_json(key, value))
    with pytest.raises(ValueError, match="not those that were written"):
        unsealed_gzip(other, sealed_gzip(key, rows))


@given(KEYS, st.binary(min_size=1), st.data())
def test_rows_come_back_or_are_refused(key: str, rows: bytes, data: st.DataObject) -> None:
    packed = sealed_gzip(key, rows)
    assert unsealed_gzip(key, packed) == gzip.decompress(packed) == rows
    cut = packed[: data.draw(st.integers(0, len(packed) - 1))]
    with pytest.raises(ValueError):
        unsealed_gzip(key, cut)
    at = data.draw(st.integers(0, len(packed) - 1))
    changed = packed[:at] + bytes([packed[at] ^ data.draw(st.integers(1, 255))]) + packed[at + 1 :]
    assert read(key, changed) in (rows, None)  # a bit of the header may say nothing about the bytes


def test_objects_without_a_seal_are_read_and_nonsense_is_refused() -> None:
    assert unsealed_json("a", b'{\n "b": 1\n}') == {"b": 1}
    assert unsealed_gzip("a", gzip.compress(b"rows", mtime=0)) == b"rows"
    for data in (b"", b"\xff", b"[" * 100_000, b"{", b"[1]\n"):
        with pytest.raises(ValueError):
            unsealed_json("a", data)


@pytest.mark.parametrize("secret", [b"", b"secret"])
def test_what_unpacks_without_an_end_is_refused_before_it_fills_the_memory(
    monkeypatch: pytest.MonkeyPatch, secret: bytes
) -> None:
    """A few MB of zeros unpack to GB; somebody who may write below runs/ made them, so they bear no seal either."""
    monkeypatch.setattr("fanout.ledger.seals.UNPACKED_BYTES", 1_000_000)
    assert len(unsealed_gzip("k", sealed_gzip("k", bytes(1_000_000), secret), secret)) == 1_000_000
    bomb = gzip.compress(bytes(50_000_000))
    tracemalloc.start()
    with pytest.raises(ValueError, match="unpacks to over 1,000,000 bytes"):
        unsealed_gzip("k", bomb, secret)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 3_000_000


def test_something_behind_the_packed_bytes_is_refused() -> None:
    """gzip joins what follows one after the other; a second part would be read without its key."""
    first, second = (sealed_gzip(key, b"rows") for key in ("k", "another"))
    with pytest.raises(ValueError, match="behind it"):
        unsealed_gzip("k", first + second)
