"""Calls of boto3 in sources: the operation of each, and the parameters as far as the source tells them."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from botocore import xform_name as snake_name
from botocore.exceptions import UnknownServiceError
from botocore.model import OperationModel
from botocore.session import get_session

from tests.facts.models import REPO, UNKNOWN, model, operations

# Every service that a client is made of (test_calls.py).
SERVICES = (
    "cloudformation",
    "cloudwatch",
    "ec2",
    "efs",
    "iam",
    "kms",
    "lambda",
    "logs",
    "s3",
    "s3control",
    "s3files",
    "scheduler",
    "stepfunctions",
    "sts",
)
FOLDERS = ("layers/core/src", "cli", "functions", "scripts")


class Called(NamedTuple):
    """A call, where it stands, and the operations of that name."""

    place: str
    name: str
    found: tuple[tuple[str, OperationModel], ...]
    parameters: Mapping[Any, Any]


# A call, a name of an error, a comparison with a code: nothing else of a source is looked at.
Node = ast.Call | ast.Attribute | ast.Compare


@cache
def sources() -> tuple[Path, ...]:
    """Every source that may call boto3."""
    return tuple(path for folder in FOLDERS for path in sorted((REPO / folder).rglob("*.py")))


@cache
def nodes() -> tuple[tuple[str, Node], ...]:
    """What their sources hold, each with where it stands."""
    return tuple(
        (f"{place}:{node.lineno}", node)
        for place, path in [(path.relative_to(REPO), path) for path in sources()]
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, Node)
    )


def calls() -> Iterator[Called]:
    """Every call of an operation by name, or of its paginator. Our own client of S3 takes bucket and key by place."""
    for place, node in nodes():
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.args:
            continue
        name = _paginated(node.func) if node.func.attr == "paginate" else node.func.attr
        found = [(service, operations(service)[name]) for service in SERVICES if name in operations(service)]
        if found:
            known = tuple((service, model(service).operation_model(operation)) for service, operation in found)
            yield Called(place, name, known, _parameters(node))


def paginators() -> Iterator[tuple[str, str]]:
    """Every operation that a paginator is asked for."""
    for place, node in nodes():
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "get_paginator":
            name = value_of(node.args[0])
            if name is not UNKNOWN:
                yield place, name


def named_errors() -> Iterator[tuple[str, str]]:
    """Every ``client.exceptions.NAME``."""
    for place, node in nodes():
        of = node.value if isinstance(node, ast.Attribute) else None
        if isinstance(node, ast.Attribute) and isinstance(of, ast.Attribute) and of.attr == "exceptions":
            yield place, node.attr


def compared_codes() -> Iterator[tuple[str, str]]:
    """Every word that ``code_of(error)`` is compared with."""
    for place, node in nodes():
        if isinstance(node, ast.Compare) and _is_code(node.left):
            for one in ast.walk(node.comparators[0]):
                if isinstance(one, ast.Constant) and isinstance(one.value, str):
                    yield place, one.value


def _is_code(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "code_of"


def _paginated(function: ast.Attribute) -> str:
    asked = function.value
    if isinstance(asked, ast.Call) and isinstance(asked.func, ast.Attribute) and asked.func.attr == "get_paginator":
        return str(value_of(asked.args[0]))
    return ""


def _parameters(node: ast.Call) -> dict[Any, Any]:
    return {UNKNOWN if one.arg is None else one.arg: value_of(one.value) for one in node.keywords}


def value_of(node: ast.expr) -> Any:
    """What an expression is, with ``UNKNOWN`` for what only a run tells."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.List | ast.Tuple):
        return [value_of(one) for one in node.elts]
    if isinstance(node, ast.Dict):
        pairs = zip(node.keys, node.values, strict=True)
        return {UNKNOWN if key is None else value_of(key): value_of(value) for key, value in pairs}
    return UNKNOWN


@cache
def known_errors(service: str) -> set[str]:
    """The names of errors that a service's model has, by their code and by their shape."""
    shapes: Any = model(service).error_shapes
    return {name for shape in shapes for name in (shape.name, shape.error_code or shape.name)}


@cache
def paginated(service: str) -> set[str]:
    """The operations of a service that have a paginator."""
    try:
        pages: Any = get_session().get_paginator_model(service)
    except UnknownServiceError:
        return set()
    return {snake_name(name) for name in pages._paginator_config}
