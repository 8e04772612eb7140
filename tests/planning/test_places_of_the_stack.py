"""What the stack keeps in its work bucket is not a valid end of a transfer, whatever name the bucket is called by."""

from __future__ import annotations

import pytest

from fanout.ledger import run_places
from fanout.ledger.probe_keys import results_prefix
from fanout.model.document import Json
from fanout.model.errors import InvalidRequest
from fanout.model.location import S3Location
from fanout.planning import places
from fanout.turns.write_turn import list_key
from scripts.ledger_rights import KINDS, OUTSIDE
from tests.support.flow import World

ALIAS = "work-abcdefghijklmnopqrstuvwxyz0123456-s3alias"
KEYS = (
    run_places.run_prefix("r"),
    run_places.staged_prefix("r"),
    run_places.reports_prefix("r"),
    run_places.SEALS + run_places.seal_key("r"),
    results_prefix("data"),
    list_key(S3Location("bucket", "")),
)


@pytest.mark.parametrize("key", sorted({*KINDS, *OUTSIDE, *KEYS}))
def test_each_key_of_the_work_bucket_is_below_a_place_of_the_stack(key: str) -> None:
    assert key.startswith(run_places.OURS)


@pytest.mark.parametrize("prefix", ["", *run_places.OURS, *(f"{one}some/where/" for one in run_places.OURS)])
@pytest.mark.parametrize("field", ["source", "destination"])
def test_none_of_them_is_an_end_by_the_alias_of_an_access_point(prefix: str, field: str) -> None:
    other = {"source": "destination", "destination": "source"}[field]
    request: Json = {field: f"s3://{ALIAS}/{prefix}", other: "efs:///tree"}
    world = World()
    world.walk("PlanTransfer", request, "CheckMount")
    world.objects.put(ALIAS, "runs/run-1/plan.json", b"{}")
    with pytest.raises(InvalidRequest, match=rf"^{field}: .* leads to the stack's work bucket"):
        places.refuse_work_bucket_by_another_name(world.ledger.read_plan(), world.context())


def test_another_place_of_that_name_needs_no_look() -> None:
    """Nothing of the stack is below it, whichever bucket the alias leads to."""
    world = World()
    world.walk("PlanTransfer", {"source": f"s3://{ALIAS}/data/", "destination": "efs:///tree"}, "CheckMount")
    world.objects.put(ALIAS, "runs/run-1/plan.json", b"{}")
    places.refuse_work_bucket_by_another_name(world.ledger.read_plan(), world.context())
