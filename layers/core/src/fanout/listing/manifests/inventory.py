"""The manifest.json of an S3 Inventory.

docs.aws.amazon.com/AmazonS3/latest/userguide/storage-inventory-location.html
"""

from __future__ import annotations

from fanout.model.document import json_value
from fanout.model.errors import InvalidRequest
from fanout.request.manifest import KEY, ManifestLocation


def read_inventory(
    document: bytes, location: ManifestLocation, source_bucket: str
) -> tuple[tuple[str, ...], list[str]]:
    """The columns, in lower case, and the keys of the data files. Raises ``InvalidRequest``."""
    try:
        value = json_value(document)
        bucket, place = str(value["sourceBucket"]), str(value["destinationBucket"])
        form, schema = str(value["fileFormat"]), str(value["fileSchema"])
        keys = [str(file["key"]) for file in value["files"]]
    except (ValueError, KeyError, TypeError) as error:
        raise _refused(location, f"is not one of an S3 Inventory ({type(error).__name__}: {error})", "") from error
    if form != "CSV":
        raise _refused(location, f"is of an inventory as {form}", "configure the inventory with the format CSV")
    if bucket != source_bucket:
        raise _refused(location, f"is of the bucket {bucket!r}, not of the source's {source_bucket!r}", "")
    if place.rpartition(":")[2] != location.bucket:
        raise _refused(location, f"has its data files in {place!r}", f"they must lie in {location.bucket}, as it does")
    if not keys:
        raise _refused(location, "names no data files", "wait for the next inventory, or leave the manifest out")
    columns = tuple(column.strip().lower() for column in schema.split(","))
    if KEY not in columns or not all(key.endswith(".csv.gz") for key in keys):
        raise _refused(location, "names no column Key, or data files that are not .csv.gz", "")
    return columns, keys


def _refused(location: ManifestLocation, problem: str, allowed: str) -> InvalidRequest:
    return InvalidRequest("manifest", f"{location} {problem}", allowed)
