"""A run stays out of the other end's root, where the other mount hides what lies above it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fanout.adapters.posix.tree import PosixTree
from fanout.model.document import Json
from fanout.model.errors import InvalidRequest
from tests.support.two_mounts import TwoMounts


class SourceInside(TwoMounts):
    """The mount ``data`` shows ``archive/out/deep``, and nothing above it."""

    def source_tree(self, nonce: str) -> PosixTree:
        return PosixTree(self.base / "archive/out/deep", "in", self.run_id, nonce, "source", follow=self.follow)


class DestinationInside(TwoMounts):
    """The mount ``archive`` shows ``data/in/deep``, and nothing above it."""

    def destination_tree(self, nonce: str) -> PosixTree:
        return PosixTree(self.base / "data/in/deep", "out", self.run_id, nonce)


def write(base: Path, *names: str) -> None:
    for name in names:
        (base / name).parent.mkdir(parents=True, exist_ok=True)
        (base / name).write_text(name)


def held(base: Path) -> dict[str, str]:
    return {str(one.relative_to(base)): one.read_text() for one in base.rglob("*") if one.is_file()}


@pytest.fixture
def filled(tmp_path: Path) -> Path:
    for root in ("archive/out/deep/in", "data/in"):
        write(tmp_path, f"{root}/a", f"{root}/deep/in/a", f"{root}/deep/out/a", f"{root}/deep/out/deep/out/a")
    write(tmp_path, "archive/out/kept", "archive/near/in/b")
    return tmp_path


def manifest_of(ends: TwoMounts, *paths: str) -> Json:
    """Names paths of the source."""
    data = b"".join(json.dumps({"path": path}).encode() + b"\n" for path in paths)
    ends.world.objects.put("lists", "some.jsonl", data)
    return {"manifest": "s3://lists/some.jsonl"}


@pytest.mark.parametrize("mode", ["copy", "sync", "move"])
@pytest.mark.parametrize(
    ("kind", "seen"),
    [
        (SourceInside, "efs://data/in is seen as efs://archive/out/deep/in/"),
        (DestinationInside, "efs://archive/out is seen as efs://data/in/deep/out/"),
    ],
)
def test_an_end_inside_the_other_is_refused_though_its_mount_hides_what_is_above(
    filled: Path, kind: type[TwoMounts], seen: str, mode: str
) -> None:
    before = held(filled)
    with pytest.raises(InvalidRequest, match=f"^destination: .*{seen};"):
        kind(filled).run({"mode": mode})
    assert held(filled) == before


@pytest.mark.parametrize(("kind", "path"), [(SourceInside, "deep/in/a"), (DestinationInside, "deep/out/a")])
@pytest.mark.parametrize("mode", ["copy", "move"])
def test_a_manifest_leads_into_the_other_end_no_more_than_a_listing(
    filled: Path, kind: type[TwoMounts], path: str, mode: str
) -> None:
    before, ends = held(filled), kind(filled)
    with pytest.raises(InvalidRequest, match="is the same place as"):
        ends.run({"mode": mode, **manifest_of(ends, path)})
    assert held(filled) == before


def test_a_backup_is_not_kept_in_the_source(filled: Path) -> None:
    class BackupInside(TwoMounts):
        def source_tree(self, nonce: str) -> PosixTree:
            return PosixTree(self.base / "archive/near", "in", self.run_id, nonce, "source")

        def destination_tree(self, nonce: str) -> PosixTree:
            return PosixTree(self.base / "archive", "out", self.run_id, nonce, backup_to="near/in/")

    write(filled, "archive/out/b")
    before = held(filled)
    seen = r"^backup_to: .* lies in the source efs://data/in, which is seen as efs://archive/near/in/;"
    with pytest.raises(InvalidRequest, match=seen):
        BackupInside(filled).run({"backup_to": "efs://archive/near/in"})
    assert held(filled) == before


@pytest.mark.parametrize(("kind", "own"), [(SourceInside, "archive/out/deep"), (DestinationInside, "data/in")])
def test_an_end_in_an_excluded_directory_is_left_alone(filled: Path, kind: type[TwoMounts], own: str) -> None:
    """A directory that a run does not enter is neither read nor changed by it."""
    before = {name: text for name, text in held(filled).items() if name.startswith(own) and "/out/" not in name[12:]}
    kind(filled).run({"mode": "sync", "exclude": ["deep/**"], "delete_guard": {"max_percent": 100}})
    after = held(filled)
    assert {name: after.get(name) for name in before} == before


@pytest.mark.parametrize(
    ("ids", "is_refused"),
    [
        ({"data": "fs-1", "archive": "fs-2"}, False),
        ({"data": "fs-1", "archive": "fs-1"}, True),
        ({"data": "fs-1"}, True),
        ({}, True),
    ],
)
def test_a_like_inode_number_of_another_file_system_refuses_no_run(
    tmp_path: Path, ids: dict[str, str], is_refused: bool
) -> None:
    write(tmp_path, "data/in/a", "archive/out/b")
    ends = TwoMounts(tmp_path)
    ends.world.file_system_ids = ids
    (tmp_path / "archive/out/same").mkdir()
    like = str((tmp_path / "archive/out/same").stat().st_ino)
    ends.world.source.identity = lambda: like  # type: ignore[attr-defined]
    if is_refused:
        with pytest.raises(InvalidRequest, match="is seen as efs://archive/out/same/"):
            ends.run()
    else:
        assert ends.run()["status"] == "SUCCEEDED"
