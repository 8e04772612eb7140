"""An S3 on the loopback for ledgers in buckets."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support import s3_servers
from tests.support.s3_servers import S3Server


@pytest.fixture(scope="session")
def moto_server() -> Iterator[S3Server]:
    with s3_servers.moto() as server:
        yield server
