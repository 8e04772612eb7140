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
| an archived object was restored                  | a row: it can be read now                          |
| tags, ACL, storage class, replication and others | no row: the content is as before                   |
| another bucket, or not below the prefix          | no row                                             |
| the key is the prefix itself                     | no row: it is the root and no entry                |
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum, auto
from typing import Any
from urllib.parse import unquote_plus

from msgspec import Struct, ValidationError, convert

from fanout.model.document import json_value
from fanout.model.location import S3Location


class _ContentChange(Enum):
    """The kinds of events: how the content of their object changed."""

    MAY_BE_READ = auto()
    DELETED = auto()
    SAME_CONTENT = auto()


# What an event does, by its type for EventBridge and by the group (or whole name) of a notification. Each other type
# of S3 leaves the content as it is, those of the years to come too: tags, ACL, storage class, replication.
# docs.aws.amazon.com/AmazonS3/latest/userguide/: EventBridge, notification-how-to-event-types-and-destinations
_EFFECTS = {
    "Object Created": _ContentChange.MAY_BE_READ,
    "Object Restore Completed": _ContentChange.MAY_BE_READ,
    "Object Deleted": _ContentChange.DELETED,
    "ObjectCreated": _ContentChange.MAY_BE_READ,
    "ObjectRestore:Completed": _ContentChange.MAY_BE_READ,
    "ObjectRemoved": _ContentChange.DELETED,
    "LifecycleExpiration": _ContentChange.DELETED,
}
_EVENTBRIDGE_SOURCE, _NOTIFICATION_SOURCE = "aws.s3", "aws:s3"
_MARKER = "Delete Marker Created"
_PERMANENTLY = "Permanently Deleted"
_TEST = "s3:TestEvent"
# docs.aws.amazon.com/sns/latest/dg/sns-message-and-json-formats.html: the message without raw delivery.
_ENVELOPE = "Notification"


class ObjectEvent(Struct, frozen=True):
    """An event of a key; ``sequencer`` orders the events of one key, and is empty where the event has none.

    ``gone`` says that no object had the key when it happened; ``same_content``, that it changed no content.
    """

    bucket: str
    key: str
    sequencer: str
    gone: bool = False
    same_content: bool = False


class Batch(Struct, frozen=True):
    """The keys to copy, in order, and the counts of events without a row.

    They are repeated, deletions, outside the source, or changed no content.
    """

    keys: list[str]
    repeated: int
    deleted: int
    outside: int
    same_content: int


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
        raise ValueError(f"not an event of S3: {error!r}") from error


def _from_eventbridge(document: Mapping[str, Any]) -> ObjectEvent:
    kind, detail = document["detail-type"], document["detail"]
    effect = _effect(kind, kind, document.get("source") == _EVENTBRIDGE_SOURCE)
    found = detail["object"]
    how = detail.get("deletion-type")
    is_gone = effect is _ContentChange.DELETED and _is_gone(
        how == _MARKER, how == _PERMANENTLY, found.get("version-id")
    )
    return _event(detail["bucket"]["name"], found["key"], found, effect, is_gone)


def _from_notification(record: Mapping[str, Any]) -> ObjectEvent:
    name: str = record["eventName"].removeprefix("s3:")
    group, _, action = name.partition(":")
    effect = _effect(name, group, record.get("eventSource") == _NOTIFICATION_SOURCE)
    found = record["s3"]["object"]
    key = unquote_plus(found["key"], errors="surrogateescape")
    is_marker, is_permanent = action == "DeleteMarkerCreated", action == "Delete"
    is_gone = effect is _ContentChange.DELETED and _is_gone(is_marker, is_permanent, found.get("versionId"))
    return _event(record["s3"]["bucket"]["name"], key, found, effect, is_gone)


def _effect(name: str, group: str, is_from_s3: bool) -> _ContentChange:
    """How an event of this name changes the content. Raises ``ValueError`` for a name that S3 does not use."""
    effect = _EFFECTS.get(name, _EFFECTS.get(group))
    if effect is None and not is_from_s3:
        raise ValueError(f"not an event of S3: {name!r}")
    return effect or _ContentChange.SAME_CONTENT


def _is_gone(is_marker: bool, is_permanent: bool, version: object) -> bool:
    """Whether a deletion left no object under the key; one of a version says nothing of the others."""
    return is_marker or (is_permanent and not version)


def _event(bucket: object, key: object, found: Mapping[str, Any], effect: _ContentChange, is_gone: bool) -> ObjectEvent:
    fields = {
        "bucket": bucket,
        "key": key,
        "sequencer": found.get("sequencer", ""),
        "gone": is_gone,
        "same_content": effect is _ContentChange.SAME_CONTENT,
    }
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
    repeated = outside = same_content = 0
    for event in events:
        inside = event.bucket == source.bucket and event.key.startswith(source.prefix) and event.key != source.prefix
        if not inside:
            outside += 1
            continue
        if event.same_content:
            same_content += 1
            continue
        repeated += event.key in changes
        changes.setdefault(event.key, _Changes()).add(event)
    keys = sorted(key for key, found in changes.items() if not found.are_over)
    return Batch(keys, repeated, len(changes) - len(keys), outside, same_content)
