"""The role of ComputeChecksums: it writes its documents and no report of S3's, and asks for no job but its own."""

from __future__ import annotations

import pytest

from fanout.checksums.progress import NOTE, asked_key, created_key, ended_key, manifest_key, shard_key
from fanout.ledger.keys import note_key
from fanout.ledger.ledger import Ledger
from fanout.model.shard import Shard
from tests.functions.kinds_of_runs import WORK
from tests.functions.test_roles import GIVEN
from tests.support.actions import Need
from tests.support.iam import is_allowed, statements_of
from tests.support.memory_store import MemoryStore
from tests.template.templates import functions


def test_compute_checksums_may_write_each_of_its_documents_and_no_report() -> None:
    """A pattern of a document that it must not write, such as ``runs/*/shards/*``, also matches deeper folders."""
    ledger = Ledger(MemoryStore(), "r")
    shard = Shard("0001-000000", "shards/0001-000000.jsonl", 1, 1, 1.0)
    names: list[str] = [asked_key(0), created_key(0, "source"), ended_key(0, "source"), manifest_key(0, "source", "n")]
    names.append(shard_key(shard))
    keys = [one.prefix + name for one in (ledger, ledger.verification()) for name in names]
    keys.append(ledger.prefix + note_key(NOTE))
    statements = statements_of("ComputeChecksumsFunction", GIVEN)
    put = [Need("s3:PutObject", f"arn:aws:s3:::{WORK}/{key}") for key in keys]
    assert [need for need in put if not is_allowed(need, statements)] == []
    assert not is_allowed(Need("s3:PutObject", f"arn:aws:s3:::{WORK}/{ledger.reports().prefix}job-1/x"), statements)


JOB = "arn:aws:s3:us-east-1:123456789012:job/1"
OPERATIONS = {"s3:CreateJob": "s3:RequestJobOperation", "s3:UpdateJobStatus": "s3:ExistingJobOperation"}
TAGS = {"s3:CreateJob": "aws:RequestTag/fanout:work-bucket", "s3:UpdateJobStatus": "aws:ResourceTag/fanout:work-bucket"}


@pytest.mark.parametrize("action", OPERATIONS)
def test_only_a_job_that_computes_checksums_for_this_stack_is_created_or_cancelled(action: str) -> None:
    """S3PutObjectCopy with the role of the jobs would write reports of its own below ``computed/``."""
    statements = statements_of("ComputeChecksumsFunction", GIVEN)

    def may(operation: str, tag: str) -> bool:
        context = {OPERATIONS[action]: operation} | ({TAGS[action]: tag} if tag else {})
        return is_allowed(Need(action, "*" if action == "s3:CreateJob" else JOB, context), statements)

    assert may("S3ComputeObjectChecksum", WORK)
    assert not may("S3PutObjectCopy", WORK)
    assert not may("LambdaInvoke", WORK)
    assert not may("S3ComputeObjectChecksum", "another-stack")
    assert not may("S3ComputeObjectChecksum", "")


def test_no_role_sets_the_tags_of_a_job() -> None:
    for function in functions():
        for action in ("s3:PutJobTagging", "s3:DeleteJobTagging", "s3:UpdateJobPriority"):
            assert not is_allowed(Need(action, JOB), statements_of(function, GIVEN)), (function, action)
