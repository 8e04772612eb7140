"""Differences between the ends: each is gone after its remedy, in the comparison that found it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

from fanout.adapters.posix import attributes
from fanout.model.document import Json
from fanout.model.entry import Attributes, Kind
from fanout.model.errors import AccessDenied
from fanout.model.outcome import Reason
from tests.remedies.lab import Lab
from tests.remedies.table import Follow, follows
from tests.support.memory import MemoryEntryCopier

VERIFY: Json = {"mode": "verify"}
MOVE: Json = {"mode": "move"}
ALLOW: Json = {"on_not_holdable": "allow"}
COPY_ALWAYS: Json = {"mode": "copy", "compare": "always"}


def _rewrite(path: Path) -> None:
    """Other bytes with the size and the mtime that it had."""
    before = path.stat()
    path.write_bytes(bytes(byte ^ 1 for byte in path.read_bytes()))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def _unlink_name(path: Path) -> None:
    data = path.read_bytes()
    before = path.stat()
    path.unlink()
    path.write_bytes(data)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


# What somebody did at the destination, and on what; a path with "/" at its end is a directory, "link" a symlink.
CHANGES: dict[Reason, tuple[Callable[[Path], object], list[str]]] = {
    Reason.CHECKSUM: (_rewrite, ["d/f"]),
    Reason.MISSING: (os.unlink, ["d/f", "link", "e/name"]),
    Reason.DIFFERS: (lambda path: path.write_text("longer than it was"), ["d/f"]),
    Reason.MODE_DIFFERS: (lambda path: path.chmod(0o640), ["d/f", "d/"]),
    Reason.OWNER_DIFFERS: (lambda path: os.chown(path, 7, 8, follow_symlinks=False), ["d/f", "d/", "link"]),
    Reason.MTIME_DIFFERS: (lambda path: os.utime(path, ns=(5, 5), follow_symlinks=False), ["d/f", "d/", "link"]),
    Reason.LINKS_DIFFER: (_unlink_name, ["e/name"]),
}


def changed(reason: Reason, path: str, change: Callable[[Path], object], again: Json) -> Follow:
    """The change is found, the remedy followed, and the comparison is green."""

    def copy_it(lab: Lab) -> None:
        os.link(lab.write("d/f"), lab.root / "d/same-file")
        os.link(lab.write("e/f"), lab.root / "e/name")
        (lab.root / "link").symlink_to("d/f")
        lab.run()
        change(lab.out / path)
        lab.fails(reason, VERIFY)
        lab.start(again)
        lab.run(VERIFY)
        assert lab.runs[-1].summary["status"] == "SUCCEEDED", lab.runs[-1].troubles

    copy_it.__name__ = f"copy_{path.strip('/').replace('/', '_')}"
    return copy_it


for _reason, (_change, _paths) in CHANGES.items():
    for _path in _paths:
        _again = {"mode": "copy"} if _reason is Reason.MISSING else COPY_ALWAYS
        follows(_reason)(changed(_reason, _path, _change, _again))


@follows(Reason.OWNER_DIFFERS, 1)
def move_and_let_owners_go(lab: Lab) -> None:
    os.chown(lab.write("f"), 7, 8)
    with patch.object(attributes, "_change_owner", lambda *_: False):
        lab.fails(Reason.OWNER_DIFFERS, MOVE)
        assert lab.held("source") == {"f": "content"}
        lab.start({**MOVE, **ALLOW})
    assert (lab.held("source"), lab.held()) == ({}, {"f": "content"})
    assert "(owner 7:8)" in " ".join(lab.runs[-1].summary["notes"])


@follows(Reason.NOT_HOLDABLE, 0, "bucket mount")
def copy_what_would_lose_its_headers(lab: Lab) -> None:
    lab.write("f", headers={"cache-control": "no-store"})
    lab.fails(Reason.NOT_HOLDABLE, MOVE)
    lab.start({"mode": "copy"})
    assert (lab.held("source"), lab.held()) == ({"f": "content"}, {"f": "content"})


@follows(Reason.NOT_HOLDABLE, 1, "bucket mount")
def move_and_let_headers_go(lab: Lab) -> None:
    lab.write("f", headers={"cache-control": "no-store"})
    lab.fails(Reason.NOT_HOLDABLE, MOVE)
    assert lab.held("source") == {"f": "content"}
    lab.start({**MOVE, **ALLOW})
    assert (lab.held("source"), lab.held()) == ({}, {"f": "content"})
    assert "(Cache-Control 'no-store')" in " ".join(lab.runs[-1].summary["notes"])


@follows(Reason.NOT_HOLDABLE, 1, "mount bucket")
def move_and_let_links_go(lab: Lab) -> None:
    os.link(lab.write("f"), lab.root / "name")
    lab.fails(Reason.NOT_HOLDABLE, MOVE)
    lab.start({**MOVE, **ALLOW})
    assert (lab.held("source"), set(lab.held())) == ({}, {"f", "name"})


@follows(Reason.METADATA_DIFFERS, 0, "bucket bucket")
def copy_objects(lab: Lab) -> None:
    lab.write("f", headers={"content-type": "text/html"})
    lab.made["copier"] = MemoryEntryCopier(lab.buckets["source"], lab.buckets["destination"])
    lab.run()
    lab.buckets["destination"].put("f", Kind.FILE, b"content", Attributes(headers={"content-type": "text/plain"}))
    lab.fails(Reason.METADATA_DIFFERS, VERIFY)
    lab.start(COPY_ALWAYS)
    lab.start(VERIFY)


@follows(Reason.EXTRA)
def delete_it(lab: Lab) -> None:
    lab.write("f")
    lab.run()
    lab.write("extra", end="destination")
    lab.fails(Reason.EXTRA, VERIFY)
    (lab.out / "extra").unlink()
    lab.start(VERIFY)


@follows(Reason.NOT_VERIFIED, 0, "mount bucket")
def verify_again(lab: Lab) -> None:
    lab.write("f")
    bucket = lab.buckets["destination"]
    lab.run()

    def denied(_path: str) -> None:
        raise AccessDenied("GetObject", "s3://b-bucket/out/f", "403")

    with patch.object(bucket, "find_stored", denied):
        lab.fails(Reason.NOT_VERIFIED, VERIFY)
    lab.start(VERIFY)
