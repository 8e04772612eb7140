"""Cells of a matrix of ends, through the handlers: each is filled, run, and green or refused by name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from fanout.model.errors import InvalidRequest
from tests.support.wire import Wire


def fill(s3: Any, place: str | Path, files: Mapping[str, bytes]) -> None:
    """Write the files below ``in/``: of a bucket by its name, or of a mount by its directory."""
    for name, data in files.items():
        if isinstance(place, Path):
            (place / "in" / name).parent.mkdir(parents=True, exist_ok=True)
            (place / "in" / name).write_bytes(data)
        else:
            s3.put_object(Bucket=place, Key=f"in/{name}", Body=data)


def held(s3: Any, bucket: str, prefix: str = "out/") -> dict[str, bytes]:
    """The objects below a prefix, by their names in it."""
    names = [one["Key"] for one in s3.list_objects_v2(Bucket=bucket, Prefix=prefix).get("Contents", [])]
    return {one.removeprefix(prefix): s3.get_object(Bucket=bucket, Key=one)["Body"].read() for one in names}


def remove(s3: Any, bucket: str, owner: Any = None) -> None:
    """Remove a bucket with all that it holds; ``owner`` is the client that may, if not ``s3``."""
    for one in s3.list_objects_v2(Bucket=bucket).get("Contents", []):
        s3.delete_object(Bucket=bucket, Key=one["Key"])
    (owner or s3).delete_bucket(Bucket=bucket)


def runs_or_is_refused(wire: Wire, request: dict[str, Any], refused: str, fields: tuple[str, ...]) -> bool:
    """Whether the cell's run succeeds; a plan that is refused names one of the fields, and says ``refused``."""
    if not refused:
        assert wire.flow.run("cell", request)["status"] == "SUCCEEDED"
        return True
    with pytest.raises(InvalidRequest, match=re.escape(refused)) as caught:
        wire.flow.plan("cell", request)
    assert caught.value.field in fields
    return False
