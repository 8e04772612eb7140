"""The one oracle: it looks at what the source held, at what the destination holds, and at what the run says."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.adversary.archived import judge_archived
from tests.adversary.certified import judge_certificate
from tests.adversary.deletions import judge_deletions
from tests.adversary.differences import ATTRIBUTES, NAMED, judge_sums, judge_verification
from tests.adversary.fields import judge_end, judge_report
from tests.adversary.hangs import HANGS
from tests.adversary.keeping import judge_keeping, left_there
from tests.adversary.linked import judge_linked
from tests.adversary.metadata import judge_metadata, judge_told
from tests.adversary.published import paths_of_published
from tests.adversary.scope import OF_ITS_OWN, REFUSED, Finding, Record, Scope
from tests.adversary.script import INSIDE_S3, MOUNT_TO_S3, S3_TO_MOUNT, Script
from tests.adversary.trees import Snapshot, Version

HEAD_LIES = frozenset({"S3: another's answer", "S3: stale read"})
WITH_S3 = frozenset({S3_TO_MOUNT, MOUNT_TO_S3, INSIDE_S3})


def judge(script: Script, record: Record) -> Iterator[Finding]:
    """Everything that is wrong about a run."""
    scope = Scope(script, record)
    yield from _ended(script, record)
    yield from _written(record)
    yield from judge_deletions(script, record, scope)
    yield from _complete(script, record, scope)
    yield from judge_keeping(script, record)
    yield from judge_report(record)
    yield from judge_end(record)
    yield from judge_certificate(record, scope)
    yield from judge_sums(record)
    yield from judge_told(script, record)
    yield from judge_archived(record)
    happened = record.told & {"kill", "os", "s3", "twice", "oversleep", "no answer of the ledger", *HANGS}
    # The next run removes what a stopped one staged.
    ended = record.result.finished and record.result.status != "STOPPED"
    if record.staged and ended and not (happened or record.nested):
        yield Finding("staged", f"run {record.run} left {record.staged}")


def _ended(script: Script, record: Record) -> Iterator[Finding]:
    """Status, books, failures: what the run says of itself."""
    result = record.result
    for text in result.unnamed:
        yield Finding("unnamed error", f"run {record.run}, {text}")
    summary = result.summary
    if summary is not None:
        if result.status in ("SUCCEEDED", "FAILED_WITH_ITEMS") and not summary["balanced"]:
            yield Finding("books", f"run {record.run} ended {result.status} and does not balance")
        if not summary["balanced"] and summary.get("error") is None:
            yield Finding("books", f"run {record.run}: {summary['totals']} does not balance")
        if result.status == "SUCCEEDED" and result.failures:
            yield Finding("status", f"run {record.run} is green with {len(result.failures)} failures")
        if result.status == "FAILED_WITH_ITEMS" and not result.failures:
            yield Finding("status", f"run {record.run} says FAILED_WITH_ITEMS of no item")
    if not record.quiet or _is_listed_by_lies(record):
        return
    if result.status == "FAILED" and _name(result.error) not in REFUSED:
        yield Finding("quiet run failed", f"run {record.run}: {result.error}")
    # Where the source has another note by now, the copy of a published tree stays, and its comparison says so.
    published = _with_all_names(paths_of_published(record.before), record.raw)
    for row in result.failures if result.status == "FAILED_WITH_ITEMS" and record.mode != "verify" else []:
        if row["path"] in published:
            continue
        # A LIST dates a directory's object after what changed its mtime since (clocks, docs/understand).
        ahead = script.direction == MOUNT_TO_S3 and script.skew_seconds > 1
        if ahead and row["path"].endswith("/") and row["reason"] == "mtime differs":
            continue
        if row["reason"] not in OF_ITS_OWN and not _left_alone(script, record, row["path"], row["reason"]):
            yield Finding(
                "quiet entry failed", f"run {record.run}: {row['path']!r}: {row['reason']} ({row.get('message')})"
            )


def _name(error: Any) -> str:
    return "" if error is None else str(error.get("Error") or error.get("name") or error.get("error") or error)


def _written(record: Record) -> Iterator[Finding]:
    """Every entry of the destination is what it was before, or a version that the source held meanwhile."""
    if record.mode in ("plan", "verify"):
        for path in sorted(record.before.keys() | record.after.keys()):
            if record.before.get(path) != record.after.get(path) and not record.touched and not record.nested:
                yield Finding("written", f"run {record.run} (mode {record.mode}) changed {path!r}")
        if record.writes:
            yield Finding("written", f"run {record.run} (mode {record.mode}) asked for {record.writes}")
        return
    if _is_listed_by_lies(record):
        return
    for path, now in record.after.items():
        if now.kind == "directory" or path in record.touched:
            continue
        before = record.before.get(path)
        if before is not None and before.content == now.content:
            continue
        versions = [tree[path].content for tree in record.window if path in tree]
        if now.content in versions:
            continue
        what = "which the source never held" if versions else "of which the source never had an entry"
        yield Finding("foreign bytes", f"run {record.run}: {path!r} is {_told(now)}, {what}")


def _is_listed_by_lies(record: Record) -> bool:
    """Whether HEADs, of which no answer shows whose or how old it is, are all that listed a manifest's objects.

    See docs/understand/s3-answers.md. Read again by ``If-Match``, most of them become failed entries all the same.
    """
    return record.manifest is not None and bool(record.told & HEAD_LIES)


def _told(version: Version) -> str:
    return f"a {version.kind} of {len(version.data)} bytes {version.data[:12]!r}"


def _complete(script: Script, record: Record, scope: Scope) -> Iterator[Finding]:
    """What did not change during the run is at the destination, or the run says what is not."""
    result = record.result
    green = result.status == "SUCCEEDED"
    ended = green or (result.status == "FAILED_WITH_ITEMS" and result.finished)
    tree = record.window[-1]
    failed = {row["path"] for row in result.failures}
    if record.mode == "verify" and result.status in ("SUCCEEDED", "FAILED_WITH_ITEMS") and result.error is None:
        still = {path: one for path, one in tree.items() if all(_is(path, one, other) for other in record.window)}
        yield from judge_verification(record, scope, still)
        return
    if record.mode in ("plan", "verify") or not ended or _is_listed_by_lies(record):
        return
    resting = {path: version for path, version in tree.items() if _rested(path, version, record.window)}
    for path, version in resting.items():
        if path in record.touched or path in failed or not scope.holds(path, version, tree):
            continue
        if left_there(record, path):
            continue
        if scope.source_of(path) in failed or any(
            failure.endswith("/") and path.startswith(failure) for failure in failed
        ):
            continue
        for kind, text in _differences(script, record, path, version):
            yield Finding(kind if green else f"{kind}, not among the failures", f"run {record.run}: {path!r} {text}")
    if green and scope.is_all and all(one.keys() == resting.keys() for one in record.window):
        yield from _counted(record, tree)
    if green:
        yield from judge_linked(script, record, scope, resting)


def _rested(path: str, version: Version, window: list[Snapshot]) -> bool:
    if version.kind == "directory":
        return all(path in one and one[path].mode == version.mode for one in window)
    return all(_is(path, version, one) for one in window)


def _is(path: str, version: Version, tree: Snapshot) -> bool:
    return path in tree and fixed(tree[path]) == fixed(version)


def fixed(version: Version) -> tuple[Any, ...]:
    """All of a version that another name leaves as it is."""
    return version.content, version.mode, version.mtime_ns, version.mark, version.uid, version.gid


def _differences(script: Script, record: Record, path: str, version: Version) -> Iterator[tuple[str, str]]:
    there = record.after.get(path)
    if there is None:
        yield "lost", "is not at the destination"
        return
    if there.kind != version.kind:
        yield "wrong kind", f"is a {there.kind}, at the source a {version.kind}"
        return
    if version.kind != "directory" and there.data != version.data:
        before = record.before.get(path)
        known = before is not None and before.content == there.content
        if known and _is_unseen(script, record, path, version, there):
            return
        yield "stale" if known else "wrong bytes", f"is {_told(there)}, at the source {_told(version)}"
    before = record.before.get(path)
    is_new = before is None or before.mark != there.mark
    if not is_new or version.kind == "symlink":
        return
    if before is None or before.content != there.content:
        yield from ((one.kind, one.text) for one in judge_metadata(script, record, path, version, there))
    owner = (version.uid, version.gid)
    to_mount = script.direction not in (MOUNT_TO_S3, INSIDE_S3)
    ids = 0o6000 if version.kind == "file" and owner != (there.uid, there.gid) and to_mount else 0
    if version.mode is not None and there.mode != version.mode & ~ids:
        kind = "set-id without its owner" if (there.mode or 0) & ids else "mode"
        yield kind, f"has mode {there.mode or 0:04o}, at the source {version.mode:04o}, owner {there.uid}:{there.gid}"
    if version.mtime_ns is not None and there.mtime_ns != version.mtime_ns and version.kind == "file":
        yield "mtime", f"has mtime {there.mtime_ns}, at the source {version.mtime_ns}"


def _is_unseen(script: Script, record: Record, path: str, here: Version, there: Version) -> bool:
    """Whether these are versions that ``size-mtime`` cannot tell apart (docs/understand/what-is-unchanged.md).

    A version came back, and no index has seen the destination; between mounts it came back with its size and mtime,
    from a bucket to a mount with its size and ``file-mtime``, and inside S3 an ETag of parts hides its bytes.
    Or the object has the file's size and mtime, and a Last-Modified of a clock that is ahead; an index vouches for what
    it saw from then on. Or somebody else wrote the version at the destination, with the source's size and mtime.
    """
    if record.options.get("compare", "size-mtime") != "size-mtime":
        return False
    written_ns = here.changed_ns if here.mtime_ns is None else here.mtime_ns  # an object's, if it has no mtime
    alike = (len(there.data), there.mtime_ns) == (len(here.data), written_ns)
    if here.mtime_ns is None and record.options.get("attributes", {}).get("mtime") == "now":
        return False  # a time of copying says nothing about the version
    if alike and record.foreign.get(path) == there:
        return True
    came_back = _came_back(path, here, record.story)
    if script.direction not in WITH_S3:
        return came_back and alike
    ahead = script.direction == MOUNT_TO_S3 and script.skew_seconds > 1 and alike
    if ahead and (not record.indexed or there == record.vouched.get(path)):
        return True
    whole = script.direction == INSIDE_S3 and "-" not in f"{here.mark}{there.mark}"
    return came_back and not record.indexed and not whole


def _left_alone(script: Script, record: Record, path: str, reason: str) -> bool:
    """Whether a verification names what the copy before it was not to see (docs/understand).

    ``compare: checksum`` leaves the attributes of equal bytes. Without an index ``size-mtime`` sees neither these where
    one end is S3, nor a version that came back.
    """
    if record.resumed and _was_changed_since(record, path, reason):
        return True
    if reason == "source changed" and record.mode == "sync" and _is_below_unlisted(script, record, path):
        return True
    before, after, here = record.before.get(path), record.after.get(path), record.window[-1].get(path)
    if here is not None and here.archived and reason in NAMED:
        return True  # its copy from before stays, and a comparison of checksums that S3 keeps says that it differs
    if before is None or after is None or here is None or before.mark != after.mark:
        return False
    if reason in ATTRIBUTES:
        blind = script.direction in WITH_S3 and not record.indexed
        blind = blind or _is_unseen(script, record, path, here, after)
        ahead = script.direction == MOUNT_TO_S3 and script.skew_seconds > 1
        blind = blind or (here.kind == "directory" and ahead)  # no index holds directories
        blind = blind or "attributes" in record.options  # which an unchanged entry does not get
        # What the resumed run had copied is not listed again at the source (docs/understand/stopped-runs.md).
        blind = blind or (record.resumed and any(one.get(path, here) != here for one in record.story))
        return after.content == here.content and (record.options.get("compare") == "checksum" or blind)
    return reason == "checksum differs" and _is_unseen(script, record, path, here, after)


def _was_changed_since(record: Record, path: str, reason: str) -> bool:
    """Whether a run that resumes another names what others did since that one listed (docs/understand/stopped-runs.md).

    What nobody was allowed to read is not named: its remedy changes the source, and a retry copies it.
    """
    changed = any(one.get(path) != record.window[-1].get(path) for one in record.window)
    return path in record.foreign or (reason == "source changed" and changed and path not in record.denied)


def _with_all_names(paths: set[str], tree: Snapshot) -> set[str]:
    """The paths, and every other name of their files."""
    marks = {tree[path].mark for path in paths if path in tree and tree[path].kind == "file"}
    return paths | {path for path, one in tree.items() if one.kind == "file" and one.mark in marks}


def _is_below_unlisted(script: Script, record: Record, path: str) -> bool:
    """Whether an extra of a bucket lies below a file or symlink of the source that the bucket lacks.

    docs/understand/what-a-sync-deletes.md: such an extra stays as a failed row.
    """
    above = [path[:at] for at, sign in enumerate(path) if sign == "/"]
    there, tree = record.after, record.raw
    return script.direction == MOUNT_TO_S3 and path in there and any(one in tree and one not in there for one in above)


def _came_back(path: str, version: Version, history: list[Snapshot]) -> bool:
    """Whether the source held this version, then another, and then this one again."""
    held = [path in tree and fixed(tree[path]) == fixed(version) for tree in history]
    return True in held and False in held[held.index(True) :]


def _counted(record: Record, tree: Snapshot) -> Iterator[Finding]:
    """The books count what the source holds."""
    if record.options.get("symlinks") == "follow" or record.result.summary is None:
        return
    listed = record.result.summary["totals"]["listed"]["entries"]
    if listed != len(tree):
        yield Finding("listed", f"run {record.run} listed {listed} of {len(tree)} entries")
    everything = (record.options.get("verify") == "all" and record.mode != "move") or record.mode == "verify"
    if everything and not record.touched and record.options.get("on_conflict") != "escape":
        extra = [path for path in record.after if path not in tree and not any(one.startswith(path) for one in tree)]
        if extra:
            yield Finding("extra", f"run {record.run} verified all and did not see {extra}")
