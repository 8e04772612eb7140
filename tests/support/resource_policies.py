"""A policy of a bucket, a file system or a role, as IAM evaluates it for a caller.

An explicit denial wins for everybody. Raises for an element that it does not know.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.support.actions import Need
from tests.support.iam_patterns import is_like

_ELEMENTS = {"Sid", "Effect", "Principal", "Action", "NotAction", "Resource", "NotResource", "Condition"}


@dataclass(frozen=True)
class Caller:
    """Who asks: its account, its ARN as a policy names it, and the condition keys that come with it."""

    account: str
    arn: str
    context: Mapping[str, str] = field(default_factory=dict, hash=False)
    service: str = ""


def role_of(account: str, name: str, path: str = "/", role_id: str = "AROAOTHER", **tags: str) -> Caller:
    """The session of a role."""
    arn = f"arn:aws:iam::{account}:role{path}{name}"
    context = {"aws:PrincipalArn": arn, "aws:userid": f"{role_id}:session", "aws:PrincipalAccount": account}
    return Caller(account, arn, context | {f"aws:PrincipalTag/{key}": value for key, value in tags.items()})


def decision(policy: Mapping[str, Any], caller: Caller, need: Need) -> str:
    """``Deny``, ``Allow``, or nothing where the policy is not about this."""
    context = {"aws:SecureTransport": "true", **caller.context, **need.context}
    effects = {one["Effect"] for one in _about(policy, caller, need, context)}
    return "Deny" if "Deny" in effects else "Allow" if "Allow" in effects else ""


def _about(
    policy: Mapping[str, Any], caller: Caller, need: Need, context: Mapping[str, str]
) -> Iterator[Mapping[str, Any]]:
    for statement in policy["Statement"]:
        assert set(statement) <= _ELEMENTS, statement
        conditions = statement.get("Condition", {}).items()
        if (
            _does(statement, need.action.lower())
            and _is(statement["Principal"], caller)
            and _on(statement, need, context)
            and all(_holds(operator, keys, context) for operator, keys in conditions)
        ):
            yield statement


def _does(statement: Mapping[str, Any], action: str) -> bool:
    named = statement["NotAction" if "NotAction" in statement else "Action"]
    return any(is_like(one.lower(), action) for one in _list(named)) is not ("NotAction" in statement)


def _on(statement: Mapping[str, Any], need: Need, context: Mapping[str, str]) -> bool:
    """A trust policy names no resource: it is about its own role."""
    if "NotResource" in statement:
        return not any(is_like(one, need.resource, context) for one in _list(statement["NotResource"]))
    return any(is_like(one, need.resource, context) for one in _list(statement.get("Resource", "*")))


def _is(principal: Any, caller: Caller) -> bool:
    if principal == "*":
        return True
    [(kind, values)] = principal.items()
    if kind == "Service":
        return caller.service in _list(values)
    assert kind == "AWS", principal
    whole = f"arn:aws:iam::{caller.account}:root"
    return not caller.service and any(one in ("*", caller.arn, whole) for one in _list(values))


def _holds(operator: str, keys: Mapping[str, Any], context: Mapping[str, str]) -> bool:
    return all(_compared(operator, context.get(key), _list(wanted), context) for key, wanted in keys.items())


def _compared(operator: str, found: str | None, wanted: Sequence[str], context: Mapping[str, str]) -> bool:
    if operator == "Null":
        return (found is None) is (wanted == ["true"])
    base = operator.removesuffix("IfExists")
    plain = base.replace("Not", "")
    is_not = plain != base
    if found is None:  # IAM: a negated operator holds for a key that the request does not have
        return base != operator or is_not
    return any(_MATCHES[plain](one, found, context) for one in wanted) is not is_not


_MATCHES: Mapping[str, Callable[[str, str, Mapping[str, str]], bool]] = {
    "StringEquals": lambda wanted, found, _: wanted == found,
    "StringLike": is_like,
    "ArnEquals": is_like,
    "ArnLike": is_like,
    "Bool": lambda wanted, found, _: wanted.lower() == found.lower(),
}


def _list(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else list(value)
