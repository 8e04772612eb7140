"""What the oracle says of a verification: it names what differs, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator

from tests.adversary.scope import Finding, Record, Scope
from tests.adversary.trees import Snapshot, Version

UNKNOWN_OWNER = 2**32 - 1
ATTRIBUTES = frozenset({"mode differs", "mtime differs", "owner differs", "metadata differs"})
NAMED = ATTRIBUTES | {"checksum differs"}


def judge_verification(record: Record, scope: Scope, resting: Snapshot) -> Iterator[Finding]:
    """Every difference between what rested at the source and the destination is among the failures."""
    tree, result = record.window[-1], record.result
    failed = {row["path"] for row in result.failures}
    about = {path: version for path, version in resting.items() if scope.holds(path, version, tree)}
    for path, version in about.items():
        there = record.after.get(path)
        content = record.options.get("verify") == "content"
        what = "is not there" if there is None else differs(version, there, content)
        if there is not None and not what and scope.is_inside_s3 and not content and version.carried != there.carried:
            what = f"has other metadata: {sorted(version.carried ^ there.carried)}"
        if what and path not in failed and scope.source_of(path) not in failed and path not in record.touched:
            yield Finding("not verified", f"run {record.run} does not say that {path!r} {what}")
    if scope.is_all and not scope.escapes and not record.touched and resting.keys() == tree.keys():
        raw = record.raw
        for path in record.after:
            implied = path.endswith("/") and any(one.startswith(path) for one in raw)
            if path not in raw and not implied and path.rstrip("/") not in raw and path not in failed:
                yield Finding("extra", f"run {record.run} verified all and did not see {path!r}")
    for row in result.failures if record.quiet else []:
        here, there = tree.get(row["path"]), record.after.get(row["path"])
        if row["reason"] not in NAMED or here is None or there is None or not _same(here, there):
            continue
        if row["reason"] != "metadata differs" or here.carried == there.carried:
            yield Finding("quiet entry failed", f"run {record.run}: {row['path']!r} is the same: {row['message']}")


def judge_sums(record: Record) -> Iterator[Finding]:
    """The parts of a summary about a verification do not contradict each other, whatever attempts were lost."""
    summary = record.result.summary
    found = None if summary is None else summary.get("verification")
    if found is None:
        return
    digests = found["source_digest"], found["destination_digest"]
    if not found["differences"] and (digests[0] != digests[1] or found["differing_directories"]):
        where = found["differing_directories"]
        yield Finding("sums", f"run {record.run} has no difference, the digests {digests}, and {where} differ")
    held = sum(one["entries"] for one in found["not_compared"] if one["what"] == "archived objects")
    if record.mode == "verify" and held > summary["totals"]["skipped"]["entries"]:
        yield Finding("sums", f"run {record.run} did not compare {held} archived objects, and skipped fewer")


def _same(here: Version, there: Version) -> bool:
    mine, its = (one.mode if one.kind != "symlink" else None for one in (here, there))
    owners = (here.uid, here.gid) == (there.uid, there.gid)
    return here.content == there.content and mine == its and owners and here.mtime_ns == there.mtime_ns


def differs(here: Version, there: Version, content: bool = False) -> str:
    """What differs where both ends hold it; empty if nothing does."""
    if here.kind != there.kind:
        return f"is a {there.kind} and at the source a {here.kind}"
    if here.kind != "directory" and here.data != there.data:
        return "holds other bytes"
    if content:
        return ""
    owners = (here.uid, here.gid, there.uid, there.gid)
    owned = all(one is not None and one < UNKNOWN_OWNER for one in owners)
    if here.kind != "symlink" and here.mode is not None and there.mode is not None:
        # Set-id bits may be lacking where no owner is known.
        without_ids = here.mode & ~0o6000 | here.mode & there.mode & 0o6000
        if there.mode not in (here.mode, here.mode if owned else without_ids):
            return f"has mode {there.mode:04o}, at the source {here.mode:04o}"
    if owned and owners[:2] != owners[2:]:
        return f"belongs to {owners[2]}:{owners[3]}, at the source to {owners[0]}:{owners[1]}"
    if None not in (here.mtime_ns, there.mtime_ns) and here.mtime_ns != there.mtime_ns:
        return f"has mtime {there.mtime_ns}, at the source {here.mtime_ns}"
    return ""
