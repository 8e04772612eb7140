"""The settings of this environment, and the S3 clients that they and a plan make."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import cache, lru_cache

from fanout.adapters.aws.credentials import (
    Credentials,
    CredentialsProvider,
    Given,
    LooksEverySecond,
    credentials_from_environment,
)
from fanout.adapters.aws.endpoint import Endpoint
from fanout.adapters.s3.client.bucket_headers import headers_of_buckets, own_bucket
from fanout.adapters.s3.client.client import S3Client
from fanout.adapters.s3.client.reach import region_of
from fanout.adapters.s3.work_store import S3ObjectReader, S3WorkStore
from fanout.ledger.kind import is_read_by_s3
from fanout.request.plan import Plan
from fanout.runtime.settings import Settings, settings_from

# Chosen: a process that outlives a run keeps so many sessions of roles.
_SESSIONS = 16


@cache
def settings() -> Settings:
    """The settings of this environment, read once."""
    return settings_from(os.environ)


def work_client(here: Settings) -> S3Client:
    """A client for the work bucket, which must belong to the stack's account."""
    client = S3Client(Endpoint(here.region, here.endpoint_url), LooksEverySecond(credentials_from_environment))
    return client.for_buckets(own_bucket(here.work_bucket, here.account_id))


@cache
def stack_client() -> S3Client:
    """The client of this stack's work bucket, which all runs of this process share."""
    return work_client(settings())


@cache
def _data_client() -> S3Client:
    here = settings()
    data = here.data_endpoint
    if data is None:
        return stack_client()
    credentials = Credentials(data.access_key_id, data.secret_access_key)
    return S3Client(Endpoint(here.region, data.url), Given(credentials))


def client_for(plan: Plan, function: str = "") -> S3Client:
    """The S3 client of a function for the buckets of a plan. A role that the plan names gives it this one's rights."""
    options = plan.request.bucket_options
    assumed = dict.fromkeys(options, _session(plan, function)) if plan.request.assumed[0] else {}
    return _data_client().for_buckets(headers_of_buckets(options)).by_ways(plan.regions, assumed)


def check_sessions(plan: Plan) -> None:
    """Raise ``InvalidRequest`` where a function of the run could have no session of the role that the plan names."""
    if plan.request.assumed[0]:
        from fanout.adapters.aws.session_policy import check_sessions as check

        allowed, partition = _allowed_accounts(plan)
        check(allowed, plan, partition, settings().region)


def _allowed_accounts(plan: Plan) -> tuple[tuple[str, ...], str]:
    """The accounts whose buckets a session may use, none for any; and the partition of the plan's role."""
    here = settings()
    _, partition, _, _, account, _ = plan.request.assumed[0].split(":", 5)
    accounts = (here.account_id, account, *here.other_accounts)
    return () if "any" in accounts else tuple(dict.fromkeys(accounts)), partition


def _session(plan: Plan, function: str) -> CredentialsProvider:
    from fanout.adapters.aws.session_policy import session_name, session_policy

    role, external_id = plan.request.assumed
    allowed, partition = _allowed_accounts(plan)
    policy = session_policy(allowed, function, plan, partition, settings().region)
    return _assumed(role, external_id, policy, session_name(function, plan.run_id))


@lru_cache(maxsize=_SESSIONS)
def _assumed(role: str, external_id: str, policy: str, name: str) -> CredentialsProvider:
    """The credentials of a role, which all tasks of a run in this process share."""
    from fanout.adapters.aws.assumed_role import AssumedRole

    here = settings()
    return AssumedRole(here.region, role, external_id, here.sts_url, policy, name)


def far_buckets(buckets: Iterable[str]) -> dict[str, str]:
    """The regions of the buckets that are not in the stack's; all are at one endpoint where the S3 is not AWS's."""
    here = settings()
    if here.data_endpoint is not None:
        return {}
    found = {one: region_of(Endpoint(here.region, here.endpoint_url), one) for one in set(buckets)}
    return {bucket: region for bucket, region in found.items() if region not in ("", here.region)}


def objects_for(plan: Plan, function: str = "") -> S3ObjectReader:
    """The reader of a plan's manifest, which may lie in the ledger of an earlier run."""
    client = client_for(plan, function)
    return S3ObjectReader(lambda bucket: stack_client() if bucket == settings().work_bucket else client)


def make_work_store() -> S3WorkStore:
    """The work bucket."""
    return S3WorkStore(stack_client(), settings().work_bucket, is_read_by_s3)
