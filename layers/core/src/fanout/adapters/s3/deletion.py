"""Deleting objects that still are what was listed."""

from __future__ import annotations

from collections.abc import Sequence

from fanout.adapters.s3.client.client import S3Client
from fanout.model.entry import Entry
from fanout.model.errors import ItemError, NotFound
from fanout.model.outcome import Reason

_REASONS = {
    "AccessDenied": Reason.DESTINATION_DENIED,
    "PreconditionFailed": Reason.DESTINATION_CHANGED,
    "ConditionalRequestConflict": Reason.DESTINATION_CHANGED,
}
_CHANGED = "its ETag is not the one that was listed"


def delete_listed(client: S3Client, bucket: str, prefix: str, entries: Sequence[Entry]) -> dict[str, ItemError]:
    """See ``ports.tree.Tree.delete``: at most 1,000 objects.

    A HEAD tells those that changed, also where a server ignores the condition that each deletion carries:
    S3 deletes an object only if its ETag is still the one named.
    """
    problems: dict[str, ItemError] = {}
    etags: dict[str, str] = {}
    for entry in entries:
        key = prefix + entry.path
        try:
            etag = client.head_object(bucket, key).headers.get("etag", "")
        except NotFound:
            if client.is_listed(bucket, key):
                problems[entry.path] = ItemError(Reason.TRANSIENT, "a HEAD does not find it, a listing does")
            continue
        if etag == entry.etag:
            etags[key] = etag
        else:
            problems[entry.path] = ItemError(Reason.DESTINATION_CHANGED, _CHANGED)
    for key, code in client.delete_objects(bucket, etags, etags).items():
        if code not in ("NoSuchKey", ""):
            problems[key[len(prefix) :]] = ItemError(_REASONS.get(code, Reason.TRANSIENT), f"DeleteObjects: {code}")
    return problems
