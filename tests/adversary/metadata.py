"""What an object carries in addition to bytes and POSIX attributes: drawn by its seed, judged by a table of its own.

The table here is written from S3's pages, and reads nothing of the product's.

| of an object                       | on a mount | in another bucket |
|------------------------------------|------------|-------------------|
| content headers, website redirect  | lost       | the same          |
| a Content-Type that is S3's own    | no loss    | the same          |
| user metadata that is no attribute | lost       | the same          |
| tags                               | lost       | the same          |
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Any

from tests.adversary.attributes import POSIX, USER
from tests.adversary.scope import Finding, Record
from tests.adversary.script import INSIDE_S3, S3_TO_MOUNT, Script, Spec
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
# Metadata that the product counts as attributes of other tools, whether it reads them or not.
_OF_TOOLS = frozenset(f"{USER}{name}" for name in ("mtime", "mode", "uid", "gid", "s3cmd-attrs", "mc-attrs"))
ALLOWED = "moved without what the destination cannot hold"


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
    return frozenset((name, text) for name, text in headers.items() if not name.startswith(POSIX))


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
            lost = sorted(name for name, _ in version.carried if not (read and name in _OF_TOOLS))
            lost += ["tags"] if version.tags else []
            if lost:
                yield Finding("moved", f"run {run} deleted {path!r}, the only one with {lost}")
        if script.direction == INSIDE_S3 and copy is not None:
            lost = sorted(name for name, _ in version.carried - copy.carried)
            tags = {tree[path].tags for tree in (*story, then) if path in tree}
            lost += ["tags"] if copy.tags not in tags else []
            if lost:
                yield Finding("moved", f"run {run} deleted {path!r} at the source, whose {lost} its copy lacks")


def judge_metadata(script: Script, record: Record, path: str, version: Version, there: Version) -> Iterator[Finding]:
    """A new copy in a bucket carries all that its source does."""
    if script.direction == INSIDE_S3 and not version.carried <= there.carried:
        lost = sorted(name for name, _ in version.carried - there.carried)
        yield Finding("metadata", f"run {record.run}: {path!r} lacks {lost} of its source")
