"""Every field of a plan is classified once, and each use of the classes says what it said of the fields before."""

from __future__ import annotations

from msgspec.structs import fields, replace

from fanout.listing.index.copied_index import transfer_digest
from fanout.model.location import MountLocation, S3Location
from fanout.model.shard import Rates
from fanout.request.parts.limits import Limits
from fanout.request.plan import Plan
from fanout.request.request import Request
from fanout.request.transfer_fields import FIELDS, Decides, fields_up_to
from fanout.resuming.rules import MAY_DIFFER
from fanout.turns.write_turn import writer_of

REQUEST = Request(source=MountLocation("data", "a"), destination=S3Location("b-bucket", ""), limits=Limits(10))


def plan(**changes: object) -> Plan:
    request = replace(REQUEST, **changes)
    return Plan("run-1", request, Rates(1.0, 1.0))


def test_every_field_is_classified() -> None:
    assert {field.name for field in fields(Request)} == set(FIELDS)


def test_each_class_holds_those_before_it() -> None:
    assert fields_up_to(Decides.WORK) < MAY_DIFFER < fields_up_to(Decides.ACTION)


def test_a_run_after_a_probe_uses_the_index_of_the_run_before() -> None:
    """A request that names its probe carries out the same transfer as one that takes the newest."""
    assert transfer_digest(plan(calibration="probe-1")) == transfer_digest(plan())
    end = plan().request.destination
    assert writer_of(plan(calibration="probe-1"), end, "", 0.0) == writer_of(plan(), end, "", 0.0)
