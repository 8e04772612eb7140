"""An option for every field of a request, made from the one definition of the fields."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from inspect import Parameter
from typing import Annotated, Any, NamedTuple, get_origin

import typer
from msgspec import Struct, structs

from fanout.model.errors import InvalidRequest
from fanout.request.checked import Field, fields_of, kind_of
from fanout.request.parse import Fields

# Of the command itself: its arguments, its name, and what `fanout retry` is for.
_NOT_OPTIONS = frozenset({"source", "destination", "mode", "resume_from"})
# Names that people know from other tools; the others are those of the field.
_NAMES = {
    "limits.bytes_per_second": "rate",
    "delete_guard.max_count": "max-delete",
    "delete_guard.max_percent": "max-delete-percent",
    "source_bucket.requester_pays": "source-requester-pays",
    "source_bucket.expected_owner": "source-owner",
    "destination_bucket.requester_pays": "destination-requester-pays",
    "destination_bucket.expected_owner": "destination-owner",
    "attributes.from": "attributes-from",
    "attributes.set_ids": "keep-set-ids",
    "attributes.override": "override-attributes",
    "publish.link": "publish",
    "publish.keep": "keep-versions",
    "restore.tier": "restore-tier",
    "restore.days": "restore-days",
    "allow_empty_source": "refuse-empty-source",
    "prices": "price",
    "object_tags": "tag",
    "object_metadata": "metadata",
}


class FieldOption(NamedTuple):
    """An option: the field that it fills, its name, and whether it is a list, a table or a switch."""

    field: Field
    name: str
    kind: type

    @property
    def parameter(self) -> Parameter:
        """The parameter of a command that takes the option."""
        meaning = self.field.meaning
        if self.kind is dict:
            meaning = f"NAME=VALUE: {meaning}; may be repeated"
        elif self.kind is list:
            meaning = f"{meaning}; may be repeated"
        option = typer.Option(f"--{self.name}", help=meaning, show_default=False)
        hint: Any = bool if self.kind is bool else list[str] | None if self.kind in (list, dict) else str | None
        return Parameter(
            self.name.replace("-", "_"),
            Parameter.KEYWORD_ONLY,
            default=False if self.kind is bool else None,
            annotation=Annotated[hint, option],
        )

    def value(self, given: Any) -> Any:
        """The fields of the request. Raises ``InvalidRequest`` that names the option."""
        if self.kind is dict:
            return dict(self._pair(text) for text in given)
        if self.kind is bool:
            return self.field.default != "true"
        return _number(given) if self.kind in (int, float) else given

    def _pair(self, text: str) -> tuple[str, Any]:
        name, separator, value = text.partition("=")
        if not separator:
            raise InvalidRequest(f"--{self.name}", f"{text[:80]!r} is not NAME=VALUE", "")
        return name, _number(value) if self.field.path == "prices" else value


def field_options() -> Iterator[FieldOption]:
    """The options of all fields, in the order of docs/reference/request.md."""
    kinds = dict(_kinds(Fields))
    for field in fields_of(Fields):
        if field.path not in _NOT_OPTIONS:
            last = field.path.rpartition(".")[2]
            yield FieldOption(field, _NAMES.get(field.path, last.replace("_", "-")), kinds[field.path])


def request_of(mode: str, source: str, destination: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The request of a command line. Raises ``InvalidRequest``."""
    document: dict[str, Any] = {"source": source, "destination": destination, "mode": mode}
    for option in field_options():
        value = given.get(option.name.replace("-", "_"))
        if value:
            outer, dot, inner = option.field.path.partition(".")
            inside = document.setdefault(outer, {}) if dot else document
            inside[inner or outer] = option.value(value)
    return document


def _kinds(fields: type[Struct], prefix: str = "") -> Iterator[tuple[str, type]]:
    for one in structs.fields(fields):
        kind, _ = kind_of(one.type)
        if isinstance(kind, type) and issubclass(kind, Struct):
            yield from _kinds(kind, f"{prefix}{one.encode_name}.")
        else:
            origin = get_origin(kind)
            yield f"{prefix}{one.encode_name}", dict if origin is Mapping else list if origin is list else kind


def _number(text: str) -> Any:
    """A number if it is one; text with a unit, or what is wrong, is for the request's own check."""
    try:
        return int(text) if text.isdecimal() else float(text)
    except ValueError:
        return text
