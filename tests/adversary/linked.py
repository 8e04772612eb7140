"""Names of one file, which stay names of one file: judged."""

from __future__ import annotations

from collections.abc import Iterator

from tests.adversary.keeping import left_there
from tests.adversary.scope import Finding, Record, Scope
from tests.adversary.script import INSIDE_S3, MOUNT_TO_S3, S3_TO_MOUNT, Script
from tests.adversary.trees import Snapshot


def judge_linked(script: Script, record: Record, scope: Scope, resting: Snapshot) -> Iterator[Finding]:
    """Names of one file stay names of one file where both ends are mounts."""
    if script.direction in (S3_TO_MOUNT, MOUNT_TO_S3, INSIDE_S3) or record.manifest is not None or script.s3_files:
        return
    groups: dict[str, list[str]] = {}
    tree = record.raw
    for path, version in tree.items():
        if version.kind == "file":
            groups.setdefault(version.mark, []).append(path)
    for names in groups.values():
        held = all(
            name in resting and name not in record.touched and scope.holds(name, tree[name], tree) for name in names
        )
        names = [name for name in names if not left_there(record, name)]
        marks = {record.after[name].mark for name in names if name in record.after}
        if len(names) > 1 and held and len(marks) > 1:
            yield Finding("links", f"run {record.run}: {names} are one file at the source and {len(marks)} there")
