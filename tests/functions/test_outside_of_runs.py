"""Who reads and writes the secrets, turns, probes and what is staged: whatever the parameters for data match.

Every role, over what a stack reads and writes, with one mount, with two, and with direct reads of S3 Files.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest

from scripts.ledger_rights import OUTSIDE, READ_OUTSIDE, sample_of
from tests.functions.kinds_of_runs import WORK
from tests.functions.test_roles import CONDITIONS, PARAMETERS
from tests.support.actions import Need
from tests.support.iam import Given, is_allowed, statements_of
from tests.template.templates import functions

# Patterns of buckets: nothing, one that matches the work bucket's name by its beginning, and each bucket.
PATTERNS = ("", f"arn:aws:s3:::{WORK[:3]}*", "arn:aws:s3:::*")
MOUNTS = {"one": (False, False), "two": (True, False), "direct reads": (True, True)}
GET = ("s3:GetObject", "s3:GetObjectVersion")
CHANGE = ("s3:PutObject", "s3:DeleteObjectVersion", "s3:PutObjectTagging", "s3:PutObjectAcl", "s3:RestoreObject")
ACL = {"s3:x-amz-acl": "bucket-owner-full-control", "aws:ResourceAccount": "123456789012"}


def stacks() -> Iterator[tuple[str, Given]]:
    """The parameters and conditions of each kind of stack."""
    for reads, writes, (name, (second, direct)) in product(PATTERNS, PATTERNS, MOUNTS.items()):
        unlimited = {f"Limits{end}{what}": False for end in ("Read", "Write") for what in ("Objects", "Prefixes")}
        chosen = {"ReadsBuckets": bool(reads), "WritesBuckets": bool(writes), "CopiesTags": bool(reads and writes)}
        mounts = {"HasSecondMount": second, "Stages": second, "ReadsDirectly": direct, "IsS3Files": direct}
        parameters = {"ReadBucketArns": reads, "WriteBucketArns": writes, "DirectReadArns": "arn:aws:s3:::*/*"}
        yield (
            f"reads {reads or 'none'}, writes {writes or 'none'}, {name}",
            Given(PARAMETERS | parameters, CONDITIONS | unlimited | chosen | mounts),
        )


def may(function: str, action: str, key: str, given: Given) -> bool:
    return is_allowed(Need(action, f"arn:aws:s3:::{WORK}/{key}", ACL), statements_of(function, given))


@pytest.mark.parametrize(("name", "given"), stacks(), ids=lambda one: one if isinstance(one, str) else "")
def test_only_the_roles_of_the_table_read_or_change_them(name: str, given: Given) -> None:
    beyond = set()
    for function in functions():
        word = function.removesuffix("Function")
        for pattern, writers in OUTSIDE.items():
            key = sample_of(pattern)
            readers = READ_OUTSIDE.get(pattern)
            if readers is not None and word not in readers:
                beyond |= {(word, action, key) for action in GET if may(function, action, key, given)}
            changes = CHANGE[1:] if word in writers else CHANGE
            beyond |= {(word, action, key) for action in changes if may(function, action, key, given)}
    assert beyond == set(), name


def test_each_place_outside_of_the_runs_has_its_readers() -> None:
    """What S3 computed is the one that each function may read."""
    assert OUTSIDE.keys() - READ_OUTSIDE.keys() == {"computed/*"}
