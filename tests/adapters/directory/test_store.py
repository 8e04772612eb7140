"""The ledger in a directory: keys as S3 lists them, whole writes, synced, and the errors of the disk as sentences."""

from __future__ import annotations

import errno
import multiprocessing
import os
import pickle
from pathlib import Path

import pytest

from fanout.adapters.directory.store import NEW, DirectoryWorkStore
from fanout.model.errors import LedgerBroken, NotFound, PreconditionFailed, Transient, Unreachable
from tests.support.memory_store import MemoryStore

KEYS = ("runs/r/plan.json", "runs/r.json", "runs/r/shards/é.json", "runs/r/shards/a", "runs/r0/plan.json", "locks/a/b")
PREFIXES = ("", "runs/", "runs/r", "runs/r/", "runs/r/sh", "runs/r/shards/", "run", "l", "none/", "runs/r/plan.json")


@pytest.fixture
def store(tmp_path: Path) -> DirectoryWorkStore:
    return DirectoryWorkStore(str(tmp_path / "ledger"))


@pytest.mark.parametrize("prefix", PREFIXES)
def test_keys_are_listed_as_the_other_stores_list_them(store: DirectoryWorkStore, prefix: str) -> None:
    memory = MemoryStore()
    for each in (store, memory):
        for key in KEYS:
            each.put(key, b"x")
    assert list(store.list(prefix)) == sorted(memory.list(prefix), key=str.encode)


def test_a_ledger_that_is_not_there_is_empty(store: DirectoryWorkStore) -> None:
    assert list(store.list("runs/")) == []
    store.remove(["runs/r/plan.json"])
    with pytest.raises(NotFound):
        store.get("runs/r/plan.json")
    assert not Path(store.root).exists()


def test_removed_objects_are_gone_and_their_neighbours_stay(store: DirectoryWorkStore) -> None:
    for key in KEYS:
        store.put(key, key.encode())
    store.remove([KEYS[0], "runs/r/none.json"])
    with pytest.raises(NotFound):
        store.get(KEYS[0])
    assert [store.get(key) for key in KEYS[1:]] == [key.encode() for key in KEYS[1:]]


@pytest.mark.parametrize("key", ["../x", "runs/../../x", "/etc/x", "runs//x", ".new/1", "runs/.x", "", "a\0b", "runs/"])
def test_no_key_leads_out_of_the_ledger_or_to_files_of_the_store(store: DirectoryWorkStore, key: str) -> None:
    store.put("runs/r/plan.json", b"x")
    for use in (lambda: store.get(key), lambda: store.put(key, b"x"), lambda: store.put_new(key, b"x")):
        with pytest.raises(LedgerBroken):
            use()
    with pytest.raises(LedgerBroken):
        store.remove([key])


def test_a_key_below_an_object_is_refused_by_name(store: DirectoryWorkStore) -> None:
    store.put("runs/r", b"x")
    with pytest.raises(LedgerBroken, match="runs/r"):
        store.put("runs/r/plan.json", b"x")


def test_what_was_written_is_on_the_disk_before_its_name_is_and_its_name_before_the_call_returns(
    store: DirectoryWorkStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    fsync = os.fsync

    def noted(name: str) -> None:
        call = getattr(os, name)

        def called(*given: str) -> None:
            done.append(name)
            call(*given)

        monkeypatch.setattr(os, name, called)

    def synced(file: int) -> None:
        path = os.readlink(f"/proc/self/fd/{file}").removeprefix(store.root)
        done.append("bytes" if path.startswith(f"/{NEW}/") else f"names {path}")
        fsync(file)

    monkeypatch.setattr(os, "fsync", synced)
    noted("rename")
    noted("link")
    store.put("runs/r/a", b"x")
    names = [one for one in done if one.startswith("names ")]
    assert names[-1] == "names /runs/r" and {"names /runs", "names "} <= set(names)
    assert [one for one in done if not one.startswith("names ")] == ["bytes", "rename"] and done[-1] == names[-1]
    done.clear()
    assert store.put_new("runs/r/b", b"x")
    assert done == ["bytes", "link", "names /runs/r"]


@pytest.mark.parametrize(
    ("number", "kind", "words"),
    [
        (errno.ENOSPC, Unreachable, "is full .*free space there, then retry"),
        (errno.EDQUOT, Unreachable, "is full"),
        (errno.EACCES, Unreachable, "let this user write there"),
        (errno.EROFS, Unreachable, "let this user write there"),
        (errno.EIO, Transient, "did not answer"),
    ],
)
def test_what_the_disk_refuses_is_a_sentence_and_leaves_the_object_as_it_was(
    store: DirectoryWorkStore, monkeypatch: pytest.MonkeyPatch, number: int, kind: type[Exception], words: str
) -> None:
    store.put("runs/r/a", b"before")

    def refused(*_given: object) -> int:
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", refused)
        with pytest.raises(kind, match=words):
            store.put("runs/r/a", b"after")
    assert store.get("runs/r/a") == b"before" and os.listdir(f"{store.root}/{NEW}") == []


def test_what_killed_processes_left_goes_after_a_day_and_what_is_being_written_stays(store: DirectoryWorkStore) -> None:
    store.put("runs/r/a", b"x")
    for name, age in (("1.1", 90_000), ("1.2", 10)):
        path = Path(store.root, NEW, name)
        path.write_bytes(b"half")
        seen = path.stat().st_mtime - age
        os.utime(path, (seen, seen))
    store.sweep()
    assert os.listdir(f"{store.root}/{NEW}") == ["1.2"] and list(store.list("")) == ["runs/r/a"]


def _add(root: str, times: int) -> None:
    store = DirectoryWorkStore(root)
    for _ in range(times):
        while True:
            found = store.read_version("locks/n.json")
            try:
                store.write_version("locks/n.json", str(int(found.data or b"0") + 1).encode(), found.version)
            except PreconditionFailed:
                continue
            break


def test_processes_that_change_one_object_lose_no_change(store: DirectoryWorkStore) -> None:
    processes = [multiprocessing.get_context("fork").Process(target=_add, args=(store.root, 25)) for _ in range(4)]
    for one in processes:
        one.start()
    for one in processes:
        one.join()
    assert [one.exitcode for one in processes] == [0] * 4
    assert store.get("locks/n.json") == b"100"


def test_another_process_has_the_same_store(store: DirectoryWorkStore) -> None:
    store.put("runs/r/a", b"x")
    assert pickle.loads(pickle.dumps(store)).get("runs/r/a") == b"x"
