"""Each request to a stack's work bucket names the account that must own it.

The name of a bucket that was deleted is free: whoever makes it next would be sent ledgers, and believed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

ClientMaker = Callable[[str], Any]


def held_to_owner(client: ClientMaker, outputs: Any) -> ClientMaker:
    """Makes the same clients; that of S3 names the account of the stack's state machine for the work bucket."""
    bucket, account = outputs["WorkBucketName"], outputs["StateMachineArn"].split(":")[4]

    @cache
    def make(service: str) -> Any:
        made = client(service)
        if service == "s3":
            name = partial(_name_owner, bucket, account)
            made.meta.events.register("before-parameter-build.s3", name, unique_id=f"owner-of-{bucket}")
        return made

    return make


def _name_owner(bucket: str, account: str, params: dict[str, Any], model: Any, **_: Any) -> None:
    if params.get("Bucket") == bucket and "ExpectedBucketOwner" in model.input_shape.members:
        params.setdefault("ExpectedBucketOwner", account)
