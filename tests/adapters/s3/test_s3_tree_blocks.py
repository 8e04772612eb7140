"""The block size of S3: 8 MiB, and more only where the parts of an upload would not do."""

from __future__ import annotations

import pytest

from fanout.adapters.aws.endpoint import Endpoint
from fanout.adapters.s3.client.client import S3Client
from fanout.adapters.s3.tree import S3Tree
from fanout.facts.aws import MULTIPART_PARTS
from fanout.facts.units import MIB
from fanout.model.entry import Entry, Kind

LIMIT_BYTES = 8 * MIB * MULTIPART_PARTS


@pytest.mark.parametrize(
    ("size", "block_mib"), [(0, 8), (1, 8), (LIMIT_BYTES, 8), (LIMIT_BYTES + 1, 9), (100 * LIMIT_BYTES, 800)]
)
def test_block_bytes(size: int, block_mib: int) -> None:
    tree = S3Tree(S3Client(Endpoint("us-east-1")), "bucket", "")
    block_bytes = tree.block_bytes(Entry("file", Kind.FILE, size))
    assert block_bytes == block_mib * MIB
    assert -(-size // block_bytes) <= MULTIPART_PARTS
