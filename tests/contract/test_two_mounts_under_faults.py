"""Between two mounts over a work bucket that fails at five of a hundred calls."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fanout.adapters.aws.credentials import Credentials
from fanout.adapters.aws.endpoint import Endpoint
from fanout.adapters.s3.client.client import S3Client
from fanout.adapters.s3.work_store import S3WorkStore
from fanout.facts.tuning import BLOCK_BYTES
from tests.support.s3_proxy import FAULTS, S3Proxy, at_random
from tests.support.trees import described
from tests.support.two_mounts import TwoMounts


@pytest.fixture
def proxy(s3_url: str) -> Iterator[S3Proxy]:
    made = S3Proxy(s3_url)
    yield made
    made.close()


def test_everything_arrives(proxy: S3Proxy, make_bucket: Callable[[], str], tmp_path: Path) -> None:
    credentials = Credentials("testing", "testing")
    shaky = S3Client(Endpoint("us-east-1", proxy.url), lambda: credentials, sleep=lambda seconds: None)
    mounts = TwoMounts(tmp_path, store=S3WorkStore(shaky, make_bucket()))
    draw = random.Random(7)
    for number in range(200):
        path = mounts.source_root / f"d{number % 5}" / f"f{number}"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(draw.randbytes(number * 11))
    (mounts.source_root / "big").write_bytes(draw.randbytes(3 * BLOCK_BYTES))
    (mounts.source_root / "large").write_bytes(draw.randbytes(BLOCK_BYTES - 1))
    proxy.choose = at_random(seed=11, fraction=0.05)
    summary = mounts.run({"verify": "all", "limits": {"split_bytes": BLOCK_BYTES, "shard_seconds": 0.1}})
    assert summary["status"] == "SUCCEEDED", mounts.failures()
    assert described(mounts.root) == described(mounts.source_root)
    assert summary["totals"]["copied"] == summary["totals"]["listed"]
    assert set(FAULTS) <= set(proxy.faults)
