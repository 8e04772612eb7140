"""The policy of an assumed role's session is never wider than its prefixes, and short enough or refused."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import partial
from itertools import product

import pytest

from fanout.adapters.aws.session_policy import POLICY_CHARACTERS, RIGHTS, check_sessions, session_policy
from fanout.model.errors import InvalidRequest
from fanout.request.plan import Plan
from tests.adapters.aws.test_session_policy import ACCOUNTS, plan_of, session
from tests.support.actions import Need
from tests.support.iam import Statement, is_allowed

# Prefixes with characters that mean something in a policy, and keys that are not below them.
ODD = {
    "in/a*b/": ("in/aXb/", "in/a/x/b/", "in/a*bX", "in/"),
    "in/a?b/": ("in/aXb/", "in/a*b/", "in/ab/"),
    "in/$/": ("in/x/", "in//", "in/$"),
    "in/${aws:userid}/": ("in/AROA:me/", "in/${aws:username}/", "in/${aws:userid}"),
    "in/${*}/": ("in/*/", "in/x/", "in/${x}/"),
    "in/${/": ("in/$/", "in/${"),
    "in/[ab]/": ("in/a/", "in/b/"),
    "*/": ("x/", "a*/", "/"),
    "$/": ("x/", "x$/", "/"),
    'in/"q\\/': ("in/q/", "in/", 'in/"q/'),
    "in/Ünï/": ("in/", "in/x/", "other/"),
    "données/": ("donnXX/es/", "donn/secret/", "donn", "donnes/"),
    "日本/": ("private/salaries/", "日本", "日本語/", "a/b/c/"),
    "a/日本語/b/": ("a/x/b/", "a/b/", "a/xyz/c/", "a/xyzw/b/", "a/x/y/z/b/"),
    "a\t\x7f/": ("a/", "a/xyz/", "axyz/"),
}


@pytest.mark.parametrize("prefix", ODD)
def test_no_character_of_a_prefix_widens_a_session(prefix: str) -> None:
    """Neither as a wildcard nor as a variable; characters that no policy is sure to name hold their own place alone."""
    account = {"aws:ResourceAccount": ACCOUNTS[0], "aws:userid": "AROA:me", "aws:username": "me"}
    plan = plan_of(source=f"s3://src/{prefix}", destination=f"s3://dst/{prefix}")
    for function, bucket in product(("CopyShard", "ShortWay", "ListSegment"), ("src", "dst")):
        statements = session(function, plan)

        def may(action: str, key: str, bucket: str = bucket, statements: list[Statement] = statements) -> bool:
            if action == "s3:ListBucket":
                return is_allowed(Need(action, f"arn:aws:s3:::{bucket}", {**account, "s3:prefix": key}), statements)
            return is_allowed(Need(action, f"arn:aws:s3:::{bucket}/{key}", account), statements)

        for action in ("s3:GetObject", "s3:ListBucket", *["s3:PutObject"] * (bucket == "dst")):
            assert may(action, f"{prefix}x"), (function, action)
            assert not [key for key in ODD[prefix] if may(action, key)], (function, action)


@pytest.mark.parametrize("end", ["source", "destination"])
@pytest.mark.parametrize("prefix", ["in/😀/", "𐀀/"])
def test_a_character_that_no_wildcard_is_sure_to_hold_is_refused_by_the_end_that_has_it(end: str, prefix: str) -> None:
    """Some programs count it as one character, some as two: a wider pattern would hold others."""
    plan = plan_of(**{end: f"s3://their/{prefix}"})
    for check in (lambda: check_sessions(ACCOUNTS, plan, "aws", "us-east-1"), lambda: session("CopyShard", plan)):
        with pytest.raises(InvalidRequest, match=rf"^{end}: ") as found:
            check()
        assert repr(prefix) in str(found.value)


LONG = {
    "short": ("src", "in/"),
    "key": ("s" * 63, "p" * 900 + "/"),
    "alias": ("a" * 20 + "-" + "m" * 34 + "-s3alias", "p" * 900 + "/"),
    "not ASCII": ("s" * 63, "Ünïcode/" * 80),
    "Japanese": ("s" * 63, "日本語/" * 80),
    "wildcards": ("s" * 63, 'a*b?c$d"e\\/' * 60),
}


@pytest.mark.parametrize(("named", "others"), [*product(sorted(LONG.keys() - {"alias"}), [0, 10, 20]), ("alias", 0)])
def test_a_policy_is_short_enough_and_never_wider_than_the_bucket(named: str, others: int) -> None:
    bucket, prefix = LONG[named]
    ends = {"source": f"s3://{bucket}/{prefix}", "destination": f"s3://{bucket[:-1]}d/{prefix}"}
    if named == "alias":
        ends["destination"] = ends["source"].replace("a" * 20, "b" * 20).replace("/p", "/q", 1)
    accounts = [*ACCOUNTS, *(f"{number:012d}" for number in range(others))]
    sizes, partition = {}, "aws" if named == "alias" else "aws-us-gov"
    manifest = f"s3://{bucket}/lists/{'m' * 800}.csv"
    for function, mode in product(RIGHTS, ["sync", "move"]):
        plan = plan_of(
            mode, "r" * 80, **ends, **({"manifest": manifest} if mode == "move" and named != "alias" else {})
        )
        text = session_policy(accounts, function, plan, partition, "us-gov-west-1")
        sizes[function, mode] = len(text)
        for one in json.loads(text)["Statement"]:
            if one["Effect"] == "Allow" and "s3:" in str(one["Action"]) and named != "alias":
                for resource in [one["Resource"]] if isinstance(one["Resource"], str) else one["Resource"]:
                    assert re.fullmatch(rf"arn:aws-us-gov:s3:::{bucket[:-1]}[{bucket[-1]}d](/.*\*)?", resource)
        assert text.isascii()
    print(named, f"{others + 2} accounts:", max(sizes.values()), *max(sizes, key=sizes.__getitem__))
    assert max(sizes.values()) <= POLICY_CHARACTERS


def test_accounts_that_no_policy_can_name_are_refused_by_name() -> None:
    with pytest.raises(InvalidRequest, match="OtherBucketAccountIds"):
        session_policy([f"{number:012d}" for number in range(200)], "CopyShard", plan_of(), "aws", "us-east-1")


def first_refused(check: Callable[[list[str]], object]) -> int:
    """With how many other accounts a policy is refused first."""
    for others in range(200):
        try:
            check([*ACCOUNTS, *(f"{number:012d}" for number in range(others))])
        except InvalidRequest:
            return others
    raise AssertionError("never refused")


def alone(function: str, plan: Plan, accounts: list[str]) -> str:
    return session_policy(accounts, function, plan, "aws", "us-east-1")


@pytest.mark.parametrize("mode", ["copy", "sync", "move", "verify", "plan"])
def test_all_rows_are_tried_at_once(mode: str) -> None:
    """No function of a run that was planned finds that its policy is too long."""
    bucket = "b" * 62
    plan = plan_of(mode, source=f"s3://{bucket}s/in/", destination=f"s3://{bucket}d/out/")
    at = {one: first_refused(partial(alone, one, plan)) for one in RIGHTS}
    together = first_refused(lambda accounts: check_sessions(accounts, plan, "aws", "us-east-1"))
    assert together <= min(at.values()) < at["DeleteShard"], at
