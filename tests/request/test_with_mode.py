"""A request that is made of another one, with another mode, is never refused for a field that the other one took."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from itertools import product
from typing import Any, Literal, get_args, get_origin

import pytest

from fanout.model.errors import InvalidRequest
from fanout.request.command_line import options
from fanout.request.course import Mode
from fanout.request.fields.checked import Field
from fanout.request.mode_fields import with_mode
from fanout.request.parse import parse_request

ENDS = [
    {"source": "s3://a-bucket/in/", "destination": "s3://b-bucket/out/"},
    {"source": "s3://a-bucket/in/", "destination": "efs:///out"},
    {"source": "efs:///in", "destination": "s3://b-bucket/out/"},
    {"source": "efs:///in", "destination": "efs:///out"},
]
# What a text or a number may be, where no other of the field's is known.
WORDS = (
    *("current", "*.tmp", "5 MiB", "s3://lists/a.jsonl", "efs:///kept", "22:00-06:00 Europe/Berlin", "4h", "team", "a"),
    *("2026-01-01T00:00:00Z", "arn:aws:iam::123456789012:role/r", "alias/key", "none", "text/plain", "0644"),
    *(1, 5, 0.5, 60, "1 GiB", "123456789012"),
)
ROLE = {"role": "arn:aws:iam::123456789012:role/r"}
BESIDE: dict[str, Any] = {"publish": {"link": "current"}, "source_bucket": ROLE, "destination_bucket": ROLE}
BESIDE["attributes"] = {"mtime": "now"}
ABOVE = {"restore": {"archived": "restore"}}


def given(field: Field, value: Any) -> dict[str, Any]:
    outer, _, inner = field.path.partition(".")
    inside = {outer: {**BESIDE.get(outer, {}), inner: value}} if inner else {outer: value}
    return ABOVE.get(outer, {}) | inside


def values(field: Field) -> Iterator[Any]:
    kind = field.kind
    if kind is bool:
        yield True
    elif get_origin(kind) is Literal:
        yield from get_args(kind)
    elif isinstance(kind, type) and issubclass(kind, Enum):
        yield from (one.value for one in kind)
    elif kind is list:
        yield from ([word] for word in WORDS)
    elif kind is dict:
        yield from ({"lambda_request": 0.1}, {"a": "b"}, {"text/plain": "*"}, {"a": 1000})
    else:
        yield from WORDS


def parses(document: dict[str, Any]) -> bool:
    try:
        parse_request(document, ("data",), 100)
    except InvalidRequest:
        return False
    return True


def taken(mode: Mode, field: Field) -> list[dict[str, Any]]:
    """Requests of a mode with a value of a field, one between each pair of ends, that are not refused."""
    beside = ({}, *({"verify": one} for one in ("all",) if mode.course.copies))
    found = []
    for ends, more in product(ENDS, beside):
        made = ({**ends, **more, "mode": mode.value, **given(field, value)} for value in values(field))
        found += [one for one in made if parses(one)][-1:]
    return found


DERIVED = [
    (Mode.VERIFY, Mode.COPY),
    (Mode.COPY, Mode.PLAN),
    (Mode.SYNC, Mode.PLAN),
    (Mode.MOVE, Mode.PLAN),
    (Mode.VERIFY, Mode.PLAN),
]


@pytest.mark.parametrize("path", options())
def test_what_a_mode_takes_is_no_reason_to_refuse_a_request_made_of_it(path: str) -> None:
    field = options()[path]
    found = {first: taken(first, field) for first, _ in DERIVED}
    assert any(found.values()), f"no value here of {path} is one that any mode takes"
    for first, second in DERIVED:
        for document in found[first]:
            parse_request(with_mode(document, second), ("data",), 100)


def test_what_the_mode_takes_stays() -> None:
    document = {
        **ENDS[1],
        "mode": "verify",
        "exclude": ["*.tmp"],
        "limits": {"max_concurrency": 4},
        "certificate": True,
    }
    stays = {name: value for name, value in document.items() if name != "certificate"}
    assert with_mode(document, Mode.COPY) == {**stays, "mode": "copy"}
    assert with_mode({**document, "verify": "all"}, Mode.COPY) == {**document, "verify": "all", "mode": "copy"}
    guarded = {**ENDS[1], "delete_guard": {"max_percent": 5, "max_count": 7}, "publish": {"link": "current"}}
    assert with_mode(guarded, Mode.MOVE) == {**ENDS[1], "mode": "move", "delete_guard": {"max_count": 7}}
    assert guarded["delete_guard"] == {"max_percent": 5, "max_count": 7}
