"""Which kept files of the version before get links: those that the request compares by size and time."""

from __future__ import annotations

from typing import cast

import pytest

from fanout.listing.deciding.proofs import Proofs
from fanout.listing.index.earlier_index import EarlierIndex
from fanout.model.entry import Entry, Kind
from fanout.model.shard import Rates
from fanout.request.parse import parse_request
from fanout.request.plan import Plan
from tests.support.memory import MemoryTree


class HoldsAll:
    """An index of the version before that has every entry as it is."""

    def holds(self, _entry: Entry) -> bool:
        return True


@pytest.mark.parametrize(("compare", "links"), [("size-mtime", True), ("checksum", False), ("always", False)])
def test_a_file_is_held_where_times_are_compared(compare: str, links: bool) -> None:
    request = parse_request({"source": "efs:///in", "destination": "efs:///out", "compare": compare}, ("data",), 1)
    earlier = cast(EarlierIndex, HoldsAll())
    proofs = Proofs(Plan("run", request, Rates(0.01, 1e6)), earlier, MemoryTree(), MemoryTree(), 0, lambda: 0)
    assert proofs.holds(Entry("file", Kind.FILE, 1)) is links
    assert not proofs.holds(Entry("directory/", Kind.DIRECTORY))
