"""The checks that only a function inside the network can make: for ``fanout doctor``, and before a run copies."""

from __future__ import annotations

import secrets
from collections.abc import Iterator

from msgspec import to_builtins

from fanout.adapters.aws.endpoint import Endpoint
from fanout.adapters.posix.probe.probe import probe_mount
from fanout.adapters.s3.client.client import S3Client
from fanout.adapters.s3.client.reach import reach
from fanout.ledger.run_places import DOCTOR, run_prefix
from fanout.model.document import Json
from fanout.model.errors import FanoutError, Unreachable
from fanout.ports.finding import Finding, fail, ok
from fanout.runtime.clients import settings, work_client
from fanout.runtime.settings import Settings

PROBE_KEY = f"{run_prefix(DOCTOR)}probe"


def require_s3() -> None:
    """Raise ``Unreachable`` in seconds where S3 does not answer, before anything waits for it."""
    here = settings()
    reach(Endpoint(here.region, here.endpoint_url), here.work_bucket)


def examine(event: Json) -> Json:
    """The findings from here; ``kms_key_id`` tries a key too."""
    return {"findings": [to_builtins(finding) for finding in findings(settings(), event.get("kms_key_id", ""))]}


def findings(here: Settings, kms_key_id: str) -> Iterator[Finding]:
    """S3, then every mount that this function sees, then the key if one is named."""
    endpoint = Endpoint(here.region, here.endpoint_url)
    title = f"{_network(here)}: S3"
    try:
        seconds = reach(endpoint, here.work_bucket)
    except Unreachable as error:
        what, _, remedy = str(error).partition("; ")
        yield fail(title, what, remedy)
    else:
        yield ok(title, f"connected in {1000 * seconds:.0f} ms")
        yield from _bucket(work_client(here), here, kms_key_id)
    for name, path in here.mounts.items():
        yield from probe_mount(name, path, secrets.token_hex(4))


def _network(here: Settings) -> str:
    """Which of the stack's networks this is: a function lies in that of the mounts that it sees."""
    return f"network of mount {', '.join(here.mounts)}"


def _bucket(client: S3Client, here: Settings, kms_key_id: str) -> Iterator[Finding]:
    title, remedy = f"{_network(here)}: work bucket", "check the endpoint's policy and the role of ExamineNetwork"
    try:
        client.put_object(here.work_bucket, PROBE_KEY, b"probe")
        client.get_object(here.work_bucket, PROBE_KEY)
    except FanoutError as error:
        yield fail(title, str(error), remedy)
        return
    yield ok(title, "an object was written and read")
    if kms_key_id:
        yield _kms(client, here, kms_key_id)


def _kms(client: S3Client, here: Settings, kms_key_id: str) -> Finding:
    headers = {"x-amz-server-side-encryption": "aws:kms", "x-amz-server-side-encryption-aws-kms-key-id": kms_key_id}
    try:
        client.put_object(here.work_bucket, f"{PROBE_KEY}-kms", b"probe", headers)
        client.get_object(here.work_bucket, f"{PROBE_KEY}-kms")
    except FanoutError as error:
        remedy = "deploy with the key's ARN in KmsKeyArns, and let the key's policy allow the account's roles"
        return fail("KMS key", str(error), remedy)
    return ok("KMS key", "an object was encrypted and decrypted")
