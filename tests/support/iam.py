"""A role of the templates with its parameters filled in, and what it allows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tests.support.actions import Need
from tests.support.iam_patterns import is_like
from tests.template.templates import Resource, abilities, documents, functions, own_policies, resources

# The parameters of nested stacks that name a role, for the statements of keys.
ROLES = {"SignerRoleArn": "SummariseTransferRole"}
NO_VALUE = {"Ref": "AWS::NoValue"}


@dataclass(frozen=True)
class Given:
    """The parameters of a deployment, and which of its conditions hold."""

    parameters: Mapping[str, str]
    conditions: Mapping[str, bool]

    def value(self, expression: Any) -> Any:
        """An expression of a template as CloudFormation evaluates it."""
        if isinstance(expression, list):
            return [self.value(one) for one in expression if self._chosen(one) != NO_VALUE]
        if not isinstance(expression, dict):
            return expression
        if len(expression) == 1:
            [(name, argument)] = expression.items()
            if name == "Ref":
                return self.parameters[argument]
            if name == "Fn::If":
                return self.value(self._chosen(expression))
            if name == "Fn::Split":
                return self.value(argument[1]).split(argument[0])
            if name == "Fn::Join":
                return argument[0].join(self.value(argument[1]))
            if name == "Fn::GetAtt":
                return self.parameters[".".join(argument)]
            if name == "Fn::Sub":
                return self._substituted(argument)
        return {key: self.value(one) for key, one in expression.items() if self._chosen(one) != NO_VALUE}

    def _chosen(self, expression: Any) -> Any:
        if isinstance(expression, dict) and list(expression) == ["Fn::If"]:
            condition, yes, no = expression["Fn::If"]
            return self._chosen(yes if self.conditions[condition] else no)
        return expression

    def _substituted(self, argument: Any) -> str:
        text, own = (argument, {}) if isinstance(argument, str) else argument
        known = {**self.parameters, **{name: self.value(one) for name, one in own.items()}}
        return re.sub(r"\$\{([\w:.]+)\}", lambda found: str(known[found[1]]), text)


@dataclass(frozen=True)
class Statement:
    """What a role's policy says, without expressions."""

    policy: str
    effect: str
    actions: tuple[str, ...]
    resources: tuple[str, ...]
    prefixes: tuple[str, ...]
    """Patterns that ``s3:prefix`` has to match; empty for no such condition."""
    equal: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Keys of the request, each with the values of which it has to be one."""
    other_accounts: tuple[str, ...] = ()
    """Of which the resource's account may be none; empty for no such condition."""
    prefixes_if_any: tuple[str, ...] = ()
    """Patterns that ``s3:prefix`` has to match where a request has one; empty for no such condition."""

    def matches(self, need: Need) -> bool:
        """Whether the statement is about a permission, on this, with these condition keys."""
        prefix = need.context.get("s3:prefix")
        return (
            any(is_like(one, need.action) for one in self.actions)
            and (not self.other_accounts or need.context.get("aws:ResourceAccount") not in (None, *self.other_accounts))
            and all(need.context.get(key) in values for key, values in self.equal)
            and any(is_like(one, need.resource, need.context) for one in self.resources)
            and (
                not self.prefixes_if_any
                or prefix is None
                or any(is_like(one, prefix, need.context) for one in self.prefixes_if_any)
            )
            and (
                not self.prefixes
                or (prefix is not None and any(is_like(one, prefix, need.context) for one in self.prefixes))
            )
        )


def statements_of(function: str, given: Given) -> list[Statement]:
    """What the role of a function says in a deployment, and what a key says of it."""
    return statements_of_role(functions()[function]["Role"]["Fn::GetAtt"][0], given)


def statements_of_role(named: str, given: Given) -> list[Statement]:
    """The same of any role."""
    role = resources()[named]
    held = [name for name, condition in abilities(role).items() if not condition or given.conditions[condition]]
    own = [("", document) for one in role["Properties"].get("Policies", []) for document in documents(one)]
    attached = [(name, document) for name in held for document in documents(resources()[name]["Properties"])]
    beside = [
        (name, document) for name, one in own_policies(named).items() for document in documents(one["Properties"])
    ]
    said = [found for name, document in own + beside + attached for found in _parsed(name, document, given)]
    return said + list(_of_keys(named, given))


def statements_in(document: Resource) -> list[Statement]:
    """What a policy says that has no expressions."""
    return list(_parsed("", document, Given({}, {})))


def _of_keys(role: str, given: Given) -> Iterator[Statement]:
    for name, key in resources().items():
        if key["Type"] == "AWS::KMS::Key":
            for statement in key["Properties"]["KeyPolicy"]["Statement"]:
                principal = statement["Principal"].get("AWS")
                if isinstance(principal, dict) and ROLES.get(principal.get("Ref", "")) == role:
                    arn = (given.parameters[f"{name}.Arn"],)
                    equal = _equal(statement.get("Condition", {}))
                    yield Statement(name, statement["Effect"], _tuple(statement["Action"]), arn, (), equal)


def _parsed(name: str, document: Resource, given: Given) -> Iterator[Statement]:
    for statement in given.value(document["Statement"]):
        condition = statement.get("Condition", {})
        prefixes = condition.get("StringLike", {}).get("s3:prefix", ())
        may_have = condition.get("StringLikeIfExists", {}).get("s3:prefix", ())
        yield Statement(
            name,
            statement["Effect"],
            _tuple(statement["Action"]),
            _tuple(statement["Resource"]),
            _tuple(prefixes),
            _equal(condition),
            _tuple(condition.get("StringNotEquals", {}).get("aws:ResourceAccount", ())),
            _tuple(may_have),
        )


def _equal(condition: Resource) -> tuple[tuple[str, tuple[str, ...]], ...]:
    return tuple((key, _tuple(values)) for key, values in condition.get("StringEquals", {}).items())


def _tuple(value: Any) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def is_allowed(need: Need, statements: list[Statement]) -> bool:
    """Whether a role allows a permission and does not deny it."""
    effects = {one.effect for one in statements if one.matches(need)}
    return effects == {"Allow"}
