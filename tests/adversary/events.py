"""Lists that StartBatch makes of a batch of S3's events: drawn in place of other lists of keys, and judged.

| drawn, in any order, of both forms, also as SNS hands them on | what must hold                    |
|----------------------------------------------------------------|-----------------------------------|
| creations, repeated, some after an older deletion              | the key has one row               |
| tags, and other kinds that change no content                   | they make no row, and undo none   |
| a deletion after the creation                                  | no row                            |
| another bucket, outside the prefix, the prefix itself          | no row                            |
| a key that is gone by now                                      | its row is skipped                |
| a test event, a message that is no event                       | the others count no less          |
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from random import Random
from typing import Any
from urllib.parse import quote_plus

from fanout.ledger.run_places import BATCHES
from fanout.model.document import Json
from fanout.planning.start_batch import start_batch
from tests.adversary.scope import Finding
from tests.adversary.script import INSIDE_S3, S3_TO_MOUNT
from tests.support.flow import World

GONE = "gone by now"
# Names of EventBridge, and of notifications.
_CREATED = ("Object Created", "ObjectCreated:CompleteMultipartUpload")
_DELETED = ("Object Deleted", "ObjectRemoved:Delete")
_TAGGED = ("Object Tags Added", "ObjectTagging:Put")
_NOT_EVENTS = ('{"Event": "s3:TestEvent"}', "no event", '{"detail-type": "Scheduled Event", "detail": {}}')


class _Starts:
    """Takes the run that is started."""

    def start(self, machine: str, run_id: str, request: Json) -> bool:
        """See ``ports.aws.Starts``."""
        return bool(machine and run_id and request)


def of_events(draw: Random, direction: str, options: dict[str, Any]) -> bool:
    """Whether the list of a script is to be made of events."""
    return draw.random() < 0.5 and direction in (S3_TO_MOUNT, INSIDE_S3) and "manifest" in options


def batch(bucket: str, prefix: str, paths: Iterable[str], seed: int) -> tuple[list[Json], frozenset[str]]:
    """The rows of a list that StartBatch made of drawn events about these paths, and the keys that it has to name."""
    draw = Random(f"batch {seed}")
    messages: list[str] = [*draw.sample(_NOT_EVENTS, 2)]
    named = set()
    for path in (*paths, GONE):
        key, fate = prefix + path, draw.random()
        messages += [_message(draw, _TAGGED, bucket, key, 3) for _ in range(draw.choice((0, 0, 1)))]
        if fate < 0.7:
            named.add(key)
            messages += [_message(draw, _CREATED, bucket, key, 2) for _ in range(draw.choice((1, 1, 2, 3)))]
            messages += [_message(draw, _DELETED, bucket, key, 1) for _ in range(draw.choice((0, 0, 1)))]
        elif fate < 0.85:
            messages += [_message(draw, _CREATED, bucket, key, 1), _message(draw, _DELETED, bucket, key, 2)]
    outside = (("another-bucket", f"{prefix}f0"), (bucket, "elsewhere/f0"), (bucket, prefix))
    messages += [_message(draw, _CREATED, *where, 1) for where in outside]
    draw.shuffle(messages)
    world = World(run_id="batch")
    template = json.dumps({"source": f"s3://{bucket}/{prefix}", "destination": "efs:///copy"})
    numbered = {str(number): body for number, body in enumerate(messages)}
    start_batch(numbered, template, "machine", "work-bucket", 100, _Starts(), world.context("StartBatch"))
    return list(world.ledger.of_run(BATCHES).read_rows("batch.jsonl")) if named else [], frozenset(named)


def judge_batch(rows: Iterable[Json], named: frozenset[str]) -> Iterator[Finding]:
    """Each key that has to be named is, once, and no other one."""
    keys = [row["key"] for row in rows]
    if sorted(keys) != sorted(named):
        yield Finding("events", f"the batch names {sorted(keys)}, its events {sorted(named)}")


def _message(draw: Random, names: tuple[str, str], bucket: str, key: str, at: int) -> str:
    """A message about an event of a key, the one ``at`` this place of them."""
    name, found = names[0], {"key": key, "sequencer": f"0055AED6DCD90281E{at}"}
    body: dict[str, Any]
    if draw.random() < 0.5:
        how = {"deletion-type": "Permanently Deleted"} if names is _DELETED else {}
        detail = {"bucket": {"name": bucket}, "object": found, **how}
        body = {"source": "aws.s3", "detail-type": name, "detail": detail}
    else:
        s3 = {"bucket": {"name": bucket}, "object": {**found, "key": quote_plus(key, errors="surrogateescape")}}
        body = {"Records": [{"eventSource": "aws:s3", "eventName": names[1], "s3": s3}]}
    if draw.random() < 0.3:
        body = {"Type": "Notification", "TopicArn": "arn:aws:sns:x:1:t", "Message": json.dumps(body)}
    return json.dumps(body)
