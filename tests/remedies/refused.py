"""Entries of the source that may not be read yet: without permission, or in an archive."""

from __future__ import annotations

import os

from fanout.facts import archives, tuning
from fanout.model.document import Json
from fanout.model.errors import ItemError
from fanout.model.outcome import Reason
from tests.remedies.lab import Lab
from tests.remedies.table import follows
from tests.support.archives import ArchivedTree, FakeArchive

FOLLOW: Json = {"symlinks": "follow"}


def _archived(lab: Lab) -> FakeArchive:
    archive = FakeArchive(lab.first.clock)

    class Archives(type(lab.buckets["source"]), ArchivedTree):  # type: ignore[misc]
        pass

    tree = Archives(lab.first.changes, archive)
    tree.refuses = {}
    tree.put_archived("f", b"content", archives.GLACIER)
    lab.buckets["source"] = tree
    lab.made["archive"] = archive
    return archive


@follows(Reason.SOURCE_ARCHIVED, 0, "bucket mount")
def restore(lab: Lab) -> None:
    _archived(lab)
    lab.fails(Reason.SOURCE_ARCHIVED)
    lab.retry({"archived": "restore"})
    assert lab.held() == {"f": "content"}


@follows(Reason.SOURCE_ARCHIVED, 0, "bucket mount")
def skip_archived(lab: Lab) -> None:
    _archived(lab)
    lab.fails(Reason.SOURCE_ARCHIVED)
    lab.retry({"archived": "skip"})


@follows(Reason.SOURCE_ARCHIVED, 0, "bucket mount")
def once_s3_has_restored_it(lab: Lab) -> None:
    archive = _archived(lab)
    archive.takes = 1_000.0
    lab.fails(Reason.SOURCE_ARCHIVED, {"archived": "restore"})
    lab.first.clock.sleep(archive.objects["f"].readable_at - lab.first.clock.time)
    lab.retry()
    assert lab.held() == {"f": "content"}


@follows(Reason.NOT_RESTORED, 0, "bucket mount")
def allow_to_restore(lab: Lab) -> None:
    archive = _archived(lab)
    archive.refuses["f"] = ItemError(Reason.NOT_RESTORED, "403 AccessDenied")
    lab.fails(Reason.NOT_RESTORED, {"archived": "restore"})
    archive.refuses.clear()
    lab.retry()
    assert lab.held() == {"f": "content"}


@follows(Reason.NOT_RESTORED, 0, "bucket mount")
def change_the_tier(lab: Lab) -> None:
    archive = _archived(lab)
    archive.objects["f"].archive = archives.DEEP_ARCHIVE
    lab.fails(Reason.NOT_RESTORED, {"archived": "restore", "restore": {"tier": "expedited"}})
    lab.retry({"restore": {"tier": "bulk"}})
    assert lab.held() == {"f": "content"}


@follows(Reason.SOURCE_DENIED)
def permission_on_a_file(lab: Lab) -> None:
    file = lab.write("d/f")
    file.chmod(0o600)
    lab.fails(Reason.SOURCE_DENIED, denied=True)
    file.chmod(0o644)
    lab.retry()
    assert lab.held() == {"d/f": "content"}


@follows(Reason.SOURCE_DENIED)
def permission_on_a_big_file(lab: Lab) -> None:
    file = lab.write("f", "x" * (2 * tuning.BLOCK_BYTES + 1))
    file.chmod(0o600)
    lab.fails(Reason.SOURCE_DENIED, {"limits": {"split_bytes": tuning.BLOCK_BYTES}}, denied=True)
    file.chmod(0o644)
    lab.retry()
    assert lab.held() == lab.held("source")


@follows(Reason.SOURCE_DENIED)
def permission_on_a_directory_above_what_a_manifest_names(lab: Lab) -> None:
    lab.write("d/f").parent.chmod(0o700)
    lab.fails(Reason.SOURCE_DENIED, lab.manifest("d/f"), denied=True)
    (lab.root / "d").chmod(0o755)
    lab.retry()
    assert lab.held() == {"d/f": "content"}


@follows(Reason.SOURCE_DENIED)
def permission_on_what_a_symlink_leads_to(lab: Lab) -> None:
    file = lab.write("d/f")
    file.chmod(0o600)
    (lab.root / "link").symlink_to("d/f")
    (lab.root / "way").symlink_to("d")
    lab.fails(Reason.SOURCE_DENIED, FOLLOW, denied=True)
    file.chmod(0o644)
    lab.retry()
    assert lab.held() == dict.fromkeys(("d/f", "link", "way/f"), "content")


@follows(Reason.SOURCE_DENIED)
def permission_on_a_directory_that_a_symlink_leads_through(lab: Lab) -> None:
    lab.write("d/closed/f")
    (lab.root / "link").symlink_to("d/closed/f")
    (lab.root / "d/closed").chmod(0o600)
    lab.fails(Reason.SOURCE_DENIED, {**FOLLOW, "exclude": ["d/**"]}, denied=True)
    (lab.root / "d/closed").chmod(0o755)
    lab.retry()
    assert lab.held() == {"link": "content"}


@follows(Reason.SOURCE_DENIED)
def permission_on_a_name_of_a_file_with_several(lab: Lab) -> None:
    file = lab.write("d/f")
    os.link(file, lab.root / "name")
    file.chmod(0o600)
    lab.fails(Reason.SOURCE_DENIED, denied=True)
    file.chmod(0o644)
    lab.retry()
    assert (lab.out / "name").samefile(lab.out / "d/f")


@follows(Reason.FIRST_NAME)
def permission_on_the_first_name(lab: Lab) -> None:
    file = lab.write("d/f")
    os.link(file, lab.root / "name")
    file.chmod(0o600)
    lab.fails(Reason.FIRST_NAME, denied=True)
    file.chmod(0o644)
    lab.retry()
    assert (lab.out / "name").samefile(lab.out / "d/f")


@follows(Reason.SOURCE_DENIED, 0, "bucket mount")
def permission_on_an_object(lab: Lab) -> None:
    lab.write("f")
    lab.buckets["source"].refuses["f"] = ItemError(Reason.SOURCE_DENIED, "403 AccessDenied")
    lab.fails(Reason.SOURCE_DENIED)
    lab.buckets["source"].refuses.clear()
    lab.retry()
    assert lab.held() == {"f": "content"}


@follows(Reason.UNLISTABLE)
def permission_on_a_directory(lab: Lab) -> None:
    lab.write("open/f")
    lab.write("closed/deep/f").parent.parent.chmod(0o700)
    lab.fails(Reason.UNLISTABLE, denied=True)
    (lab.root / "closed").chmod(0o755)
    lab.retry()
    assert set(lab.held()) == {"open/f", "closed/deep/f"}


@follows(Reason.UNLISTABLE)
def permission_on_a_directory_behind_a_symlink(lab: Lab) -> None:
    lab.write("d/closed/f").parent.chmod(0o700)
    (lab.root / "way").symlink_to("d/closed")
    lab.fails(Reason.UNLISTABLE, FOLLOW, denied=True)
    (lab.root / "d/closed").chmod(0o755)
    lab.retry()
    assert set(lab.held()) == {"d/closed/f", "way/f"}, lab.held()
