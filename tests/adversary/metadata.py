"""What an object carries in addition to bytes and POSIX attributes: drawn by its seed, judged by a table of its own.

The table here is written from S3's pages, and reads nothing of the product's.

| of an object                       | on a mount | in another bucket |
|------------------------------------|------------|-------------------|
| content headers, website redirect  | lost       | the same          |
| a Content-Type that is S3's own    | no loss    | the same          |
| user metadata that is no attribute | lost       | the same          |
| tags                               | lost       | the same          |

A move that is allowed to lose them says of how many entries it did. A verification finds other metadata in another
bucket, and says what it does not compare.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Any

from tests.adversary.attributes import POSIX, USER
from tests.adversary.s3_words import STORAGE
from tests.adversary.scope import Finding, Record
from tests.adversary.script import INSIDE_S3, MOUNT_TO_S3, S3_TO_MOUNT, TWO_MOUNTS, WITHIN_MOUNT, Script, Spec
from tests.adversary.trees import Snapshot, Version

_HEADERS = (
    ("content-type", "text/x-drawn; charset=utf-8"),
    ("cache-control", "no-store"),
    ("content-disposition", 'attachment; filename="a.txt"'),
    ("content-encoding", "gzip"),
    ("content-language", "de"),
    ("expires", "Thu, 01 Dec 2033 16:00:00 GMT"),
    ("x-amz-website-redirect-location", "/new.html"),
    (f"{USER}patient", "7"),
)
# Metadata that are attributes where a request reads those of a tool.
_OF_TOOLS = {
    tool: frozenset(f"{USER}{name}" for name in names)
    for tool, names in {
        "": (),
        "rclone": ("mtime",),
        "s3fs": ("mode", "uid", "gid", "mtime", "atime", "ctime"),
        "s3cmd": ("s3cmd-attrs",),
        "mc": ("mc-attrs",),
    }.items()
}
ALLOWED = "moved without what the destination cannot hold"
_CONTENT = ("Content-Type", "Cache-Control", "Content-Disposition", "Content-Encoding", "Content-Language", "Expires")
_NOT_COMPARED = {
    S3_TO_MOUNT: (*_CONTENT, "website redirect", "user metadata", "tags"),
    INSIDE_S3: ("tags",),
    MOUNT_TO_S3: ("hard links",),
    WITHIN_MOUNT: ("access control lists and extended attributes",),
    TWO_MOUNTS: ("access control lists and extended attributes",),
}


def drawn_headers(spec: Spec) -> dict[str, str]:
    """Headers of an object, of a few; by its seed, so that no other draw moves."""
    draw = Random(spec.seed * 7 + 1)
    return dict(draw.sample(_HEADERS, draw.randint(1, 3))) if draw.random() < 0.12 and spec.kind == "file" else {}


def drawn_tags(spec: Spec) -> str:
    """Tags of an object, of a few."""
    draw = Random(spec.seed * 7 + 2)
    return draw.choice(("a=b&c=", "retain=10y")) if draw.random() < 0.12 and spec.kind == "file" else ""


def may_lose(draw: float, options: dict[str, Any]) -> None:
    """Let a move lose what a mount cannot hold, now and then; ``draw`` is between 0 and 1."""
    if options.get("mode") == "move" and draw * 1000 % 1 < 0.4:
        options["on_not_holdable"] = "allow"


def carried(headers: Mapping[str, str]) -> frozenset[tuple[str, str]]:
    """What an object carries that is no POSIX attribute."""
    return frozenset((name, text) for name, text in headers.items() if not name.startswith(POSIX) and name != STORAGE)


def judge_metadata_of_move(
    script: Script,
    run: str,
    options: dict[str, Any],
    then: Snapshot,
    now: Snapshot,
    there: Snapshot,
    story: Sequence[Snapshot],
) -> Iterator[Finding]:
    """What has gone at the source took nothing with it that is nowhere else."""
    if options.get("verify") == "content" or script.direction not in (S3_TO_MOUNT, INSIDE_S3):
        return
    read = options.get("attributes", {}).get("from", "")
    for path in sorted(then.keys() - now.keys()):
        version, copy = then[path], there.get(path)
        if script.direction == S3_TO_MOUNT and options.get("on_not_holdable") != "allow":
            lost = _names(version, read)
            lost += ["tags"] if version.tags else []
            if lost:
                yield Finding("moved", f"run {run} deleted {path!r}, the only one with {lost}")
        if script.direction == INSIDE_S3 and copy is not None:
            lost = sorted(name for name, _ in version.carried - copy.carried)
            tags = {tree[path].tags for tree in (*story, then) if path in tree}
            lost += ["tags"] if copy.tags not in tags else []
            if lost:
                yield Finding("moved", f"run {run} deleted {path!r} at the source, whose {lost} its copy lacks")


def judge_let_go(script: Script, record: Record, then: Snapshot, now: Snapshot) -> Iterator[Finding]:
    """The note of a move in which nothing went wrong counts each entry that went with what a mount cannot hold."""
    summary, options = record.result.summary, record.options
    quiet = not (record.told or record.touched or record.nested or record.resumed)
    if script.direction != S3_TO_MOUNT or summary is None or not quiet or options.get("verify") == "content":
        return
    read = options.get("attributes", {}).get("from", "")
    gone = (path for path in then if path not in now and then[path].kind != "directory")
    lost = sum(bool(then[path].tags) or bool(_names(then[path], read)) for path in gone)
    notes = [re.match(rf"{ALLOWED}[^:]*: ([\d,]+)", note) for note in summary["notes"]]
    said = sum(int(found[1].replace(",", "")) for found in notes if found)
    if said != lost:
        yield Finding(
            "let go", f"run {record.run} deleted {lost} entries of which a mount cannot hold all, says {said}"
        )


def judge_told(script: Script, record: Record) -> Iterator[Finding]:
    """A comparison of whole trees says what it leaves out of each entry."""
    verification = (record.result.summary or {}).get("verification")
    verify = record.options.get("verify")
    if not verification or record.mode == "move" or not (record.mode == "verify" or verify in ("all", "content")):
        return
    told = ", ".join(row["what"] for row in verification["not_compared"])
    wanted = ("attributes and metadata",) if verify == "content" else _NOT_COMPARED[script.direction]
    missing = [what for what in wanted if what not in told.split(", ")]
    if missing:
        yield Finding("not told", f"run {record.run} does not compare {missing}, and says so of {told!r} alone")


def _names(version: Version, read: str) -> list[str]:
    """The names of what a mount does not hold of an object; ``read`` is the tool whose attributes the request reads."""
    return sorted(name for name, _ in version.carried if name not in _OF_TOOLS[read])


def judge_metadata(script: Script, record: Record, path: str, version: Version, there: Version) -> Iterator[Finding]:
    """A new copy in a bucket carries all that its source does."""
    if script.direction == INSIDE_S3 and not version.carried <= there.carried:
        lost = sorted(name for name, _ in version.carried - there.carried)
        yield Finding("metadata", f"run {record.run}: {path!r} lacks {lost} of its source")
