"""The plan of a run: the request with every default filled in, as every state reads it."""

from __future__ import annotations

from typing import Any

from msgspec import Struct, convert, to_builtins

from fanout.model.document import SCHEMA_VERSION
from fanout.model.location import Location, MountLocation, S3Location
from fanout.model.shard import CREATIONS_PER_SECOND, Rates
from fanout.request.filters import filters_from_row, filters_row
from fanout.request.manifest import ManifestLocation
from fanout.request.object_options import ObjectOptions
from fanout.request.options import (
    Mode,
    Options,
    Verify,
)
from fanout.request.request import Request


class Plan(Struct, frozen=True):
    """What the run does, the rates that it predicts with, and the runs that it resumes, the last one first.

    ``creations_per_second`` is what one directory of the destination takes, ``quota`` the most functions that the
    account or a reservation lets a run start at once, ``None`` where it is not known.
    ``began`` is in seconds since 1970.
    """

    run_id: str
    request: Request
    rates: Rates
    resumes: tuple[str, ...] = ()
    creations_per_second: float = CREATIONS_PER_SECOND
    quota: int | None = None
    began: float = 0.0

    @property
    def ends_at(self) -> float | None:
        """When the run stops, in seconds since 1970; ``None`` where the request does not say."""
        most = self.request.limits.max_seconds
        return None if most is None else self.began + most


def location_row(location: Location) -> dict[str, str]:
    """A location with its parts."""
    if isinstance(location, S3Location):
        return {"scheme": "s3", "bucket": location.bucket, "prefix": location.prefix}
    return {"scheme": "efs", "mount": location.mount, "path": location.path}


def location_from_row(row: dict[str, str]) -> Location:
    """The location of a row."""
    if row["scheme"] == "s3":
        return S3Location(row["bucket"], row["prefix"])
    return MountLocation(row["mount"], row["path"])


def plan_row(plan: Plan) -> dict[str, Any]:
    """plan.json."""
    request = plan.request
    return {
        "schema_version": SCHEMA_VERSION,
        "run_id": plan.run_id,
        **to_builtins({name: getattr(request, name) for name in Options.__struct_fields__}),
        "source": location_row(request.source),
        "destination": location_row(request.destination),
        "objects": to_builtins(request.objects),
        "filters": filters_row(request.filters),
        "manifest": to_builtins(request.manifest),
        "rates": {
            "seconds_per_entry": plan.rates.seconds_per_entry,
            "bytes_per_second": plan.rates.bytes_per_second,
            "creations_per_second": plan.creations_per_second,
        },
        "resumes": list(plan.resumes),
        "quota": plan.quota,
        "began": plan.began,
    }


def plan_from_row(row: dict[str, Any]) -> Plan:
    """The plan of plan.json."""
    options = convert({name: row[name] for name in Options.__struct_fields__ if name in row}, Options)
    request = Request(
        **{name: getattr(options, name) for name in Options.__struct_fields__},
        source=location_from_row(row["source"]),
        destination=location_from_row(row["destination"]),
        objects=convert(row["objects"], ObjectOptions),
        filters=filters_from_row(row["filters"]),
        manifest=convert(row["manifest"], ManifestLocation | None),
    )
    rates = Rates(row["rates"]["seconds_per_entry"], row["rates"]["bytes_per_second"])
    creations = row["rates"].get("creations_per_second", CREATIONS_PER_SECOND)
    return Plan(row["run_id"], request, rates, tuple(row.get("resumes", ())), creations, row.get("quota"), row["began"])


def compares_attributes(plan: Plan) -> bool:
    """Whether the run, or the verification inside it, compares more than names, kinds, sizes and bytes."""
    return plan.request.mode is Mode.VERIFY and plan.request.verify is not Verify.CONTENT
