"""A manifest: a list of what a run is about, instead of a listing; docs/how-to/manifests.md is the contract."""

from __future__ import annotations

from msgspec import Struct

from fanout.model.errors import InvalidRequest
from fanout.model.location import Location, parse_bucket_key

PATH, KEY, ENCODED_KEY, BUCKET = "path", "key", "encoded_key", "bucket"
MAY_BE_MISSING = "may_be_missing"
_ENDINGS = (".csv", ".csv.gz", ".jsonl", ".jsonl.gz", ".json")
_ALLOWED = f"s3://bucket/key of a {', '.join(_ENDINGS[:-1])} or of an S3 Inventory's manifest.json"


class ManifestLocation(Struct, frozen=True):
    bucket: str
    key: str

    def __str__(self) -> str:
        return f"s3://{self.bucket}/{self.key}"

    @property
    def is_inventory(self) -> bool:
        """Whether it names the data files of an S3 Inventory."""
        return self.key.endswith(".json")

    @property
    def is_failures(self) -> bool:
        """Whether it is what a run left to be tried again, which may go on in further files."""
        return self.key.endswith("/failures.jsonl")


def parse_manifest_location(text: str, source: Location) -> ManifestLocation:
    """The manifest that a request names. Raises ``InvalidRequest``."""
    location = ManifestLocation(*parse_bucket_key("manifest", text, _ALLOWED))
    if not location.key.endswith(_ENDINGS):
        raise InvalidRequest("manifest", f"{text!r} has another ending", f"allowed is {_ALLOWED}")
    if location.is_inventory and not source.is_keyed:
        raise InvalidRequest("manifest", f"an S3 Inventory lists a bucket, not {source}", "name a .csv or .jsonl")
    return location
