"""From S3's events to the keys of a batch.

An event says that a key may have changed. What the source holds when the run looks decides.

| the events of a key                              | become                                             |
|--------------------------------------------------|----------------------------------------------------|
| several, also repeated or in any order           | one row at most                                    |
| the last one, by sequencer, created an object    | a row                                              |
| the last one deleted a version                   | a row: another version may be the current one      |
| the last one was a delete marker, or a deletion  | no row: nothing is deleted at the destination      |
| in a bucket without versions                     |                                                    |
| one without a sequencer                          | a row, unless all of them deleted the key          |
| another bucket, or not below the prefix          | no row                                             |
| the key is the prefix itself                     | no row: it is the root and no entry                |
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import unquote_plus

from msgspec import Struct, ValidationError, convert

from fanout.model.document import json_value
from fanout.model.location import S3Location

# docs.aws.amazon.com/AmazonS3/latest/userguide/: EventBridge, notification-how-to-event-types-and-destinations
_CREATED, _DELETED = "Object Created", "Object Deleted"
_MARKER = "Delete Marker Created"
_PERMANENTLY = "Permanently Deleted"
_TEST = "s3:TestEvent"
# docs.aws.amazon.com/sns/latest/dg/sns-message-and-json-formats.html: the message without raw delivery.
_ENVELOPE = "Notification"


class ObjectEvent(Struct, frozen=True):
    """An event of a key; ``sequencer`` orders the events of one key, and is empty where the event has none.

    ``gone`` says that no object had the key when it happened.
    """

    bucket: str
    key: str
    sequencer: str
    gone: bool = False


class Batch(Struct, frozen=True):
    """The keys to copy, in order, and how many events were of no use: repeated, deletions, outside the source."""

    keys: list[str]
    repeated: int
    deleted: int
    outside: int


def parse_events(body: str) -> list[ObjectEvent]:
    """The events of a message: one of EventBridge, or S3's own notification, whose keys are URL-encoded.

    Either may lie in the envelope of SNS. Raises ``ValueError`` for any other message.
    """
    try:
        document = json_value(body)
        if document.get("Type") == _ENVELOPE and "TopicArn" in document:
            document = json_value(document["Message"])
        if "detail-type" in document:
            return [_from_eventbridge(document)]
        if document.get("Event") == _TEST:
            return []
        return [_from_notification(record) for record in document["Records"]]
    except (KeyError, TypeError, AttributeError, ValidationError) as error:
        raise ValueError(f"no event of S3: {error!r}") from error


def _from_eventbridge(document: Mapping[str, Any]) -> ObjectEvent:
    kind, detail = document["detail-type"], document["detail"]
    if kind not in (_CREATED, _DELETED):
        raise ValueError(f"no event of S3 that makes or deletes an object: {kind!r}")
    found = detail["object"]
    how = detail.get("deletion-type")
    is_gone = kind == _DELETED and _is_gone(how == _MARKER, how == _PERMANENTLY, found.get("version-id"))
    return _event(detail["bucket"]["name"], found["key"], found, is_gone)


def _from_notification(record: Mapping[str, Any]) -> ObjectEvent:
    name: str = record["eventName"].removeprefix("s3:")
    group, _, action = name.partition(":")
    if group not in ("ObjectCreated", "ObjectRemoved", "LifecycleExpiration"):
        raise ValueError(f"no event of S3 that makes or deletes an object: {name!r}")
    found = record["s3"]["object"]
    key = unquote_plus(found["key"], errors="surrogateescape")
    is_marker, is_permanent = action == "DeleteMarkerCreated", action == "Delete"
    is_gone = group != "ObjectCreated" and _is_gone(is_marker, is_permanent, found.get("versionId"))
    return _event(record["s3"]["bucket"]["name"], key, found, is_gone)


def _is_gone(is_marker: bool, is_permanent: bool, version: object) -> bool:
    """Whether a deletion left no object under the key; one of a version says nothing of the others."""
    return is_marker or (is_permanent and not version)


def _event(bucket: object, key: object, found: Mapping[str, Any], is_gone: bool) -> ObjectEvent:
    fields = {"bucket": bucket, "key": key, "sequencer": found.get("sequencer", ""), "gone": is_gone}
    return convert(fields, ObjectEvent)


class _Changes:
    """The events of one key together, in whatever order they come."""

    def __init__(self) -> None:
        # The sequencers of what came last of each kind, and whether an event has none to be placed by.
        self._left = self._gone = ""
        self._is_left = self._is_unordered = False

    def add(self, event: ObjectEvent) -> None:
        self._is_unordered |= not event.sequencer
        if event.gone:
            self._gone = max(self._gone, _order(event.sequencer))
        else:
            self._is_left, self._left = True, max(self._left, _order(event.sequencer))

    @property
    def are_over(self) -> bool:
        """Whether no object has the key after them."""
        return not self._is_left or (not self._is_unordered and self._left < self._gone)


def _order(sequencer: str) -> str:
    """S3 fills the shorter one with zeros on its right before it compares; without these the order is the same."""
    return sequencer.upper().rstrip("0")


def batch_of(events: Iterable[ObjectEvent], source: S3Location) -> Batch:
    """The table above, over all events of a batch in any order."""
    changes: dict[str, _Changes] = {}
    repeated = outside = 0
    for event in events:
        inside = event.bucket == source.bucket and event.key.startswith(source.prefix) and event.key != source.prefix
        if not inside:
            outside += 1
            continue
        repeated += event.key in changes
        changes.setdefault(event.key, _Changes()).add(event)
    keys = sorted(key for key, found in changes.items() if not found.are_over)
    return Batch(keys, repeated, len(changes) - len(keys), outside)
