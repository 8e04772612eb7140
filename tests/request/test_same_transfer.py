"""Which fields two runs of the same transfer share: each field of a request is sorted, also one that is new."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import Any

import pytest
from msgspec import Struct
from msgspec.structs import fields, replace

from fanout.model.location import MountLocation, S3Location
from fanout.model.shard import Rates
from fanout.request.manifest import ManifestLocation
from fanout.request.parts.limits import FunctionSize
from fanout.request.parts.publish import Publish
from fanout.request.plan import Plan
from fanout.request.request import Request
from fanout.request.same_transfer import ALIKE, same_transfer_digest
from fanout.turns.meeting import Meeting, meeting
from fanout.turns.write_turn import writer_of

REQUEST = Request(source=MountLocation("data", "a"), destination=S3Location("b-bucket", ""))
# Fields whose default says nothing of what another value is.
SAMPLES: dict[str, Any] = {
    "source": MountLocation("data", "c"),
    "destination": S3Location("b-bucket", "below/"),
    "manifest": ManifestLocation("b-bucket", "list.csv"),
    "backup_to": MountLocation("data", "backup"),
    "publish": Publish(link="current"),
    "prices": {"s3_get": 1.0},
    "function": FunctionSize(seconds=60),
}


# When the run began, from which ages are reckoned: no field of a request's document.
MOMENT = "filters.ages_from_ns"


def leaves(value: Struct, path: str = "") -> Iterator[str]:
    """Every field, and in place of one that holds fields each of these."""
    for one in fields(value):
        found = getattr(value, one.name)
        name = f"{path}{one.name}"
        if isinstance(found, Struct) and name not in SAMPLES:
            yield from leaves(found, f"{name}.")
        elif name != MOMENT:
            yield name


def changed(value: Any, path: str, whole: str = "") -> Any:
    """The request with another value of a field."""
    name, _, rest = path.partition(".")
    own = getattr(value, name)
    return replace(value, **{name: changed(own, rest, whole or path) if rest else another(own, whole or path)})


def another(own: Any, path: str) -> Any:
    if path in SAMPLES:
        return SAMPLES[path]
    if isinstance(own, bool):
        return not own
    if isinstance(own, Enum):
        return next(one for one in type(own) if one is not own)
    if isinstance(own, tuple):
        return (*own, "x")
    if isinstance(own, dict):
        return {**own, "x": "y"}
    return f"{own}x" if isinstance(own, str) else (own or 0) + 1


PATHS = sorted(leaves(REQUEST))
PART_OF_IT = {
    *(
        "allow_empty_source",
        "archived",
        "backup_to",
        "certificate",
        "compare",
        "destination",
        "manifest",
        "mode",
        "on_conflict",
        "on_not_holdable",
        "other_kind",
        "overwrite",
        "prices",
        "publish",
        "report_entries",
        "source",
        "symlinks",
        "vanished",
        "verify",
    ),
    *(
        f"attributes.{one}"
        for one in (
            "directory_mode",
            "file_mode",
            "gid",
            "mtime",
            "override",
            "read_from",
            "set_ids",
            "uid",
        )
    ),
    *(
        f"delete_guard.{one}"
        for one in (
            "max_count",
            "max_percent",
        )
    ),
    *(
        f"destination_bucket.{one}"
        for one in (
            "expected_owner",
            "external_id",
            "requester_pays",
            "role",
        )
    ),
    *(
        f"filters.{one}"
        for one in (
            "exclude",
            "include",
            "max_size",
            "min_size",
            "modified_after_ns",
            "modified_before_ns",
            "newer_than_ns",
            "older_than_ns",
        )
    ),
    *(
        f"limits.{one}"
        for one in (
            "finish_by",
            "max_dollars",
            "max_seconds",
            "window",
        )
    ),
    *(
        f"objects.{one}"
        for one in (
            "acl",
            "content_type",
            "kms_key_id",
            "metadata",
            "storage_class",
            "tags",
        )
    ),
    *(
        f"restore.{one}"
        for one in (
            "days",
            "tier",
        )
    ),
    *(
        f"source_bucket.{one}"
        for one in (
            "expected_owner",
            "external_id",
            "requester_pays",
            "role",
        )
    ),
}


def met(one: Request, other: Request) -> Meeting:
    """What becomes of a run that meets another one at the place of the first."""
    place = REQUEST.destination
    mine, theirs = (
        writer_of(Plan(run_id, request, Rates(1.0, 1.0)), place, "", 0.0)
        for run_id, request in (("run-1", one), ("run-2", other))
    )
    return meeting(mine, theirs)


def test_every_field_is_sorted() -> None:
    """A field that is new is part of the transfer; add it here, or to ``ALIKE`` with its reason."""
    assert set(PATHS) - ALIKE.keys() == PART_OF_IT
    assert ALIKE.keys() <= set(PATHS) and all(ALIKE.values())


@pytest.mark.parametrize("path", PATHS)
def test_a_run_is_skipped_only_for_one_that_does_all_that_it_would(path: str) -> None:
    assert same_transfer_digest(REQUEST) == same_transfer_digest(replace(REQUEST))
    same = same_transfer_digest(changed(REQUEST, path)) == same_transfer_digest(REQUEST)
    assert same is (path in ALIKE)
    if path not in ("source", "destination", "mode", "manifest"):
        assert met(REQUEST, changed(REQUEST, path)) is (Meeting.SAME if path in ALIKE else Meeting.WAITS)


@pytest.mark.parametrize("path", ALIKE)
@pytest.mark.parametrize("limit", [{"max_dollars": 5.0}, {"finish_by": "4h"}])
def test_a_run_that_its_forecast_may_refuse_is_skipped_for_an_equal_one_alone(path: str, limit: dict[str, Any]) -> None:
    limited = replace(REQUEST, limits=replace(REQUEST.limits, **limit))
    assert met(limited, limited) is Meeting.SAME
    assert met(limited, changed(limited, path)) is met(limited, REQUEST) is Meeting.WAITS
