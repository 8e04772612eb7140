"""StartBatch: from a batch of S3's events to a manifest in the work bucket and one run that copies what it names."""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec.structs import asdict

from fanout.ledger.run_places import BATCHES
from fanout.model.document import Json, json_value
from fanout.model.errors import InvalidRequest
from fanout.model.location import ACCESS_POINT_ALIAS, S3Location
from fanout.planning.event_batches import ObjectEvent, batch_of, parse_events
from fanout.ports.aws import Starts
from fanout.request.manifest import KEY, MAY_BE_MISSING
from fanout.request.parse import parse_request
from fanout.work.context import Context

_MOUNT = re.compile("efs://([^/]*)")
_A_MANIFEST = "manifest.jsonl"


def start_batch(
    messages: Mapping[str, str],
    template: str,
    machine: str,
    bucket: str,
    max_concurrency: int,
    starts: Starts,
    context: Context,
) -> Json:
    """Check the request, read the messages (id to body), write a manifest of their keys, and start a run for it.

    ``template`` is the request as JSON. The manifest lies in the work bucket ``bucket``. Returns the run, empty where
    no key is left, how many keys it has, and in ``unreadable`` by id why messages are no events. Raises
    ``InvalidRequest`` for a request that no batch has.
    """
    request, source = _request_of(template, f"s3://{bucket}/{_A_MANIFEST}", max_concurrency)
    events: list[ObjectEvent] = []
    unreadable: dict[str, str] = {}
    for message_id, body in messages.items():
        try:
            events += parse_events(body)
        except ValueError as error:
            unreadable[message_id] = str(error)
    batch = batch_of(events, source)
    run_id = context.ledger.run_id if batch.keys else ""
    if run_id:
        batches = context.ledger.of_run(BATCHES)
        name = f"{run_id}.jsonl"
        batches.write_rows(name, ({KEY: key, MAY_BE_MISSING: True} for key in batch.keys))
        starts.start(machine, run_id, {**request, "manifest": f"s3://{bucket}/{batches.prefix}{name}"})
    counts = {name: value for name, value in asdict(batch).items() if name != "keys"}
    return {"run_id": run_id, "count": len(batch.keys), **counts, "unreadable": unreadable}


def _request_of(template: str, manifest: str, max_concurrency: int) -> tuple[Json, S3Location]:
    """The request and its source, checked as PlanTransfer does: the messages of a run that it refuses would be lost.

    Only whether the stack has the mount is left to PlanTransfer.
    """
    example = 'e.g. {"source": "s3://bucket/prefix/", "destination": "efs:///path"}'
    try:
        request = json_value(template)
    except ValueError as error:
        raise InvalidRequest("EventRequest", f"is not JSON ({error})", example) from error
    if not isinstance(request, dict) or not isinstance(request.get("source"), str):
        raise InvalidRequest("EventRequest", "names no source", example)
    for field in ("manifest", "resume_from"):
        if field in request:
            raise InvalidRequest(f"EventRequest.{field}", "is not for batches", "leave it out")
    mount = _MOUNT.match(str(request.get("destination")))
    try:
        parsed = parse_request({**request, "manifest": manifest}, (mount[1] if mount else "",), max_concurrency)
    except InvalidRequest as error:
        raise error.of_field(f"EventRequest.{error.field}") from error
    if not isinstance(parsed.source, S3Location):
        raise InvalidRequest("EventRequest.source", f"{request['source']!r} is not in S3", example)
    if parsed.source.bucket.endswith(ACCESS_POINT_ALIAS):
        problem = f"{request['source']!r} is the alias of an access point, and events name the bucket behind it"
        raise InvalidRequest("EventRequest.source", problem, "name that bucket: no event would be inside the source")
    return request, parsed.source
