"""The options of an end in S3."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from fanout.request.fields.traits import OBJECTS, Traits


class BucketOptions(Struct, frozen=True, forbid_unknown_fields=True):
    """How the bucket of an end is asked."""

    requester_pays: Annotated[
        bool,
        Meta(description="the stack's account pays for requests to a requester-pays bucket, and for what it reads"),
        Traits(OBJECTS, words=("request_payer",)),
    ] = False
    expected_owner: Annotated[
        str,
        Meta(
            pattern=r"^([0-9]{12})?$",
            description="account that must own the bucket: S3 refuses each request to one of another; default: any",
            extra_json_schema={"allowed": "12 digits"},
        ),
        Traits(OBJECTS, option="owner"),
    ] = ""
    role: Annotated[
        str,
        Meta(
            pattern=r"^(arn:aws[a-z-]*:iam::[0-9]{12}:role/[A-Za-z0-9+=,.@_/-]{1,576})?$",
            description="role that is assumed to read and write the bucket, of those that the stack's"
            " AssumableRoleArns names; between two buckets it does so at both, as S3 copies for one identity",
            extra_json_schema={"allowed": "the ARN of a role"},
        ),
        Traits(OBJECTS, at=1),
    ] = ""
    external_id: Annotated[
        str,
        Meta(
            pattern=r"^([A-Za-z0-9+=,.@:/_-]{2,1224})?$",
            description="external id with which the role is assumed",
            extra_json_schema={"allowed": "2 to 1224 letters, digits and + = , . @ : / _ -"},
        ),
        Traits(OBJECTS, at=1, secret=True),
    ] = ""
