"""Deleting objects that still are what was listed."""

from __future__ import annotations

from collections.abc import Sequence

from fanout.adapters.s3.client.client import S3Client
from fanout.adapters.s3.client.responses import to_seconds
from fanout.model.entry import SECOND_NS, Entry, whole_seconds
from fanout.model.errors import ItemError, NotFound
from fanout.model.outcome import Reason

_REASONS = {
    "AccessDenied": Reason.DESTINATION_DENIED,
    "PreconditionFailed": Reason.DESTINATION_CHANGED,
    "ConditionalRequestConflict": Reason.DESTINATION_CHANGED,
}
_AT_SOURCE = {
    "AccessDenied": Reason.SOURCE_NOT_DELETED,
    "PreconditionFailed": Reason.SOURCE_CHANGED,
    "ConditionalRequestConflict": Reason.SOURCE_CHANGED,
}
_CHANGED = "its ETag is not the one that was listed"
_WRITTEN_AGAIN = "it was written again since it was listed"


def delete_listed(
    client: S3Client,
    bucket: str,
    prefix: str,
    entries: Sequence[Entry],
    *,
    at_source: bool = False,
) -> dict[str, ItemError]:
    """See ``ports.tree.DeletingTree.delete``: at most 1,000 objects.

    A HEAD tells those that changed, also where a server ignores the condition that each deletion carries:
    S3 deletes an object only if its ETag is still the one named.
    """
    problems: dict[str, ItemError] = {}
    etags: dict[str, str] = {}
    changed = Reason.SOURCE_CHANGED if at_source else Reason.DESTINATION_CHANGED
    reasons = _AT_SOURCE if at_source else _REASONS
    for entry in entries:
        key = prefix + entry.path
        try:
            headers = client.head_object(bucket, key).headers
        except NotFound:
            if client.is_listed(bucket, key):
                problems[entry.path] = ItemError(Reason.TRANSIENT, "a HEAD does not find it, a listing does")
            continue
        etag, modified = headers.get("etag", ""), to_seconds(headers.get("last-modified", ""))
        if etag != entry.etag:
            problems[entry.path] = ItemError(changed, _CHANGED)
        elif at_source and modified * SECOND_NS != whole_seconds(entry.changed_ns):
            problems[entry.path] = ItemError(changed, _WRITTEN_AGAIN)
        else:
            etags[key] = etag
    for key, code in client.delete_objects(bucket, etags, etags).items():
        if code not in ("NoSuchKey", ""):
            problems[key[len(prefix) :]] = ItemError(reasons.get(code, Reason.TRANSIENT), f"DeleteObjects: {code}")
    return problems
