"""Which AWS account and region a command works in: ``--region`` and ``--profile``, else the environment."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextvars import ContextVar
from functools import cache, partial
from typing import Any

_REGION: ContextVar[str | None] = ContextVar("region", default=None)
_PROFILE: ContextVar[str | None] = ContextVar("profile", default=None)


def choose_region(value: str | None) -> None:
    """Take the option ``--region``."""
    _REGION.set(value)


def choose_profile(value: str | None) -> None:
    """Take the option ``--profile``."""
    _PROFILE.set(value)


def session_options() -> dict[str, Any]:
    """The arguments of a boto3 session.

    boto3 reads AWS_DEFAULT_REGION and AWS_PROFILE by itself, but not AWS_REGION.
    """
    return {"region_name": _REGION.get() or os.environ.get("AWS_REGION") or None, "profile_name": _PROFILE.get()}


def region_named() -> str:
    """The region that an option or the environment names; empty where only a profile may."""
    return session_options()["region_name"] or os.environ.get("AWS_DEFAULT_REGION") or ""


def new_session() -> Any:
    """A session of botocore: boto3's would bring what transfers files, which takes longer to import than all else."""
    from botocore.session import Session

    options = session_options()
    session = Session(profile=options["profile_name"])
    if options["region_name"]:
        session.set_config_variable("region", options["region_name"])
    return session


def is_chosen() -> bool:
    """Whether an option names an account or a region on AWS."""
    return bool(_REGION.get() or _PROFILE.get())


def stated() -> str:
    """The options as a person typed them, for the commands that are advised."""
    given = (("--region", _REGION.get()), ("--profile", _PROFILE.get()))
    return "".join(f" {name} {value}" for name, value in given if value)


ClientMaker = Callable[[str], Any]


def held_to_owner(client: ClientMaker, outputs: Any) -> ClientMaker:
    """Makes the same clients; that of S3 names the account of the stack's state machine for the work bucket."""
    bucket, account = outputs["WorkBucketName"], outputs["StateMachineArn"].split(":")[4]

    @cache
    def make(service: str) -> Any:
        made = client(service)
        if service == "s3":
            name = partial(_name_owner, bucket, account)
            made.meta.events.register("before-parameter-build.s3", name, unique_id=f"owner-of-{bucket}")
        return made

    return make


def _name_owner(bucket: str, account: str, params: dict[str, Any], model: Any, **_: Any) -> None:
    if params.get("Bucket") == bucket and "ExpectedBucketOwner" in model.input_shape.members:
        params.setdefault("ExpectedBucketOwner", account)
