"""Parts of a request as they come from outside."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from fanout.request.options import DEFAULT_PERCENT


class DeleteGuardModel(BaseModel):
    """The most that a sync deletes."""

    model_config = ConfigDict(extra="forbid", strict=True)

    max_count: Annotated[
        int | None, Field(ge=0, description="entries that a sync deletes at most; default: no such limit")
    ] = None
    max_percent: Annotated[
        float,
        Field(
            ge=0,
            le=100,
            description="percent of the destination's entries that the filters take, which a sync deletes at most",
        ),
    ] = DEFAULT_PERCENT


class BucketModel(BaseModel):
    """How the bucket of an end is asked."""

    model_config = ConfigDict(extra="forbid", strict=True)

    requester_pays: Annotated[
        bool,
        Field(
            description="the stack's account pays for each request to a requester-pays bucket, and for what it reads"
        ),
    ] = False
    expected_owner: Annotated[
        str | None,
        Field(
            pattern=r"^[0-9]{12}$",
            description="account that must own the bucket: S3 refuses each request to one of another; default: any",
        ),
    ] = None


# The models that stand in a field of the request, by its name.
INNER: dict[str, type[BaseModel]] = {
    "delete_guard": DeleteGuardModel,
    "source_bucket": BucketModel,
    "destination_bucket": BucketModel,
}
