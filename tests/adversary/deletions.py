"""What the oracle says of deletions: a sync deletes what the source lacks, twice looked at, and keeps to its guard."""

from __future__ import annotations

from collections.abc import Iterator

from tests.adversary.kinds import is_replaced
from tests.adversary.scope import Finding, Record, Scope
from tests.adversary.script import INSIDE_S3, MOUNT_TO_S3, S3_TO_MOUNT, Script
from tests.adversary.trees import Snapshot


def judge_deletions(script: Script, record: Record, scope: Scope) -> Iterator[Finding]:
    """What has gone may go.

    The product looks at the source twice: when it lists, and before it deletes. So a path that was there all the time
    of the listing stays, and so does one that was there all the time of the function that deleted it. What goes at the
    source before the second look may go at the destination, and what comes after it is seen by the next run.
    """
    gone = [path for path in record.before if path not in record.after and path not in record.touched]
    if not gone or record.nested:
        return
    if record.mode != "sync":
        yield Finding("deleted", f"run {record.run} (mode {record.mode}) deleted {gone}")
        return
    deleting = {path: one for one in record.deletions for path in one.paths}
    for path in gone:
        if is_replaced(record.options, path, record.before[path], record.window):
            continue
        if path not in deleting:
            yield Finding("deleted", f"run {record.run} deleted {path!r}, and no state that deletes did")
            continue
        if scope.excludes(path):
            yield Finding("deleted", f"run {record.run} deleted {path!r}, which the request is not about")
        listed = record.story[record.listed[0] : record.listed[1] + 1]
        looked = record.story[deleting[path].first : deleting[path].last + 1]
        for what, trees in (("was listed", listed), ("was looked at again", looked)):
            if trees and all(_holds(script, tree, path) for tree in trees):
                yield Finding("deleted", f"run {record.run} deleted {path!r}, which the source had while it {what}")
        hidden = script.direction not in (S3_TO_MOUNT, INSIDE_S3) and bool(looked and listed)
        if (
            hidden
            and all(_is_hidden(tree, path) for tree in looked)
            and not any(_is_hidden(one, path) for one in listed)
        ):
            yield Finding("deleted", f"run {record.run} deleted {path!r}, which could not be looked for at the source")
    yield from _guarded(record, scope, gone)


def _holds(script: Script, tree: Snapshot, path: str) -> bool:
    """Whether the source holds an entry under the name, in any form; in a bucket ``p`` and ``p/`` are two."""
    plain = path.rstrip("/")
    if script.direction in (MOUNT_TO_S3, INSIDE_S3):
        return path in tree
    return plain in tree or any(one.startswith(f"{plain}/") for one in tree)


def _is_hidden(tree: Snapshot, path: str) -> bool:
    """Whether something that is no directory stands above a path, so that nobody can say what is below."""
    names = path.rstrip("/").split("/")
    return any("/".join(names[:count]) in tree for count in range(1, len(names)))


def _guarded(record: Record, scope: Scope, gone: list[str]) -> Iterator[Finding]:
    mine = {path for path in record.before if not scope.excludes(path)}
    mine |= {path for path in record.before if path.endswith("/") and any(one.startswith(path) for one in mine)}
    percent = 100 * len(gone) / max(1, len(mine))
    most = record.options.get("delete_guard", {}).get("max_percent", 10.0)
    if len(gone) >= len(mine):
        yield Finding("guard", f"run {record.run} deleted all {len(mine)} entries that it is about")
    elif percent > most:
        yield Finding("guard", f"run {record.run} deleted {len(gone)} of {len(mine)} entries, over {most} %")
