"""From S3's events to the keys of a batch.

| of a key                                     | becomes                                              |
|----------------------------------------------|------------------------------------------------------|
| several events                               | one row, by the event that happened last             |
| the last event is a deletion                 | no row: nothing is deleted at the destination        |
| another bucket, or not below the prefix      | no row                                               |
| the key is the prefix itself                 | no row: it is the root and no entry                  |
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Any
from urllib.parse import unquote_plus

from msgspec import Struct

from fanout.model.location import S3Location

# docs.aws.amazon.com/AmazonS3/latest/userguide/: EventBridge, notification-how-to-event-types-and-destinations
_CREATED, _DELETED = "Object Created", "Object Deleted"
_TEST = "s3:TestEvent"


class ObjectEvent(Struct, frozen=True):
    """An event of a key; ``sequencer`` orders the events of one key."""

    bucket: str
    key: str
    sequencer: str
    deleted: bool = False


class Batch(Struct, frozen=True):
    """The keys to copy, in order, and how many events were of no use: repeated, deletions, outside the source."""

    keys: list[str]
    repeated: int
    deleted: int
    outside: int


def parse_events(body: str) -> list[ObjectEvent]:
    """The events of a message: one of EventBridge, or S3's own notification, whose keys are URL-encoded.

    Raises ``ValueError`` for a message that is neither.
    """
    try:
        document = json.loads(body)
        if "detail-type" in document:
            return [_from_eventbridge(document)]
        if document.get("Event") == _TEST:
            return []
        return [_from_notification(record) for record in document["Records"]]
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"no event of S3: {error!r}") from error


def _from_eventbridge(document: Mapping[str, Any]) -> ObjectEvent:
    kind, detail = document["detail-type"], document["detail"]
    if kind not in (_CREATED, _DELETED):
        raise ValueError(f"no event of S3 that makes or deletes an object: {kind!r}")
    found = detail["object"]
    return ObjectEvent(detail["bucket"]["name"], found["key"], found.get("sequencer", ""), kind == _DELETED)


def _from_notification(record: Mapping[str, Any]) -> ObjectEvent:
    name: str = record["eventName"].removeprefix("s3:")
    if not name.startswith(("ObjectCreated:", "ObjectRemoved:", "LifecycleExpiration:")):
        raise ValueError(f"no event of S3 that makes or deletes an object: {name!r}")
    found = record["s3"]["object"]
    key = unquote_plus(found["key"], errors="surrogateescape")
    return ObjectEvent(
        record["s3"]["bucket"]["name"], key, found.get("sequencer", ""), not name.startswith("ObjectCreated:")
    )


def batch_of(events: Iterable[ObjectEvent], source: S3Location) -> Batch:
    """The table above, over all events of a batch in any order."""
    last: dict[str, ObjectEvent] = {}
    repeated = outside = 0
    for event in events:
        inside = event.bucket == source.bucket and event.key.startswith(source.prefix) and event.key != source.prefix
        if not inside:
            outside += 1
            continue
        known = last.get(event.key)
        repeated += known is not None
        if known is None or _later(event.sequencer, known.sequencer):
            last[event.key] = event
    keys = sorted(key for key, event in last.items() if not event.deleted)
    return Batch(keys, repeated, len(last) - len(keys), outside)


def _later(one: str, other: str) -> bool:
    """As S3's documentation says: the shorter one is filled with zeros on its right, then texts are compared."""
    width = max(len(one), len(other))
    return one.ljust(width, "0") >= other.ljust(width, "0")


def batch_run_id(message_ids: Sequence[str]) -> str:
    """The run of a batch: the same messages, delivered again, are the same run."""
    return f"batch-{sha256(' '.join(sorted(message_ids)).encode()).hexdigest()[:32]}"
