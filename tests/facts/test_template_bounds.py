"""What a parameter of the template allows is what the properties that it fills in take, by CloudFormation's schemas."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.template.templates import EVERY, Resource, stacks, template

REGION = "us-east-1"
# In whose words a resource of SAM's is declared.
PLAIN = {"AWS::Serverless::Function": "AWS::Lambda::Function"}


def schema_of(kind: str) -> Resource:
    from cfnlint.schema.manager import PROVIDER_SCHEMA_MANAGER

    found: Resource = PROVIDER_SCHEMA_MANAGER.get_resource_schema(REGION, PLAIN.get(kind, kind)).schema
    return found


def filled(schema: Resource, part: Resource, value: Any, path: str) -> Iterator[tuple[str, str, Resource]]:
    """Every place at which a parameter stands: its name, the path, and what the schema says of it."""
    while "$ref" in part:
        part = schema["definitions"][part["$ref"].removeprefix("#/definitions/")]
    if isinstance(value, list):
        for one in value:
            yield from filled(schema, part.get("items", {}), one, f"{path}[]")
    elif isinstance(value, dict):
        if value.keys() == {"Ref"}:
            yield value["Ref"], path, part
        elif value.keys() == {"Fn::If"}:
            for one in value["Fn::If"][1:]:
                yield from filled(schema, part, one, path)
        else:
            for name, one in value.items():
                yield from filled(schema, part.get("properties", {}).get(name, {}), one, f"{path}.{name}")


def places() -> Iterator[tuple[str, str, Resource]]:
    """Every such place of every template, by the name of the main template's parameter."""
    given = dict(stacks().values())
    for path in EVERY:
        for name, one in template(path)["Resources"].items():
            if one["Type"].startswith("AWS::Serverless::") and one["Type"] not in PLAIN:
                continue
            schema = schema_of(one["Type"])
            for parameter, where, part in filled(schema, schema, one.get("Properties", {}), f"{path.stem} {name}"):
                if path not in given:
                    yield parameter, where, part
                elif isinstance(given[path].get(parameter), dict):
                    yield given[path][parameter].get("Ref", ""), where, part


BOUNDED = [
    one for one in places() if one[0] in template()["Parameters"] and {"enum", "minimum", "maximum"} & one[2].keys()
]


def test_some_places_are_bounded() -> None:
    assert {name for name, _, _ in BOUNDED} >= {
        *("LogRetentionDays", "Architecture", "ScheduleWindowMinutes", "EventWindowSeconds", "ReservedConcurrency"),
    }


@pytest.mark.parametrize(("name", "where", "part"), BOUNDED, ids=lambda value: value if isinstance(value, str) else "")
def test_a_parameter_allows_what_its_property_takes(name: str, where: str, part: Resource) -> None:
    parameter = template()["Parameters"][name]
    words = parameter.get("AllowedValues", [parameter.get("Default")])
    said = f"{name} at {where}: { ({key: part.get(key) for key in ('enum', 'minimum', 'maximum', 'description')}) }"
    if "enum" in part:
        assert {str(word) for word in words} <= {str(one) for one in part["enum"]}, said
    if "maximum" in part:
        assert parameter.get("MaxValue", max(map(float, words))) <= part["maximum"], said
    # A parameter whose 0 stands for none is under a condition.
    if part.get("minimum", 0) > 1:
        assert parameter.get("MinValue", min(map(float, words))) >= part["minimum"], said
