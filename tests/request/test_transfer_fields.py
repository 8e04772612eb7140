"""Each use of the classes of a request's fields says what it said of the fields before."""

from __future__ import annotations

from msgspec.structs import replace

from fanout.listing.index.copied_index import transfer_digest
from fanout.model.location import MountLocation, S3Location
from fanout.model.shard import Rates
from fanout.request.fields.traits import Decides
from fanout.request.parts.limits import Limits
from fanout.request.plan import Plan
from fanout.request.request import Request, fields_up_to
from fanout.turns.write_turn import writer_of

REQUEST = Request(source=MountLocation("data", "a"), destination=S3Location("b-bucket", ""), limits=Limits(10))


def plan(**changes: object) -> Plan:
    request = replace(REQUEST, **changes)
    return Plan("run-1", request, Rates(1.0, 1.0))


def test_a_field_that_says_nothing_may_not_differ() -> None:
    """A new field is named here, or has a class of its own: the ``decides`` of its ``Traits``."""
    assert fields_up_to(Decides.TREES) - fields_up_to(Decides.ACTION) == {
        *("source", "destination", "compare", "overwrite", "attributes", "symlinks", "on_conflict", "filters"),
        "manifest",
    }


def test_each_class_holds_those_before_it() -> None:
    assert fields_up_to(Decides.WORK) < fields_up_to(Decides.OBJECT) < fields_up_to(Decides.ACTION)


def test_a_run_after_a_probe_uses_the_index_of_the_run_before() -> None:
    """A request that names its probe carries out the same transfer as one that takes the newest."""
    assert transfer_digest(plan(calibration="probe-1")) == transfer_digest(plan())
    end = plan().request.destination
    assert writer_of(plan(calibration="probe-1"), end, "", 0.0) == writer_of(plan(), end, "", 0.0)
