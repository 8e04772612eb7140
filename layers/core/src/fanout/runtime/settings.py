"""Settings: what a deployment fixes, read from the environment when a function starts its work."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct, field

from fanout.facts.prices import OF_ARCHITECTURES
from fanout.model.errors import InvalidRequest
from fanout.request.parts.allowed_attributes import StackAllows, owners_of
from fanout.request.parts.limits import FunctionSize
from fanout.work.context import StackFacts, WayOut


class DataEndpoint(Struct, frozen=True):
    """Another S3 than the work bucket's that holds the trees; of a local run only."""

    url: str
    access_key_id: str
    secret_access_key: str


class Settings(StackFacts, frozen=True, kw_only=True):
    """The stack's parameters, and what a function needs to reach its surroundings.

    ``mounts`` maps a mount's name to the path under which the function sees it.
    ``endpoint_url``, ``efs_url``, ``metrics_url``, ``states_url``, ``lambda_url`` and ``kms_url`` are where S3, EFS,
    CloudWatch, Step Functions, Lambda and KMS are asked, empty for those of the region. Batches of S3's events start
    ``state_machine`` with ``event_request``. ``certificate_key`` is the ARN of the key that signs certificates, empty
    for none. ``checksum_role`` is the ARN of the role of jobs that compute checksums, empty for none; S3 is asked for
    them at ``control_url``, or at the region's. ``account_id`` must own the work bucket. ``allows`` is what copies on a
    mount may have. PlanTransfer alone is given ``function``, ``access_points``, ``way_out`` and ``roles``.
    ``other_accounts`` are those besides the stack's whose buckets it may use, ``any`` for all.
    """

    work_bucket: str
    mounts: Mapping[str, Path]
    max_concurrency: int
    endpoint_url: str
    data_endpoint: DataEndpoint | None
    efs_url: str = ""
    metrics_url: str = ""
    states_url: str = ""
    event_request: str = ""
    lambda_url: str = ""
    kms_url: str = ""
    certificate_key: str = ""
    checksum_role: str = ""
    control_url: str = ""
    allows: StackAllows = field(default_factory=StackAllows)
    other_accounts: tuple[str, ...] = ()
    sts_url: str = ""


def settings_from(environment: Mapping[str, str]) -> Settings:
    """The settings of an environment. Raises ``InvalidRequest`` that names a variable that is missing."""
    try:
        work_bucket = environment["FANOUT_WORK_BUCKET"]
    except KeyError as error:
        raise InvalidRequest("FANOUT_WORK_BUCKET", "is not set", "deploy the function with template.yaml") from error
    mounts = json.loads(environment.get("FANOUT_MOUNTS", "{}"))
    data_url = environment.get("FANOUT_DATA_ENDPOINT_URL", "")
    data_endpoint = None
    if data_url:
        data_endpoint = DataEndpoint(
            data_url,
            environment.get("FANOUT_DATA_ACCESS_KEY_ID", ""),
            environment.get("FANOUT_DATA_SECRET_ACCESS_KEY", ""),
        )
    checksum_role = environment.get("FANOUT_CHECKSUM_ROLE", "")
    return Settings(
        work_bucket=work_bucket,
        mounts={name: Path(path) for name, path in mounts.items()},
        max_concurrency=int(environment.get("FANOUT_MAX_CONCURRENCY", "100")),
        region=environment.get("AWS_REGION", "us-east-1"),
        endpoint_url=environment.get("AWS_ENDPOINT_URL_S3") or environment.get("AWS_ENDPOINT_URL", ""),
        data_endpoint=data_endpoint,
        file_systems=json.loads(environment.get("FANOUT_FILE_SYSTEMS", "{}")),
        efs_url=environment.get("AWS_ENDPOINT_URL_EFS") or environment.get("AWS_ENDPOINT_URL", ""),
        prices={
            **OF_ARCHITECTURES[environment.get("FANOUT_ARCHITECTURE", "arm64")],
            **json.loads(environment.get("FANOUT_PRICES", "{}")),
        },
        metrics_url=environment.get("AWS_ENDPOINT_URL_CLOUDWATCH") or environment.get("AWS_ENDPOINT_URL", ""),
        states_url=environment.get("AWS_ENDPOINT_URL_SFN") or environment.get("AWS_ENDPOINT_URL", ""),
        state_machine=environment.get("FANOUT_STATE_MACHINE", ""),
        event_request=environment.get("FANOUT_EVENT_REQUEST", ""),
        lambda_url=environment.get("AWS_ENDPOINT_URL_LAMBDA") or environment.get("AWS_ENDPOINT_URL", ""),
        reserved_concurrency=int(environment.get("FANOUT_RESERVED_CONCURRENCY", "0")),
        kms_url=environment.get("AWS_ENDPOINT_URL_KMS") or environment.get("AWS_ENDPOINT_URL", ""),
        certificate_key=environment.get("FANOUT_CERTIFICATE_KEY", ""),
        checksum_role=checksum_role,
        computes_checksums=bool(checksum_role) and data_endpoint is None,
        control_url=environment.get("AWS_ENDPOINT_URL_S3_CONTROL", ""),
        account_id=environment.get("FANOUT_ACCOUNT", ""),
        allows=StackAllows(
            owners_of(environment.get("FANOUT_ALLOWED_OWNERS", "")), environment.get("FANOUT_SET_IDS") != "never"
        ),
        access_points=json.loads(environment.get("FANOUT_ACCESS_POINTS", "{}")),
        function=FunctionSize(
            int(environment.get("FANOUT_FUNCTION_SECONDS", FunctionSize().seconds)),
            int(environment.get("FANOUT_FUNCTION_MEGABYTES", FunctionSize().megabytes)),
        ),
        way_out=WayOut(environment.get("FANOUT_WAY_OUT", WayOut.NONE)),
        roles=_named(environment.get("FANOUT_ROLES", "")),
        other_accounts=_named(environment.get("FANOUT_OTHER_ACCOUNTS", "")),
        sts_url=environment.get("AWS_ENDPOINT_URL_STS") or environment.get("AWS_ENDPOINT_URL", ""),
    )


def _named(text: str) -> tuple[str, ...]:
    return tuple(one for one in text.split(",") if one)
