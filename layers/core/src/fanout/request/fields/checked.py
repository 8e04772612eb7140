"""A JSON document held against the definition of its fields; an error names the field, and what is allowed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, Union, get_args, get_origin

from msgspec import NODEFAULT, Meta, Struct, ValidationError, convert, structs

from fanout.facts.units import MIB
from fanout.model.document import number_problem
from fanout.model.errors import InvalidRequest, did_you_mean, meant
from fanout.request.fields.traits import Traits, said_of, traits_of
from fanout.request.fields.units import size_of

Checked = TypeVar("Checked", bound=Struct)
_AT = re.compile(r" - at `\$\.?(.*)`$")
_UNKNOWN = re.compile(r"unknown field `(.*?)`")
_MISSING = re.compile(r"missing required field `(.*?)`")
_OUTSIDE = re.compile(r"Expected `(?:int|float)` ([<>]=) ")
# Once a class: each annotation is compiled.
_FIELDS_OF = cache(structs.fields)
_KINDS = {list: "list", int: "integer", float: "number", str: "text", Mapping: "object"}
# Chosen: a bound that is no id, as those of owners are.
_MANY = 10**10


class Field(NamedTuple):
    """A field as docs and errors show it; ``path`` has a dot between an object and its field.

    ``option`` is that of the command, without its dashes. ``kind`` is its type, ``dict`` or ``list`` for one of several
    values; ``has_unit``: it takes text with a unit too.
    """

    path: str
    allowed: str
    default: str
    meaning: str
    option: str
    traits: Traits
    kind: Any
    has_unit: bool


def checked(document: Mapping[str, Any], fields: type[Checked]) -> Checked:
    """The document as ``fields``; a field that is null counts as left out.

    Raises ``InvalidRequest`` for the first field that is unknown, missing or wrong.
    """
    given = _without_nulls(document)
    _refuse_broken_values("", given)
    try:
        return convert(_with_numbers("", given, fields), fields)
    except ValidationError as error:
        raise _problem(str(error), given, fields) from error


def fields_of(fields: type[Struct]) -> Iterator[Field]:
    """Each field, those that are required first; those of an object with its name before theirs."""
    for one in sorted(_FIELDS_OF(fields), key=lambda field: not field.required):
        kind, meta = kind_of(one.type)
        traits = traits_of(one.type)
        if isinstance(kind, type) and issubclass(kind, Struct):
            for inner in fields_of(kind):
                option = f"{traits.option}-{inner.option}" if traits.option else inner.option
                yield inner._replace(path=f"{one.encode_name}.{inner.path}", option=option)
            continue
        default = "required" if one.required else _default(one.default)
        meaning = str(meta.description) if meta else ""
        option = traits.option or one.encode_name.replace("_", "-")
        kind = kind_of(kind)[0]
        plain = {Mapping: dict, list: list}.get(get_origin(kind), kind)
        has_unit = meta is not None and bool((meta.extra or {}).get("units"))
        yield Field(one.encode_name, _allowed(one.type), default, meaning, option, traits, plain, has_unit)


def kind_of(annotation: Any) -> tuple[Any, Meta | None]:
    """A type, or the first of several, without its ``Meta``, and that."""
    if get_origin(annotation) is Annotated:
        return get_args(annotation)[0], next((one for one in said_of(annotation) if isinstance(one, Meta)), None)
    if get_origin(annotation) in (Union, UnionType):
        return kind_of(get_args(annotation)[0])
    return annotation, None


def _default(value: Any) -> str:
    if value is NODEFAULT or value is None or (not value and value is not False):
        return ""
    return value if isinstance(value, str) else json.dumps(value)


def _allowed(annotation: Any) -> str:
    kind, meta = kind_of(annotation)
    if meta is not None and meta.extra_json_schema:
        return str(meta.extra_json_schema["allowed"])
    union = kind if get_origin(kind) in (Union, UnionType) else annotation
    if get_origin(union) in (Union, UnionType):
        return " or ".join(_allowed(one) for one in get_args(union) if one is not NoneType)
    words = get_args(kind) if get_origin(kind) is Literal else _words(kind)
    if words:
        return ", ".join(f"`{word}`" for word in words)
    bounds = [] if meta is None else [(meta.ge, "at least"), (meta.le, "at most"), (meta.max_length, "at most")]
    said = [f"{word} {_bound(value, meta)}" for value, word in bounds if value is not None]
    text = [] if meta is None or not (meta.extra or {}).get("units") else ['or text as "50 MiB" or "10M"']
    return ", ".join([_KINDS[get_origin(kind) or kind], *said, *text])


def _bound(value: Any, meta: Meta | None) -> Any:
    """A bound as people write it: in MiB where it is one of bytes, and a very large one in groups of digits."""
    is_size = meta is not None and (meta.extra or {}).get("units") and value >= MIB and value % MIB == 0
    if is_size:
        return f"{value // MIB} MiB"
    return f"{value:,}" if value >= _MANY else value


def _words(kind: Any) -> list[str]:
    if kind is bool:
        return ["true", "false"]
    return [str(one.value) for one in kind] if isinstance(kind, type) and issubclass(kind, Enum) else []


def _without_nulls(document: Mapping[str, Any]) -> dict[str, Any]:
    inner = {name: value for name, value in document.items() if value is not None}
    return {name: _without_nulls(value) if isinstance(value, dict) else value for name, value in inner.items()}


def _with_numbers(path: str, document: dict[str, Any], fields: type[Struct]) -> dict[str, Any]:
    """Texts with a unit as numbers, in the fields that take them."""
    found = dict(document)
    for one in _FIELDS_OF(fields):
        value, (kind, meta) = found.get(one.encode_name), kind_of(one.type)
        inner = f"{path}{one.encode_name}"
        if isinstance(value, dict) and isinstance(kind, type) and issubclass(kind, Struct):
            found[one.encode_name] = _with_numbers(f"{inner}.", value, kind)
        elif isinstance(value, str) and meta is not None and (meta.extra or {}).get("units"):
            found[one.encode_name] = _size(inner, value.removesuffix(_per(meta)), value, one.type)
    return found


def _size(path: str, text: str, given: str, annotation: Any) -> int | None:
    """The number of a text with a unit; what is none is refused with what the field allows."""
    try:
        return size_of(path, text)
    except InvalidRequest as error:
        raise InvalidRequest(path, f"{given!r:.80} is not a size", f"allowed: {_allowed(annotation)}") from error


def _per(meta: Meta) -> str:
    """The suffixes of a rate's unit."""
    return str((meta.extra or {}).get("per", ""))


