"""Lambda handler of the states VerifyShard, DigestShard and DigestDestination."""

from __future__ import annotations

from typing import Any

from msgspec import convert, to_builtins

from fanout.model.document import Json
from fanout.model.shard import Shard
from fanout.runtime.events import End, end_of, field
from fanout.runtime.handlers import handle_in_window
from fanout.staging.digest_destination import digest_destination
from fanout.verifying.digest_shard import digest_shard
from fanout.verifying.verify_shard import verify_shard

USE_CASES = {
    End.BOTH: ("VerifyShard", verify_shard),
    End.SOURCE: ("DigestShard", digest_shard),
    End.DESTINATION: ("DigestDestination", digest_destination),
}


def handler(event: Json, context: Any) -> Json:
    """Verify one shard, or read one end of it for the function that does not see that, as far as there is time."""
    shard = convert(field(event, "shard"), Shard)
    state, use_case = USE_CASES[end_of(event)]
    nothing = {"cursor": 0, "done": False}
    verified = handle_in_window(
        state, event, context, lambda step: use_case(shard, step), lambda _: nothing, shard_id=shard.id
    )
    return {"run": field(event, "run"), "shard": to_builtins(shard), **verified}
