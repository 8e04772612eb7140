"""The listing benchmark's S3 says what ListObjectsV2 says of the same keys."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from benchmarks.synthetic_s3 import Keys
from fanout.adapters.aws.credentials import Credentials
from fanout.adapters.aws.endpoint import Endpoint
from fanout.adapters.s3.client.client import S3Client
from fanout.adapters.s3.client.object_page import ObjectPage, parse_object_page
from fanout.adapters.s3.tree import S3Tree
from fanout.model.segment import Segment, cut

PAGE = 7


class Client(S3Client):
    """Asks the keys in place of a server."""

    def __init__(self, keys: Keys) -> None:
        super().__init__(Endpoint("us-east-1"), lambda: Credentials("a", "b"))
        self._keys = keys

    def list_objects_v2(self, bucket: str, **options: Any) -> ObjectPage:
        names = {"continuation": "continuation-token"}
        query = {names.get(name, name.replace("_", "-")): str(value) for name, value in options.items() if value}
        return parse_object_page(self._keys.page(query, PAGE))


def tree(keys: Keys, prefix: str = "") -> S3Tree:
    return S3Tree(Client(keys), "bucket", prefix)


@pytest.mark.parametrize("per_directory", [0, 1, 20])
def test_pages_hold_every_key_once_and_so_do_the_pieces_of_a_cut(per_directory: int) -> None:
    keys = Keys(300, per_directory)
    every = [keys.key(number) for number in range(300)]
    whole = Segment("whole")
    assert [entry.path for entry in tree(keys).list(whole)] == every
    pieces = cut(whole, every[::41])
    assert [entry.path for piece in pieces for entry in tree(keys).list(piece)] == every


def test_a_prefix_is_a_part_and_a_delimiter_shows_directories() -> None:
    keys = Keys(100, 20)
    assert [entry.path for entry in tree(keys, "d000001/").list(Segment("whole"))] == [
        f"file-{number:09d}" for number in range(20, 40)
    ]
    page = parse_object_page(keys.page({"delimiter": "/", "start-after": "d000002/file-000000050"}, PAGE))
    assert (page.keys, page.common_prefixes) == ([], ["d000002/", "d000003/", "d000004/"])
    page = parse_object_page(keys.page({"delimiter": "/", "prefix": "d000004/", "max-keys": "2"}, PAGE))
    assert page.keys == ["d000004/file-000000080", "d000004/file-000000081"]
    assert page.truncated and page.continuation == "82"


@pytest.mark.parametrize(("count", "ways"), [(60_000, 4), (200_000, 16)])
def test_one_flat_prefix_is_cut_into_pieces_of_like_size(count: int, ways: int) -> None:
    keys = Keys(count)
    bounds = [0, *(keys.first_after(one) for one in tree(keys).cuts(Segment("whole"), ways)), count]
    sizes = [end - start for start, end in pairwise(bounds)]
    assert len(sizes) == ways
    assert max(sizes) < 2.5 * count / ways