def _refuse_broken_values(path: str, value: Any) -> None:
    """Raise ``InvalidRequest`` for half of a character, which UTF-8 does not have, and for a broken number."""
    if isinstance(value, dict | list):
        for name, inner in value.items() if isinstance(value, dict) else enumerate(value):
            _refuse_broken_values("", name)
            _refuse_broken_values(f"{path}.{name}" if path else str(name), inner)
    elif isinstance(value, str) and any("\ud800" <= character <= "\udfff" for character in value):
        raise InvalidRequest(path or "request", f"{value!r:.80} is not Unicode text", "allowed is text in UTF-8")
    elif isinstance(value, int | float) and (problem := number_problem(value)):
        raise InvalidRequest(path or "request", problem, "give a number, or leave it out")


def _problem(message: str, document: dict[str, Any], fields: type[Struct]) -> InvalidRequest:
    at = _AT.search(message)
    path = at[1] if at else ""
    known = list(fields_of(fields))
    if found := _UNKNOWN.search(message):
        name = f"{path}.{found[1]}" if path else found[1]
        siblings = {
            field.path[len(path) + 1 if path else 0 :].partition(".")[0]: None
            for field in known
            if not path or field.path.startswith(f"{path}.")
        }
        question = did_you_mean(*(fields_meant(found[1], known) or [meant(found[1], siblings)]))
        return InvalidRequest(name, "unknown field", f"{question}known are {', '.join(siblings)}")
    if found := _MISSING.search(message):
        name = f"{path}.{found[1]}" if path else found[1]
        meaning = next(field.meaning for field in known if field.path == name)
        return InvalidRequest(name, "is missing", meaning)
    name, given = _given(path, document, fields)
    if found := _OUTSIDE.search(message):
        return InvalidRequest(name, _outside(given, found[1], _meta_of(name, fields)), "")
    shown = json.dumps(given) if isinstance(given, bool) else repr(given)
    allowed = next((f"allowed: {field.allowed}" for field in known if name == field.path), "")
    if inner := [field.path.removeprefix(f"{name}.") for field in known if field.path.startswith(f"{name}.")]:
        allowed = f"allowed: an object of {', '.join(inner)}"
    words = allowed or message.partition(" - at")[0][0].lower() + message.partition(" - at")[0][1:]
    return InvalidRequest(name, f"{shown:.80} is not allowed", words.replace("`", ""))


def _outside(given: Any, sign: str, meta: Meta) -> str:
    """The error of a number outside its bounds, with number and bound as people write them."""
    low = sign == ">="
    bound: Any = meta.ge if low else meta.le
    shown = f"{bound:,}" if _bound(bound, meta) == bound else _bound(bound, meta)
    return f"{given} is {'less than the least' if low else 'more than the most'}, {shown}{_per(meta)}"


def _meta_of(path: str, fields: type[Struct]) -> Meta:
    """The bounds of a field, or of the values of a table."""
    name, _, rest = path.partition(".")
    annotation = next(field.type for field in _FIELDS_OF(fields) if field.encode_name == name)
    kind, meta = kind_of(annotation)
    if rest and isinstance(kind, type) and issubclass(kind, Struct):
        return _meta_of(rest, kind)
    if rest:
        meta = kind_of(get_args(kind)[1])[1]
    assert meta is not None
    return meta


def _given(path: str, document: Any, fields: type[Struct]) -> tuple[str, Any]:
    """The path with dots alone, and the value there."""
    names: list[str] = []
    for part in re.findall(r"[^.\[\]]+|\.\.\.", path):
        if part == "...":  # msgspec's word for a key of free choice
            part = _wrong_key(names[0], document, fields)
        document = document[int(part)] if isinstance(document, list) else document[part]
        names.append(part)
    return ".".join(names), document


def _wrong_key(name: str, given: Mapping[str, Any], fields: type[Struct]) -> str:
    """The first key whose value the field does not take."""
    kind = next(field.type for field in _FIELDS_OF(fields) if field.encode_name == name)
    for key, value in given.items():
        try:
            convert({key: value}, kind)
        except ValidationError:
            return key
    raise AssertionError(f"{name} is allowed")


def fields_meant(word: str, fields: Iterable[Field]) -> tuple[str, ...]:
    """The fields that a word names without their object, as their option, or as another tool; however it is joined."""
    said = word.strip("-").replace("-", "_").lower()
    return tuple(field.path for field in fields if said in _names(field))


def _names(field: Field) -> tuple[str, ...]:
    return field.path.rpartition(".")[2], field.option.replace("-", "_"), *field.traits.words
