"""Digests of contents and trees: what stands in docs/reference/certificate.md, whatever the order and the pieces."""

from __future__ import annotations

import hashlib
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fanout.certificate.content_digest import ContentDigest, block_digest, content_digest, digest_of_zeros
from fanout.certificate.tree_digest import LANES, TreeDigest, line_of
from fanout.facts.units import MIB
from fanout.model.entry import Kind
from fanout.shards.found_sums import TreeSum

PATHS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=20)
ENTRIES = st.lists(
    st.tuples(st.sampled_from([Kind.FILE, Kind.SYMLINK]), PATHS, st.integers(0, 2**45), st.binary(max_size=4)),
    max_size=12,
    unique_by=lambda one: one[1],
)


def test_a_small_file_has_the_digest_that_sha256sum_prints() -> None:
    for data in (b"", b"x", bytes(8 * MIB)):
        content = ContentDigest(len(data))
        content.update(data)
        assert content.hexdigest() == hashlib.sha256(data).hexdigest()
    assert content_digest([]) == hashlib.sha256(b"").hexdigest()


@pytest.mark.parametrize("piece", [MIB, 3 * MIB + 1, 8 * MIB, 40 * MIB])
def test_a_larger_file_has_the_digest_of_its_blocks_however_it_is_read(piece: int) -> None:
    data = b"".join(bytes([number]) * MIB for number in range(17)) + b"tail"
    blocks = [hashlib.sha256(data[first : first + 8 * MIB]).digest() for first in range(0, len(data), 8 * MIB)]
    content = ContentDigest(len(data))
    for first in range(0, len(data), piece):
        content.update(data[first : first + piece])
    assert content.hexdigest() == hashlib.sha256(b"".join(blocks)).hexdigest() == content_digest(blocks)


def test_a_hole_has_the_digest_of_its_zeros() -> None:
    for length in (0, 5, MIB, 3 * MIB + 7):
        assert digest_of_zeros(length) == block_digest(bytes(length))


@given(ENTRIES, st.randoms(), st.integers(0, 12))
@settings(max_examples=50, deadline=None)
def test_no_order_and_no_division_among_functions_changes_a_tree(entries: list[tuple], chance, cut: int) -> None:  # type: ignore[no-untyped-def,type-arg]
    rows = [(kind, path, size, hashlib.sha256(data).hexdigest()) for kind, path, size, data in entries]
    lanes = [0] * LANES
    for row in rows:
        more = struct.unpack(f"<{LANES}H", hashlib.shake_256(line_of(*row)).digest(2 * LANES))
        lanes = [(one + other) % 65536 for one, other in zip(lanes, more, strict=True)]
    chance.shuffle(rows)
    parts = TreeDigest(), TreeDigest()
    for number, row in enumerate(rows):
        parts[number < cut].add(*row)
    whole = TreeDigest()
    for part in parts:
        whole.merge(part.sum())
    assert whole.hexdigest() == hashlib.sha256(struct.pack(f"<{LANES}H", *lanes)).hexdigest()
    assert (whole.entries, whole.bytes) == (len(rows), sum(row[2] for row in rows))


def test_each_part_of_an_entry_changes_its_tree() -> None:
    here = (Kind.FILE, "a/b", 3, "00")
    others = [(Kind.SYMLINK, "a/b", 3, "00"), (Kind.FILE, "a/c", 3, "00"), (Kind.FILE, "a/b", 4, "00")]
    others += [(Kind.FILE, "a/b", 3, "01"), (Kind.FILE, "b\x003\x0000\x00a", 3, "00")]
    digests = set()
    for row in [here, *others]:
        tree = TreeDigest()
        tree.add(*row)
        digests.add(tree.hexdigest())
    assert len(digests) == 6


def test_what_is_no_sum_is_refused() -> None:
    for lanes in ("", "AAAA", "not base64"):
        with pytest.raises(ValueError, match=r"."):
            TreeDigest().merge(TreeSum(1, 1, lanes))
