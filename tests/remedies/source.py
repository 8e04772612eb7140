"""Faults of an entry at the source, or of the manifest that names it."""

from __future__ import annotations

import stat

from fanout.model.document import Json
from fanout.model.entry import Attributes
from fanout.model.errors import ItemError
from fanout.model.outcome import Reason
from tests.remedies.lab import Lab
from tests.remedies.table import follows
from tests.support.flow import World

FOLLOW: Json = {"symlinks": "follow"}
SKIP_VANISHED, NO_OPTIONS = {"vanished": "skip"}, dict[str, str]()
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


@follows(Reason.ROW_NOT_BELOW)
def paths_below_the_source(lab: Lab) -> None:
    lab.write("d/f")
    lab.fails(Reason.ROW_NOT_BELOW, lab.manifest(f"{lab.root}/d/f", "../in/d/f", "d//f"))
    lab.start(lab.manifest("d/f"))
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


@follows(Reason.SOURCE_VANISHED, 1)
def leave_out_what_is_gone(lab: Lab) -> None:
    lab.write("f")
    lab.fails(Reason.SOURCE_VANISHED, during=lambda world: _copied_after(lab, world, ""))
    lab.write("f")
    lab.start(SKIP_VANISHED, during=lambda world: _copied_after(lab, world, "", SKIP_VANISHED))


def _copied_after(lab: Lab, world: World, data: str, options: Json = NO_OPTIONS) -> Json:
    world.list_all(world.plan({**lab.request, **options}))
    (lab.root / "f").write_text(data) if data else (lab.root / "f").unlink()
    world.copy_all()
    world.finish_all()
    return world.end()
