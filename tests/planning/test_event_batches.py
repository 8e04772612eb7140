"""S3's events as keys to copy: the table of ``fanout.planning.event_batches``, over both forms of an event."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanout.model.location import S3Location
from fanout.planning.event_batches import ObjectEvent, batch_of, parse_events

MARKER, PERMANENTLY = "Delete Marker Created", "Permanently Deleted"
SOURCE = S3Location("my-data", "in/")


def eventbridge(
    key: Any,
    sequencer: Any = "01",
    kind: str = "Object Created",
    bucket: Any = "my-data",
    how: str = "",
    version: str = "",
    source: str = "aws.s3",
) -> str:
    found = {"key": key, "size": 5, "etag": "e", "sequencer": sequencer, "version-id": version}
    how = how or (MARKER if kind == "Object Deleted" else "")
    detail = {
        "bucket": {"name": bucket},
        "object": {name: value for name, value in found.items() if value != ""},
        **({"deletion-type": how} if how else {}),
    }
    return json.dumps({"detail-type": kind, "source": source, "detail": detail})


def notification(
    key: str, name: str = "ObjectCreated:Put", version: str = "", sequencer: str = "1", source: str = "aws:s3"
) -> str:
    named = {"versionId": version} if version else {}
    found = {
        "bucket": {"name": "my-data"},
        "object": {"key": quote_plus(key, errors="surrogateescape"), "sequencer": sequencer, **named},
    }
    return json.dumps({"Records": [{"eventName": name, "eventSource": source, "s3": found}]})


def by_topic(body: str) -> str:
    """The message as SNS hands it to a queue without raw delivery."""
    return json.dumps({"Type": "Notification", "MessageId": "1", "TopicArn": "arn:aws:sns:x:1:t", "Message": body})


def made(
    key: str, sequencer: str = "01", gone: bool = False, same_content: bool = False, bucket: str = "my-data"
) -> ObjectEvent:
    return ObjectEvent(bucket, key, sequencer, gone and not same_content, same_content)


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
def test_a_key_is_the_same_in_both_forms(key: str) -> None:
    assert parse_events(eventbridge(key))[0].key == key
    assert parse_events(notification(key))[0].key == key


def test_only_a_notification_is_url_encoded() -> None:
    assert parse_events(eventbridge("in/a+b%2Fc"))[0].key == "in/a+b%2Fc"
    assert parse_events(notification("in/a+b c%2F/ü"))[0].key == "in/a+b c%2F/ü"
    assert parse_events(notification("in/\udcff"))[0].key == "in/\udcff"


@pytest.mark.parametrize(
    ("body", "gone"),
    [
        (eventbridge("k", kind="Object Created"), False),
        (eventbridge("k", kind="Object Deleted"), True),
        (notification("k", "ObjectCreated:CompleteMultipartUpload"), False),
        (notification("k", "s3:ObjectCreated:Copy"), False),
        (notification("k", "ObjectRemoved:DeleteMarkerCreated"), True),
        (notification("k", "ObjectRemoved:DeleteMarkerCreated", "v3"), True),
        (notification("k", "LifecycleExpiration:Delete"), True),
        (notification("k", "LifecycleExpiration:DeleteMarkerCreated", "v3"), True),
        (eventbridge("k", kind="Object Deleted", how=MARKER, version="v3"), True),
        (eventbridge("k", kind="Object Deleted", how=PERMANENTLY), True),
        # One version went; what is current now only the source tells.
        (eventbridge("k", kind="Object Deleted", how=PERMANENTLY, version="v1"), False),
        (eventbridge("k", kind="Object Deleted", how="Something New"), False),
        (notification("k", "ObjectRemoved:Delete", "v1"), False),
        (notification("k", "LifecycleExpiration:Delete", "null"), False),
        (notification("k", "ObjectRemoved:SomethingNew"), False),
    ],
)
def test_what_leaves_no_object(body: str, gone: bool) -> None:
    assert [event.gone for event in parse_events(body)] == [gone]
    assert parse_events(by_topic(body)) == parse_events(body)


# docs.aws.amazon.com/AmazonS3/latest/userguide/: EventBridge, notification-how-to-event-types-and-destinations
SAME_CONTENT = [
    *(
        eventbridge("in/k", kind=f"Object {kind}")
        for kind in (
            "Restore Initiated", "Restore Expired", "Storage Class Changed", "Access Tier Changed", "ACL Updated",
            "Tags Added", "Tags Deleted", "Something New",
        )
    ),
    *(
        notification("in/k", name)
        for name in (
            "ObjectRestore:Post", "ObjectRestore:Delete", "ReducedRedundancyLostObject", "LifecycleTransition",
            "IntelligentTiering", "ObjectAcl:Put", "ObjectTagging:Put", "ObjectTagging:Delete",
            "Replication:OperationFailedReplication", "Replication:OperationMissedThreshold", "SomethingNew:Done",
        )
    ),
]  # fmt: skip


@pytest.mark.parametrize("body", SAME_CONTENT)
def test_an_event_that_changes_no_content_is_counted_and_makes_no_row(body: str) -> None:
    batch = batch_of(parse_events(body), SOURCE)
    assert (batch.keys, batch.same_content, batch.deleted, batch.outside) == ([], 1, 0, 0)
    assert parse_events(by_topic(body)) == parse_events(body)


def test_an_event_of_another_kind_hides_no_object_that_came_with_it() -> None:
    both = (
        json.loads(notification("in/a"))["Records"] + json.loads(notification("in/b", "ObjectTagging:Put"))["Records"]
    )
    batch = batch_of(parse_events(json.dumps({"Records": both})), SOURCE)
    assert (batch.keys, batch.same_content) == (["in/a"], 1)
    # A tag that is set after a deletion brings no object back.
    gone, tagged = made("in/c", "1", gone=True), made("in/c", "2", same_content=True)
    assert batch_of([gone, tagged], SOURCE).keys == []


@pytest.mark.parametrize(
    "body", [eventbridge("in/a", kind="Object Restore Completed"), notification("in/a", "ObjectRestore:Completed")]
)
def test_a_restored_object_is_a_row(body: str) -> None:
    assert batch_of(parse_events(body), SOURCE).keys == ["in/a"]


def test_a_version_that_is_removed_hides_no_newer_one() -> None:
    newer = eventbridge("in/a", "01", version="v2")
    older = eventbridge("in/a", "02", "Object Deleted", how=PERMANENTLY, version="v1")
    for bodies in ([newer, older], [older, newer], [older, newer, older, newer]):
        assert batch_of([event for body in bodies for event in parse_events(body)], SOURCE).keys == ["in/a"]


def test_the_message_with_which_s3_tries_a_queue_is_no_event() -> None:
    assert parse_events(json.dumps({"Service": "Amazon S3", "Event": "s3:TestEvent", "Bucket": "my-data"})) == []


@pytest.mark.parametrize(
    "body",
    ["", "no JSON", "[]", "7", "{}", '{"Records": 3}', '{"Records": [{}]}', '{"detail-type": "Object Created"}',
     eventbridge("k", kind="EC2 Instance Change", source="aws.ec2"), notification("k", "Other:Put", source="other"),
     eventbridge("k", kind="Object Tags Added", source="somebody"), "[" * 100_000,
     eventbridge(7), eventbridge("k", 7), eventbridge("k", bucket=7), by_topic("no JSON"), by_topic("7"),
     by_topic("[" * 100_000), by_topic(by_topic(eventbridge("k"))),
     json.dumps({"Type": "Notification", "TopicArn": 1})],
)  # fmt: skip
def test_a_message_that_is_no_event_is_refused(body: str) -> None:
    with pytest.raises(ValueError):
        parse_events(body)


@pytest.mark.parametrize(
    ("events", "keys", "repeated", "deleted", "outside"),
    [
        ([], [], 0, 0, 0),
        ([made("in/b"), made("in/a")], ["in/a", "in/b"], 0, 0, 0),
        ([made("in/a"), made("in/a"), made("in/a", "02")], ["in/a"], 2, 0, 0),
        # The last event decides, in whatever order they come.
        ([made("in/a", "01"), made("in/a", "02", gone=True)], [], 1, 1, 0),
        ([made("in/a", "02", gone=True), made("in/a", "01")], [], 1, 1, 0),
        ([made("in/a", "02"), made("in/a", "01", gone=True)], ["in/a"], 1, 0, 0),
        # The shorter one is filled on its right.
        ([made("in/a", "005"), made("in/a", "0050001", gone=True)], [], 1, 1, 0),
        ([made("in/a", "01"), made("in/a", "0099", gone=True)], ["in/a"], 1, 0, 0),
        ([made("in/a", "00a"), made("in/a", "00B", gone=True)], [], 1, 1, 0),
        # Nothing orders them: the source decides.
        ([made("in/a", ""), made("in/a", "01", gone=True)], ["in/a"], 1, 0, 0),
        ([made("in/a", "01"), made("in/a", "", gone=True)], ["in/a"], 1, 0, 0),
        ([made("in/a", "01"), made("in/a", "01", gone=True)], ["in/a"], 1, 0, 0),
        ([made("in/a", "", gone=True)], [], 0, 1, 0),
        # Not of the source.
        ([made("other/a"), made("in"), made("in/a", bucket="your-data"), made("in/")], [], 0, 0, 4),
        ([made("in//a"), made("in/../a"), made("in/d/")], ["in/../a", "in//a", "in/d/"], 0, 0, 0),
    ],
)
def test_the_table(events: list[ObjectEvent], keys: list[str], repeated: int, deleted: int, outside: int) -> None:
    batch = batch_of(events, SOURCE)
    assert (batch.keys, batch.repeated, batch.deleted, batch.outside) == (keys, repeated, deleted, outside)


@given(st.data())
def test_the_order_of_the_messages_changes_nothing(data: Any) -> None:
    event = st.builds(
        made, st.sampled_from(["in/a", "in/b", "out/a"]), st.sampled_from(["", *"12345"]), st.booleans(), st.booleans()
    )
    events = data.draw(st.lists(event))
    shuffled = data.draw(st.permutations(events))
    assert batch_of(events, SOURCE) == batch_of(shuffled, SOURCE)
    total = batch_of(events, SOURCE)
    counted = total.repeated + total.deleted + total.outside + total.same_content
    assert len(total.keys) + counted == len(events)
