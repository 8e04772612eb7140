"""The stack as CloudFormation renders it in a partition: parameters, conditions and intrinsic functions filled in."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from tests.template.templates import REPO, STACK, TEMPLATE, Resource, template

ACCOUNT = "111122223333"
MISSING = object()
VARIABLE = re.compile(r"\$\{([\w:.]+)\}")
# What an ARN of a resource begins with after the partition, by the service in its type.
SERVICES = {
    "AWS::Serverless": "lambda",
    "AWS::EFS": "elasticfilesystem",
    "AWS::StepFunctions": "states",
    "AWS::Scheduler": "scheduler",
    "AWS::CloudWatch": "cloudwatch",
}


REFERRED_BY_ARN = {
    "AWS::SNS::Topic",
    "AWS::IAM::ManagedPolicy",
    "AWS::StepFunctions::StateMachine",
    "AWS::Serverless::StateMachine",
}


@dataclass(frozen=True)
class Place:
    """A region, and what its partition is called."""

    partition: str
    region: str
    suffix: str


PLACES = {
    "aws": Place("aws", "eu-west-1", "amazonaws.com"),
    "aws-us-gov": Place("aws-us-gov", "us-gov-west-1", "amazonaws.com"),
    "aws-cn": Place("aws-cn", "cn-north-1", "amazonaws.com.cn"),
    "aws-eusc": Place("aws-eusc", "eusc-de-east-1", "amazonaws.eu"),
}


@dataclass
class Stack:
    """One template with its parameters; ``resources`` and ``outputs`` hold no intrinsic function any more."""

    place: Place
    path: Path = TEMPLATE
    given: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def resources(self) -> dict[str, Resource]:
        """Those whose condition holds."""
        return {
            name: {**one, "Properties": self._value(one.get("Properties", {}))}
            for name, one in template(self.path)["Resources"].items()
            if self._holds(one.get("Condition"))
        }

    @cached_property
    def shared(self) -> Resource:
        """What SAM adds to each of its functions."""
        found: Resource = self._value(template(self.path).get("Globals", {}).get("Function", {}))
        return found

    @cached_property
    def nested(self) -> dict[str, Stack]:
        """The stacks in it."""
        return {name: self._stack(name) for name, one in self.resources.items() if one["Type"] == STACK}

    def output(self, name: str) -> Any:
        """The value of an output."""
        return self._value(template(self.path)["Outputs"][name]["Value"])

    def every(self) -> list[Stack]:
        """This one, and all that are nested in it."""
        return [self, *(inner for one in self.nested.values() for inner in one.every())]

    def _stack(self, name: str) -> Stack:
        properties = template(self.path)["Resources"][name]["Properties"]
        return Stack(self.place, REPO / properties["TemplateURL"], self._value(properties["Parameters"]))

    def _holds(self, condition: str | None) -> bool:
        return condition is None or bool(self._value(template(self.path)["Conditions"][condition]))

    def _value(self, expression: Any) -> Any:
        if isinstance(expression, list):
            return [one for one in map(self._value, expression) if one is not MISSING]
        if not isinstance(expression, dict):
            return expression
        if len(expression) == 1:
            [(function, argument)] = expression.items()
            # Condition is a function too where conditions are said; in a policy it is a key.
            if function == "Ref" or (function == "Condition" and isinstance(argument, str)):
                return self._ref(argument) if function == "Ref" else self._holds(argument)
            if function.startswith("Fn::"):
                return getattr(self, f"_{function.removeprefix('Fn::').lower()}")(argument)
        found = {key: self._value(one) for key, one in expression.items()}
        return {key: one for key, one in found.items() if one is not MISSING}

    def _ref(self, name: str) -> Any:
        pseudo = {
            "AWS::Partition": self.place.partition,
            "AWS::Region": self.place.region,
            "AWS::URLSuffix": self.place.suffix,
            "AWS::AccountId": ACCOUNT,
            "AWS::StackName": "fanout",
            "AWS::StackId": f"arn:{self.place.partition}:cloudformation:{self.place.region}:{ACCOUNT}:stack/fanout/1",
            "AWS::NoValue": MISSING,
        }
        if name in pseudo:
            return pseudo[name]
        parameter = template(self.path).get("Parameters", {}).get(name)
        if parameter is None:
            kind = template(self.path)["Resources"][name]["Type"]
            return self._arn(name) if kind in REFERRED_BY_ARN else f"the-{name.lower()}"
        found = self.given.get(name, parameter.get("Default"))
        return found.split(",") if parameter["Type"] == "CommaDelimitedList" and isinstance(found, str) else found

    def _getatt(self, argument: Any) -> Any:
        name, _, attribute = argument.partition(".") if isinstance(argument, str) else (argument[0], "", argument[1])
        if attribute.startswith("Outputs."):
            return self._stack(name).output(attribute.removeprefix("Outputs."))
        return self._arn(name) if attribute.endswith("Arn") else f"the-{name.lower()}-{attribute.lower()}"

    def _arn(self, name: str) -> str:
        kind = template(self.path)["Resources"][name]["Type"]
        service = SERVICES.get(kind.rpartition("::")[0], kind.split("::")[1].lower())
        return f"arn:{self.place.partition}:{service}:{self.place.region}:{ACCOUNT}:{name}"

    def _sub(self, argument: Any) -> str:
        text, given = (argument, {}) if isinstance(argument, str) else argument
        known = {name: self._value(one) for name, one in given.items()}

        def filled(found: re.Match[str]) -> str:
            name = found.group(1)
            if name in known:
                return str(known[name])
            # `${aws:...}` is a variable of IAM.
            if name.startswith("aws:"):
                return found.group(0)
            return str(self._getatt(name) if "." in name else self._ref(name))

        return VARIABLE.sub(filled, text)

    def _if(self, argument: Any) -> Any:
        condition, positive, negative = argument
        return self._value(positive if self._holds(condition) else negative)

    def _join(self, argument: Any) -> str:
        return str(argument[0]).join(map(str, self._value(argument[1])))

    def _split(self, argument: Any) -> list[str]:
        return str(self._value(argument[1])).split(argument[0])

    def _select(self, argument: Any) -> Any:
        return self._value(argument[1])[int(argument[0])]

    def _getazs(self, argument: Any) -> list[str]:
        return [f"{self.place.region}{letter}" for letter in "abc"]

    def _cidr(self, argument: Any) -> list[str]:
        return [f"10.0.{number}.0/24" for number in range(int(self._value(argument[1])))]

    def _equals(self, argument: Any) -> bool:
        first, second = self._value(argument)
        return bool(first == second)

    def _not(self, argument: Any) -> bool:
        return not self._value(argument)[0]

    def _and(self, argument: Any) -> bool:
        return all(self._value(argument))

    def _or(self, argument: Any) -> bool:
        return any(self._value(argument))
