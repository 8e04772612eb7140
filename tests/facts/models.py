"""AWS's own service models as botocore ships them: what an operation takes, and how it may fail."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from botocore import __version__
from botocore import xform_name as snake_name
from botocore.model import ServiceModel, Shape
from botocore.session import get_session

REPO = Path(__file__).parents[2]
# What a value that is not known before a run is to a check: it passes all of them.
UNKNOWN = object()
_TAGS = re.compile(r"<[^>]+>")


@cache
def model(service: str) -> ServiceModel:
    """The newest model of a service."""
    return get_session().get_service_model(service)


@cache
def operations(service: str) -> Mapping[str, str]:
    """The operations of a service, by the names that boto3 gives them."""
    return {snake_name(name): name for name in model(service).operation_names}


def input_of(service: str, operation: str) -> Any:
    """What an operation takes."""
    return model(service).operation_model(operation).input_shape


def member(service: str, operation: str, path: str) -> Shape:
    """A member of an operation's input: ``Target.Input``; ``[]`` is an item of a list."""
    shape = input_of(service, operation)
    for name in path.split("."):
        shape = shape.member if name == "[]" else shape.members[name]
    found: Shape = shape
    return found


def line(service: str, shape: Shape) -> str:
    """The line of the model that a difference names."""
    said = _TAGS.sub("", shape.documentation)[:200]
    return (
        f"botocore {__version__}, {service} {model(service).api_version}, {shape.name}: {dict(shape.metadata)} {said}"
    )


def words(text: str) -> str:
    """Documentation without its markup."""
    return " ".join(_TAGS.sub(" ", text).split())


def wrong(shape: Shape, value: Any, path: str) -> Iterator[str]:
    """What the model says against a value: names, required members, types, enums, bounds, lengths."""
    if value is UNKNOWN:
        return
    kind = _WRONG.get(shape.type_name)
    if kind is not None:
        yield from kind(shape, value, path)


def _structure(shape: Any, value: Any, path: str) -> Iterator[str]:
    if not isinstance(value, Mapping):
        yield f"{path}: {value!r} is no structure"
        return
    for name, one in value.items():
        if name is UNKNOWN:
            continue
        if name not in shape.members:
            yield f"{path}.{name}: the model of {shape.name} has {', '.join(shape.members)}"
        else:
            yield from wrong(shape.members[name], one, f"{path}.{name}")
    if UNKNOWN not in value:
        yield from (f"{path}: without {name}" for name in shape.required_members if name not in value)


def _list(shape: Any, value: Any, path: str) -> Iterator[str]:
    if not isinstance(value, list | tuple):
        yield f"{path}: {value!r} is no list"
        return
    yield from _bounds(shape, len(value), f"{path}: {len(value)} items")
    for one in value:
        yield from wrong(shape.member, one, f"{path}[]")


def _map(shape: Any, value: Any, path: str) -> Iterator[str]:
    for name, one in value.items():
        yield from wrong(shape.key, name, f"{path}{{}}")
        yield from wrong(shape.value, one, f"{path}{{}}")


def _string(shape: Any, value: Any, path: str) -> Iterator[str]:
    if not isinstance(value, str):
        yield f"{path}: {value!r} is no text"
        return
    if shape.enum and value not in shape.enum:
        yield f"{path}: {value!r} is none of {', '.join(shape.enum)} ({shape.name})"
    yield from _bounds(shape, len(value), f"{path}: {len(value)} characters")


def _number(shape: Any, value: Any, path: str) -> Iterator[str]:
    if isinstance(value, bool) or not isinstance(value, int | float):
        yield f"{path}: {value!r} is no number"
    else:
        yield from _bounds(shape, value, f"{path}: {value}")


def _boolean(shape: Any, value: Any, path: str) -> Iterator[str]:
    if not isinstance(value, bool):
        yield f"{path}: {value!r} is no boolean"


def _bounds(shape: Any, value: float, what: str) -> Iterator[str]:
    least, most = shape.metadata.get("min"), shape.metadata.get("max")
    if (least is not None and value < least) or (most is not None and value > most):
        yield f"{what}; the model of {shape.name} allows {least} to {most}"


_WRONG = {
    "structure": _structure,
    "list": _list,
    "map": _map,
    "string": _string,
    "boolean": _boolean,
    **dict.fromkeys(("integer", "long", "float", "double"), _number),
}
