"""The plan of a run: the request with every default filled in, as every state reads it."""

from __future__ import annotations

from typing import Any

from msgspec import Struct
from msgspec.structs import asdict

from fanout.model.document import SCHEMA_VERSION
from fanout.model.location import Location, MountLocation, S3Location
from fanout.model.shard import CREATIONS_PER_SECOND, Rates
from fanout.request.bucket_options import BucketOptions
from fanout.request.filters import filters_from_row, filters_row
from fanout.request.manifest import ManifestLocation
from fanout.request.object_options import ContentType, ObjectOptions
from fanout.request.options import Compare, DeleteGuard, OnConflict
from fanout.request.request import NEWEST, Limits, Mode, Request, Symlinks, Verify


class Plan(Struct, frozen=True):
    """What the run does, the rates that it predicts with, and the runs that it resumes, the last one first.

    ``creations_per_second`` is what one directory of the destination takes, ``quota`` the most functions that the
    account or a reservation lets a run start at once, ``None`` where it is not known.
    """

    run_id: str
    request: Request
    rates: Rates
    resumes: tuple[str, ...] = ()
    creations_per_second: float = CREATIONS_PER_SECOND
    quota: int | None = None


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


def _objects_from_row(row: dict[str, Any]) -> ObjectOptions:
    return ObjectOptions(**{**row, "content_type": ContentType(row["content_type"])})


def plan_row(plan: Plan) -> dict[str, Any]:
    """plan.json."""
    request = plan.request
    return {
        "schema_version": SCHEMA_VERSION,
        "run_id": plan.run_id,
        "source": location_row(request.source),
        "destination": location_row(request.destination),
        "mode": request.mode.value,
        "verify": request.verify.value,
        "compare": request.compare.value,
        "symlinks": request.symlinks.value,
        "limits": {
            "max_concurrency": request.limits.max_concurrency,
            "shard_seconds": request.limits.shard_seconds,
            "split_bytes": request.limits.split_bytes,
            "credit_reserve_percent": request.limits.credit_reserve_percent,
            "bytes_per_second": request.limits.bytes_per_second,
            "files_per_second": request.limits.files_per_second,
        },
        "on_conflict": request.on_conflict.value,
        "delete_guard": {
            "max_count": request.delete_guard.max_count,
            "max_percent": request.delete_guard.max_percent,
        },
        "objects": {
            "storage_class": request.objects.storage_class,
            "kms_key_id": request.objects.kms_key_id,
            "content_type": request.objects.content_type.value,
            "tags": dict(request.objects.tags),
            "metadata": dict(request.objects.metadata),
            "acl": request.objects.acl,
        },
        "filters": filters_row(request.filters),
        "manifest": request.manifest and {"bucket": request.manifest.bucket, "key": request.manifest.key},
        "rates": {
            "seconds_per_entry": plan.rates.seconds_per_entry,
            "bytes_per_second": plan.rates.bytes_per_second,
            "creations_per_second": plan.creations_per_second,
        },
        "resumes": list(plan.resumes),
        "quota": plan.quota,
        "prices": dict(request.prices),
        "calibration": request.calibration,
        "source_bucket": asdict(request.source_bucket),
        "destination_bucket": asdict(request.destination_bucket),
    }


def plan_from_row(row: dict[str, Any]) -> Plan:
    """The plan of plan.json."""
    request = Request(
        source=location_from_row(row["source"]),
        destination=location_from_row(row["destination"]),
        compare=Compare(row["compare"]),
        limits=Limits(**row["limits"]),
        mode=Mode(row["mode"]),
        verify=Verify(row["verify"]),
        symlinks=Symlinks(row["symlinks"]),
        on_conflict=OnConflict(row["on_conflict"]),
        objects=_objects_from_row(row["objects"]),
        filters=filters_from_row(row["filters"]),
        manifest=ManifestLocation(**row["manifest"]) if row["manifest"] else None,
        delete_guard=DeleteGuard(**row["delete_guard"]),
        prices=row.get("prices", {}),
        calibration=row.get("calibration", NEWEST),
        source_bucket=BucketOptions(**row.get("source_bucket", {})),
        destination_bucket=BucketOptions(**row.get("destination_bucket", {})),
    )
    rates = Rates(row["rates"]["seconds_per_entry"], row["rates"]["bytes_per_second"])
    creations = row["rates"].get("creations_per_second", CREATIONS_PER_SECOND)
    return Plan(row["run_id"], request, rates, tuple(row.get("resumes", ())), creations, row.get("quota"))


def compares_attributes(plan: Plan) -> bool:
    """Whether the run, or the verification inside it, compares more than names, kinds, sizes and bytes."""
    return plan.request.mode is Mode.VERIFY and plan.request.verify is not Verify.CONTENT
