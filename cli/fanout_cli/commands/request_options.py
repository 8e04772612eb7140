"""An option for every field of a request, made from the one definition of the fields."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from enum import Enum
from inspect import Parameter
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_origin

import typer

from fanout.model.errors import InvalidRequest, did_you_mean
from fanout.request.command_line import options
from fanout.request.course import Mode
from fanout.request.fields.checked import Field, fields_meant, fields_of
from fanout.request.fields.traits import COMMON
from fanout.request.mode_fields import modes_taking, why_not
from fanout.request.parse import Fields
from fanout_cli.command_error import CommandError

# The field that a command turns round: its option is given for what is the default of a document.
ALLOW_EMPTY = "allow_empty_source"
# Where the meaning of a field does not say what its option does.
_MEANINGS = {ALLOW_EMPTY: "go on where the source holds nothing; without it, such a run fails"}


class FieldOption(NamedTuple):
    """The option of a field."""

    field: Field

    @property
    def name(self) -> str:
        return self.field.option

    @property
    def panel(self) -> str:
        return self.field.traits.panel

    @property
    def kind(self) -> Any:
        return self.field.kind

    @property
    def variable(self) -> str | None:
        """The variable of the environment that sets a common option."""
        return f"FANOUT_{self.name.replace('-', '_').upper()}" if self.panel == COMMON else None

    @property
    def parameter(self) -> Parameter:
        """The parameter of a command that takes the option."""
        meaning = _MEANINGS.get(self.field.path, self.field.meaning)
        option = typer.Option(
            f"--{self.name}",
            help=f"{meaning}; may be repeated" if self.kind in (list, dict) else meaning,
            show_default=False,
            metavar=_metavar(self.field) or None,
            rich_help_panel=self.panel,
            envvar=self.variable,
            show_envvar=True,
        )
        is_choice = get_origin(self.kind) is Literal or (isinstance(self.kind, type) and issubclass(self.kind, Enum))
        one: Any = self.kind if is_choice else str
        hint: Any = bool if self.kind is bool else list[str] | None if self.kind in (list, dict) else one | None
        return Parameter(
            self.name.replace("-", "_"),
            Parameter.KEYWORD_ONLY,
            default=False if self.kind is bool else None,
            annotation=Annotated[hint, option],
        )

    def value(self, given: Any) -> Any:
        """The value of the field. Raises ``InvalidRequest`` that names the option."""
        if self.kind is dict:
            return dict(self._pair(text) for text in given)
        if isinstance(given, Enum):
            return given.value
        return _number(given) if self.kind in (int, float) else given

    def _pair(self, text: str) -> tuple[str, Any]:
        name, separator, value = text.partition("=")
        if not separator:
            raise InvalidRequest(f"--{self.name}", f"{text[:80]!r} is not NAME=VALUE", "")
        return name, _number(value) if self.field.path == "prices" else value


def field_options(mode: Mode) -> Iterator[FieldOption]:
    """The options of the fields that a mode takes, in the order of the help."""
    return (FieldOption(field) for path, field in options().items() if not why_not(mode, path))


def why_no_option(mode: Mode, name: str) -> str:
    """Why the command of a mode does not have the option of a field; empty where no field has that option."""
    path = next((path for path, field in options().items() if f"--{field.option}" == name), "")
    if not path or not (why := why_not(mode, path)):
        return ""
    others = ", ".join(f"fanout {one.value}" for one in modes_taking(path) if one is not Mode.ROLLBACK)
    return f"{name} is no option of fanout {mode.value}: {why}; it is one of {others}"


def options_meant(mode: Mode, name: str) -> str:
    """The question about an option of another tool; empty where no field does what it says."""
    fields = fields_meant(name, fields_of(Fields))
    if fields == ("mode",):
        return did_you_mean("fanout sync, which deletes what the source lacks").strip()
    taken = [options()[field].option for field in fields if not why_not(mode, field)]
    return did_you_mean(*(f"--{option}" for option in taken)).strip()


def request_of(mode: Mode, source: str, destination: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The request of a command line. Raises ``InvalidRequest``."""
    document: dict[str, Any] = {"source": source, "destination": destination, "mode": mode.value}
    for option in field_options(mode):
        value = given.get(option.name.replace("-", "_"))
        if option.field.path == ALLOW_EMPTY:
            document[ALLOW_EMPTY] = bool(value)
        elif value:
            outer, dot, inner = option.field.path.partition(".")
            inside = document.setdefault(outer, {}) if dot else document
            inside[inner or outer] = option.value(value)
    return document


def in_words(error: InvalidRequest, mode: Mode, given: Mapping[str, Any]) -> Exception:
    """An error of a request as one of the option that was typed."""
    path, _, number = error.field.partition(".")
    in_list = number.isdecimal()
    option = next((one for one in field_options(mode) if one.field.path == (path if in_list else error.field)), None)
    typed = given.get(option.name.replace("-", "_")) if option else None
    if option is None or not typed:
        return error
    typed = typed[int(number)] if in_list else typed
    problem, allowed = _by_options(error.problem), _by_options(error.allowed)
    if not isinstance(typed, str):
        return InvalidRequest(f"--{option.name}", problem, allowed)
    for shown in (repr(typed), typed):
        if problem.startswith(f"{shown} "):
            sentence = f"--{option.name} {problem.replace(shown, typed, 1)}"
            return CommandError(f"{sentence}; {allowed}" if allowed else sentence)
    return InvalidRequest(f"--{option.name} {typed}", problem, allowed)


def _by_options(text: str) -> str:
    """A sentence about fields, with the options that fill them."""
    named = {path: field.option for path, field in options().items() if "_" in path}
    return re.sub(r"[a-z_]+(\.[a-z_]+)?", lambda word: f"--{named[word[0]]}" if word[0] in named else word[0], text)


def _metavar(field: Field) -> str:
    """The value of an option as the help shows it; empty of a flag."""
    kind = field.kind
    if kind is bool:
        return ""
    words = get_args(kind) if get_origin(kind) is Literal else ()
    if isinstance(kind, type) and issubclass(kind, Enum):
        words = tuple(one.value for one in kind)
    if words:
        return f"[{'|'.join(words)}]"
    if kind is dict:
        return "NAME=VALUE"
    return field.traits.value or ("NUMBER" if field.has_unit or kind in (int, float) else "TEXT")


def _number(text: str) -> Any:
    """A number if it is one; text with a unit, or what is wrong, is for the request's own check."""
    try:
        return int(text) if text.isdecimal() else float(text)
    except ValueError:
        return text
