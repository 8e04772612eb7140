"""The role of ComputeChecksums against every document that it writes: it may write these, and no report of S3's."""

from __future__ import annotations

from fanout.checksums.progress import NOTE, asked_key, created_key, ended_key, manifest_key, shard_key
from fanout.ledger.keys import note_key
from fanout.ledger.ledger import Ledger
from fanout.model.shard import Shard
from tests.functions.kinds_of_runs import WORK
from tests.functions.test_roles import GIVEN
from tests.support.actions import Need
from tests.support.iam import is_allowed, statements_of
from tests.support.memory_store import MemoryStore


def test_compute_checksums_may_write_each_of_its_documents_and_no_report() -> None:
    """A pattern of a document that it must not write, such as ``runs/*/shards/*``, also matches deeper folders."""
    ledger = Ledger(MemoryStore(), "r")
    shard = Shard("0001-000000", "shards/0001-000000.jsonl", 1, 1, 1.0)
    names = [asked_key(0), created_key(0, "source"), ended_key(0, "source"), manifest_key(0, "source", "n")]
    names.append(shard_key(shard))
    keys = [one.prefix + name for one in (ledger, ledger.verification()) for name in names]
    keys.append(ledger.prefix + note_key(NOTE))
    statements = statements_of("ComputeChecksumsFunction", GIVEN)
    put = [Need("s3:PutObject", f"arn:aws:s3:::{WORK}/{key}") for key in keys]
    assert [need for need in put if not is_allowed(need, statements)] == []
    assert not is_allowed(Need("s3:PutObject", f"arn:aws:s3:::{WORK}/{ledger.reports().prefix}job-1/x"), statements)
