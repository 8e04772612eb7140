"""What is wrong with an entry at the source, or with the manifest that names it."""

from __future__ import annotations

import os
import stat

from fanout.facts import archives, tuning
from fanout.model.document import Json
from fanout.model.entry import Attributes
from fanout.model.errors import ItemError
from fanout.model.outcome import Reason
from tests.remedies.lab import Lab
from tests.remedies.table import follows
from tests.support.archives import ArchivedTree, FakeArchive
from tests.support.flow import World

FOLLOW: Json = {"symlinks": "follow"}
LINK = Attributes(mode=stat.S_IFLNK | 0o777)


@follows(Reason.LINK_LOOP)
def remove_the_loop(lab: Lab) -> None:
    lab.write("d/f")
    (lab.root / "d/loop").symlink_to("..")
    lab.fails(Reason.LINK_LOOP, FOLLOW)
    (lab.root / "d/loop").unlink()
    lab.start(FOLLOW)
    assert set(lab.held()) == {"d/f"}


@follows(Reason.LINK_LOOP, 1)
def keep_the_loop(lab: Lab) -> None:
    lab.write("d/f")
    (lab.root / "d/loop").symlink_to("..")
    lab.fails(Reason.LINK_LOOP, FOLLOW)
    lab.start({"symlinks": "keep"})
    assert lab.held()["d/loop"] == ".."


@follows(Reason.LINK_OUTSIDE)
def keep_what_leads_outside(lab: Lab) -> None:
    lab.write("f")
    (lab.root / "link").symlink_to("../elsewhere")
    lab.fails(Reason.LINK_OUTSIDE, FOLLOW)
    lab.start({"symlinks": "keep"})
    assert lab.held()["link"] == "../elsewhere"


@follows(Reason.LINK_OUTSIDE)
def a_source_that_holds_the_target(lab: Lab) -> None:
    lab.write("f")
    (lab.root / "d").mkdir()
    (lab.root / "d/link").symlink_to("../f")
    lab.fails(Reason.LINK_OUTSIDE, {**FOLLOW, "source": "efs:///in/d"})
    lab.start({**FOLLOW, "source": "efs:///in"})
    assert lab.held()["d/link"] == "content"


@follows(Reason.LINK_NO_TARGET, 0, "bucket mount")
def write_a_target(lab: Lab) -> None:
    lab.write("link", "", mode=LINK.mode)
    lab.fails(Reason.LINK_NO_TARGET)
    lab.write("link", "target", mode=LINK.mode)
    lab.start()
    assert lab.held() == {"link": "target"}


@follows(Reason.LINK_NO_TARGET, 1, "bucket mount")
def skip_symlinks(lab: Lab) -> None:
    lab.write("link", "", mode=LINK.mode)
    lab.fails(Reason.LINK_NO_TARGET)
    lab.start({"symlinks": "skip"})


@follows(Reason.CUSTOMER_KEY, 0, "bucket mount")
def another_encryption(lab: Lab) -> None:
    _encrypted(lab)
    del lab.buckets["source"].refuses["secret"]
    lab.write("secret")
    lab.start()
    assert lab.held() == {"secret": "content"}


@follows(Reason.CUSTOMER_KEY, 1, "bucket mount")
def exclude_it(lab: Lab) -> None:
    _encrypted(lab)
    lab.start({"exclude": ["secret"]})


def _encrypted(lab: Lab) -> None:
    lab.write("secret")
    lab.buckets["source"].refuses["secret"] = ItemError(Reason.CUSTOMER_KEY, "SSE-C")
    lab.fails(Reason.CUSTOMER_KEY)


@follows(Reason.LINK_IN_STORE, 0, "bucket mount")
def keep_what_is_no_file(lab: Lab) -> None:
    lab.write("link", "target", mode=LINK.mode)
    lab.fails(Reason.LINK_IN_STORE, FOLLOW)
    lab.start({"symlinks": "keep"})
    assert lab.held() == {"link": "target"}


@follows(Reason.LINK_IN_STORE, 0, "bucket mount")
def skip_what_is_no_file(lab: Lab) -> None:
    lab.write("link", "target", mode=LINK.mode)
    lab.fails(Reason.LINK_IN_STORE, FOLLOW)
    lab.start({"symlinks": "skip"})


@follows(Reason.OUTSIDE_SOURCE, 0, "bucket mount")
def correct_the_key(lab: Lab) -> None:
    lab.write("f")
    lab.fails(Reason.OUTSIDE_SOURCE, lab.manifest({"key": "inn/f"}))
    lab.start(lab.manifest({"key": "in/f"}))
    assert lab.held() == {"f": "content"}


