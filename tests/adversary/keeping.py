"""What a request leaves or keeps of the destination (overwrite, backup_to): drawn, and judged."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

from tests.adversary.scope import Finding, Record
from tests.adversary.script import INSIDE_S3, MOUNT_TO_S3, TWO_MOUNTS, Script

KEPT_IN = "kept"


def keep(draw: Random, direction: str, options: dict[str, Any]) -> None:
    """Draw a sync between two mounts, a policy for what is there, and a place for what is replaced or deleted."""
    to_mount = direction not in (MOUNT_TO_S3, INSIDE_S3)
    chances = [draw.random() for _ in range(4)]
    percent, policy = draw.choice((10.0, 60.0, 100.0, 100.0)), draw.choice(("never", "if-newer"))
    if direction == TWO_MOUNTS and chances[0] < 0.4 and options.get("on_conflict") != "escape":
        options.setdefault("mode", "sync")
        options.setdefault("delete_guard", {"max_percent": percent})
    if direction == TWO_MOUNTS and chances[3] < 0.25:
        options["compare"] = "checksum"
    if chances[1] < 0.2 and options.get("verify") not in ("all", "content"):
        options["overwrite"] = policy
    if chances[2] < 0.25 and to_mount:
        options["backup_to"] = f"efs://{'archive' if direction == TWO_MOUNTS else 'data'}/{KEPT_IN}"


def judge_keeping(script: Script, record: Record) -> Iterator[Finding]:
    """What the request leaves is left, and what it keeps can be brought back."""
    policy = record.options.get("overwrite", "always")
    for path, before in record.before.items():
        if before.kind == "directory" or path in record.touched:
            continue
        after = record.after.get(path)
        changed = after is None or after.content != before.content
        if after is not None and changed and not record.nested and not _replaces(policy, script, record, path):
            yield Finding("overwritten", f"run {record.run} (overwrite {policy}) replaced {path!r}")
        if changed and "backup_to" in record.options and not record.nested:
            kept = record.kept.get(path)
            if kept is None or kept.content != before.content:
                what = "is not kept" if kept is None else "is kept with other bytes"
                yield Finding("not kept", f"run {record.run}: {path!r} is replaced or gone, and {what}")


def left_there(record: Record, path: str) -> bool:
    """Whether the policy may leave what stands at a path: nothing else is to be found there then."""
    before, after = record.before.get(path), record.after.get(path)
    if record.options.get("overwrite", "always") == "always" or before is None or after is None:
        return False
    return before.content == after.content


def _replaces(policy: str, script: Script, record: Record, path: str) -> bool:
    if policy == "always":
        return True
    if policy == "never":
        return False
    there = record.before[path].mtime_ns
    if there is None or script.direction in (MOUNT_TO_S3, INSIDE_S3):
        return True  # a bucket's time is that of the write, which the snapshot does not hold
    times = [tree[path].mtime_ns or tree[path].changed_ns for tree in record.story if path in tree]
    return any(one > there for one in times)
