"""The ledgers in the work bucket of the local stack, whose emulator forgets executions when it ends."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from fanout.ledger.keys import REQUEST
from fanout_cli.stacks import Stack

RUNS = "runs/"


class KeptLedger(NamedTuple):
    """The ledger of a run, and when the run began."""

    run_id: str
    began: datetime


def ledgers_of(stack: Stack) -> list[KeptLedger]:
    """All ledgers, that of the newest run first. It reads every run, so it is for a work bucket on this machine."""
    s3 = stack.client("s3")
    found = []
    for page in s3.get_paginator("list_objects_v2").paginate(Bucket=stack.work_bucket, Prefix=RUNS, Delimiter="/"):
        for one in page.get("CommonPrefixes", []):
            asked = s3.list_objects_v2(Bucket=stack.work_bucket, Prefix=one["Prefix"] + REQUEST, MaxKeys=1)
            for key in asked.get("Contents", []):  # beside the runs lie indexes and batches
                found.append(KeptLedger(one["Prefix"].removeprefix(RUNS).strip("/"), key["LastModified"]))
    return sorted(found, key=lambda ledger: ledger.began, reverse=True)