@follows(Reason.OUTSIDE_SOURCE, 1, "bucket mount")
def a_source_that_holds_the_key(lab: Lab) -> None:
    lab.write("f")
    rows = lab.manifest({"key": "in/f"})
    lab.fails(Reason.OUTSIDE_SOURCE, {**rows, "source": "s3://a-bucket/deeper/"})
    lab.start({**rows, "source": "s3://a-bucket/in/"})
    assert lab.held() == {"f": "content"}


@follows(Reason.MANIFEST_ROW, 0, "bucket mount")
def correct_the_row(lab: Lab) -> None:
    lab.write("f")
    lab.fails(Reason.MANIFEST_ROW, lab.manifest({"name": "f"}))
    lab.start(lab.manifest({"path": "f"}))
    assert lab.held() == {"f": "content"}


@follows(Reason.OTHER_BUCKET, 0, "bucket mount")
def correct_the_bucket(lab: Lab) -> None:
    lab.write("f")
    lab.fails(Reason.OTHER_BUCKET, lab.manifest({"bucket": "other", "key": "in/f"}, {"bucket": "other", "path": "f"}))
    assert lab.held() == {}
    lab.start(lab.manifest({"bucket": "a-bucket", "key": "in/f"}))
    assert lab.held() == {"f": "content"}


@follows(Reason.OTHER_BUCKET, 1, "bucket mount")
def a_source_in_that_bucket(lab: Lab) -> None:
    lab.write("f")
    rows = lab.manifest({"bucket": "other", "key": "in/f"})
    lab.fails(Reason.OTHER_BUCKET, rows)
    lab.start({**rows, "source": "s3://other/in/"})
    assert lab.held() == {"f": "content"}


@follows(Reason.KEY_ENCODED, 0, "bucket mount")
def name_the_field(lab: Lab) -> None:
    lab.write("a b/c+d")
    lab.fails(Reason.KEY_ENCODED, lab.manifest({"bucket": "a-bucket", "key": "in/a%20b/c%2Bd"}))
    lab.start(lab.manifest({"bucket": "a-bucket", "encoded_key": "in/a%20b/c%2Bd"}))
    assert lab.held() == {"a b/c+d": "content"}


@follows(Reason.KEY_ENCODED, 0, "bucket mount")
def name_the_column(lab: Lab) -> None:
    lab.write("a b")
    rows = "a-bucket,my+in/a+b\n"
    source = {"source": "s3://a-bucket/my in/"}
    lab.fails(Reason.KEY_ENCODED, source | lab.manifest_of("bucket,key\n" + rows))
    lab.start(source | lab.manifest_of("bucket,encoded_key\n" + rows))
    assert lab.held() == {"a b": "content"}


@follows(Reason.NOT_AT_SOURCE, 0, "bucket mount")
def correct_the_path(lab: Lab) -> None:
    lab.write("d/f")
    lab.write("d/")
    lab.fails(Reason.NOT_AT_SOURCE, lab.manifest("in/d/f", "d"))
    lab.start(lab.manifest("d/f", "d/"))
    assert lab.held() == {"d/f": "content"}


@follows(Reason.LINK_DANGLING)
def restore_its_target(lab: Lab) -> None:
    (lab.root / "link").symlink_to("d/f")
    lab.fails(Reason.LINK_DANGLING, FOLLOW)
    lab.write("d/f")
    lab.retry()
    assert lab.held()["link"] == "content"


@follows(Reason.LINK_DANGLING)
def remove_what_leads_nowhere(lab: Lab) -> None:
    (lab.root / "link").symlink_to("d/f")
    lab.fails(Reason.LINK_DANGLING, FOLLOW)
    (lab.root / "link").unlink()
    lab.retry()


@follows(Reason.LINK_DANGLING, 1)
def keep_what_leads_nowhere(lab: Lab) -> None:
    (lab.root / "link").symlink_to("d/f")
    lab.fails(Reason.LINK_DANGLING, FOLLOW)
    lab.start({"symlinks": "keep"})
    assert lab.held() == {"link": "d/f"}


@follows(Reason.SOURCE_CHANGED)
def nobody_writes_any_more(lab: Lab) -> None:
    lab.write("f")
    lab.fails(Reason.SOURCE_CHANGED, during=lambda world: _copied_after(lab, world, "longer than it was"))
    lab.start()
    assert lab.held() == {"f": "longer than it was"}


@follows(Reason.SOURCE_VANISHED)
def nobody_deletes_any_more(lab: Lab) -> None:
    lab.write("f")
    lab.fails(Reason.SOURCE_VANISHED, during=lambda world: _copied_after(lab, world, ""))
    lab.start()


def _copied_after(lab: Lab, world: World, data: str) -> Json:
    world.list_all(world.plan(lab.request))
    (lab.root / "f").write_text(data) if data else (lab.root / "f").unlink()
    world.copy_all()
    world.finish_all()
    return world.end()


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
