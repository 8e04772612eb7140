"""Names that the destination cannot hold."""

from __future__ import annotations

import os

from fanout.model.outcome import Reason
from tests.remedies.lab import Lab
from tests.remedies.table import Follow, follows

FROM_BUCKET, TO_BUCKET = "bucket mount", "mount bucket"
KEYS = {
    Reason.NAME_EMPTY: "a//b",
    Reason.NAME_DOT: "a/../b",
    Reason.NAME_ABSOLUTE: "/abs",
    Reason.NAME_NUL: "a\0b",
    Reason.NAME_TOO_LONG: "n" * 256,
    Reason.NAME_RESERVED: ".fanout-staging-1/f",
    Reason.PATH_TOO_DEEP: "d/" * 1001 + "f",
    Reason.FILE_AND_DIRECTORY: "both/below",
}


def renamed(reason: Reason, key: str) -> Follow:
    """Give the object another key."""

    def rename(lab: Lab) -> None:
        if reason is Reason.FILE_AND_DIRECTORY:
            lab.write("both")
        lab.write(key)
        lab.fails(reason)
        lab.buckets["source"].remove(key)
        lab.write("a/new-name")
        lab.start()
        assert "a/new-name" in lab.held()

    return rename


def escaped(reason: Reason, key: str) -> Follow:
    """Have the name escaped."""

    def escape(lab: Lab) -> None:
        if reason is Reason.FILE_AND_DIRECTORY:
            lab.write("both")
        lab.write(key)
        lab.fails(reason)
        lab.start({"on_conflict": "escape"})
        assert len(lab.held()) == len(lab.held("source"))

    return escape


for _reason, _key in KEYS.items():
    follows(_reason, 0, FROM_BUCKET)(renamed(_reason, _key))
    if "escape" in _reason.remedy:
        follows(_reason, 1, FROM_BUCKET)(escaped(_reason, _key))


@follows(Reason.NAME_EMPTY, 1, FROM_BUCKET)
def bytes_under_a_key_that_ends_in_a_slash(lab: Lab) -> None:
    lab.write("good")
    lab.buckets["source"].put("odd/", lab.buckets["source"].contents()["good"].entry.kind, b"bytes")
    lab.fails(Reason.NAME_EMPTY)
    lab.start({"on_conflict": "escape"})
    assert len(lab.held()) == 2


@follows(Reason.KEY_TOO_LONG, 0, TO_BUCKET)
def shorten(lab: Lab) -> None:
    long = "/".join("d" * 200 for _ in range(6))
    lab.write(long)
    lab.fails(Reason.KEY_TOO_LONG)
    top = lab.root / long.split("/", maxsplit=1)[0]
    top.rename(lab.root / "d")
    lab.start()
    assert len(lab.held()) == 1


@follows(Reason.KEY_NOT_UTF8, 0, TO_BUCKET)
def rename(lab: Lab) -> None:
    lab.write(os.fsdecode(b"\xff"))
    lab.fails(Reason.KEY_NOT_UTF8)
    (lab.root / os.fsdecode(b"\xff")).rename(lab.root / "named")
    lab.start()
    assert set(lab.held()) == {"named"}


@follows(Reason.KEY_NOT_UTF8, 1, TO_BUCKET)
def escape(lab: Lab) -> None:
    lab.write(os.fsdecode(b"\xff"))
    lab.fails(Reason.KEY_NOT_UTF8)
    lab.start({"on_conflict": "escape"})
    assert len(lab.held()) == 1


@follows(Reason.NAME_NOT_ESCAPED, 0, TO_BUCKET)
def rename_to_what_escape_makes(lab: Lab) -> None:
    lab.write("^lit")
    lab.fails(Reason.NAME_NOT_ESCAPED, {"on_conflict": "unescape"})
    (lab.root / "^lit").rename(lab.root / "lit")
    lab.start({"on_conflict": "unescape"})
    assert set(lab.held()) == {"lit"}


@follows(Reason.NAME_NOT_ESCAPED, 1, TO_BUCKET)
def fail(lab: Lab) -> None:
    lab.write("^lit")
    lab.fails(Reason.NAME_NOT_ESCAPED, {"on_conflict": "unescape"})
    lab.start({"on_conflict": "fail"})
    assert set(lab.held()) == {"^lit"}


@follows(Reason.MARKER_AND_DIRECTORY, 0, FROM_BUCKET)
def leave_empty_objects_out(lab: Lab) -> None:
    _marked(lab)
    (lab.out / "d").unlink()
    lab.start({"min_size": 1})
    assert lab.held() == dict.fromkeys(("d/f", "d/e/g"), "content")


@follows(Reason.MARKER_AND_DIRECTORY, 1, FROM_BUCKET)
def delete_the_empty_object(lab: Lab) -> None:
    _marked(lab)
    lab.buckets["source"].remove("d")
    (lab.out / "d").unlink()
    lab.start()
    assert lab.held() == dict.fromkeys(("d/f", "d/e/g"), "content")


def _marked(lab: Lab) -> None:
    lab.write("d", "")
    lab.write("d/f")
    lab.write("d/e/g")
    lab.fails(Reason.MARKER_AND_DIRECTORY)
    assert lab.runs[-1].troubles.keys() == {"d/f", "d/e/g"}
