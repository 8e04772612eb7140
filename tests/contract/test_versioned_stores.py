"""Every ``VersionedStore``: of two that have read the same, one writes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from fanout.adapters.directory.store import DirectoryWorkStore
from fanout.adapters.s3.work_store import S3WorkStore
from fanout.model.errors import PreconditionFailed
from fanout.ports.store import Versioned, VersionedStore
from tests.contract.conftest import SERVERS, client_of, new_bucket
from tests.support.memory_store import MemoryStore

KEY = "locks/mounts/data.json"


@pytest.fixture(params=["memory", "directory", *SERVERS])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> VersionedStore:
    if request.param == "memory":
        return MemoryStore()
    if request.param == "directory":
        return DirectoryWorkStore(str(tmp_path / "ledger"))
    client = client_of(request.getfixturevalue(request.param))
    return S3WorkStore(client, new_bucket(client))


def test_what_is_not_there_has_no_version(store: VersionedStore) -> None:
    assert store.read_version(KEY) == Versioned(b"", "")


def test_only_one_of_two_makes_the_object(store: VersionedStore) -> None:
    store.write_version(KEY, b"first", "")
    with pytest.raises(PreconditionFailed):
        store.write_version(KEY, b"second", "")
    assert store.read_version(KEY).data == b"first"


def test_only_one_of_two_that_read_the_same_writes(store: VersionedStore) -> None:
    store.write_version(KEY, b"0", "")
    one, other = store.read_version(KEY), store.read_version(KEY)
    store.write_version(KEY, b"1", one.version)
    with pytest.raises(PreconditionFailed):
        store.write_version(KEY, b"2", other.version)
    found = store.read_version(KEY)
    assert found.data == b"1" and found.version != one.version
    store.write_version(KEY, b"2", found.version)
    assert store.read_version(KEY).data == b"2"


def test_what_is_gone_is_not_written_over(store: VersionedStore) -> None:
    store.write_version(KEY, b"0", "")
    version = store.read_version(KEY).version
    remove: Callable[[list[str]], None] = store.remove  # type: ignore[attr-defined]
    remove([KEY])
    with pytest.raises(PreconditionFailed):
        store.write_version(KEY, b"1", version)
    assert store.read_version(KEY) == Versioned()


def test_what_is_written_new_is_never_written_over(store: VersionedStore) -> None:
    put_new: Callable[[str, bytes], bool] = store.put_new  # type: ignore[attr-defined]
    assert put_new("runs/r/plan.json", b"first")
    assert not put_new("runs/r/plan.json", b"second")
    assert store.read_version("runs/r/plan.json").data == b"first"
