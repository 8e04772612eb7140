"""A request as a command line: the option of each field, its part of the help, and the line itself."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from fanout.model.document import Json
from fanout.request.course import Mode
from fanout.request.fields.checked import Field, fields_of
from fanout.request.fields.traits import PANELS
from fanout.request.mode_fields import why_not, with_mode
from fanout.request.parse import Fields

# The modes that have a command of their own.
VERBS = (Mode.COPY, Mode.SYNC, Mode.MOVE, Mode.PLAN, Mode.VERIFY)
# Of the command itself: its arguments, its name, and what `fanout retry` is for.
NOT_OPTIONS = frozenset({"source", "destination", "mode", "resume_from"})


@cache
def options() -> Mapping[str, Field]:
    """The fields that an option fills, by their paths, in the order of the help."""
    shown = [field for field in fields_of(Fields) if field.traits.panel]
    shown.sort(key=lambda field: (PANELS.index(field.traits.panel), field.traits.at))
    return {field.path: field for field in shown}


def command_of(request: Any, mode: Mode | None = None) -> str:
    """The command line of a request, with another ``mode`` if one is given; empty where no command can say it.

    Nothing of it is believed: a request that was refused may hold anything.
    """
    if not isinstance(request, dict) or not all(isinstance(request.get(end), str) for end in ("source", "destination")):
        return ""
    verb = mode or request.get("mode", Mode.COPY)
    request = request if mode is None else with_mode(request, mode)
    fields = dict(_flat({name: value for name, value in request.items() if value is not None}))
    for field in NOT_OPTIONS:
        fields.pop(field, None)
    if not isinstance(verb, str) or verb not in VERBS or not fields.keys() <= options().keys():
        return ""
    verb = Mode(verb)
    taken = [field for field in options() if field in fields and not why_not(verb, field)]
    words = [word for field in taken for word in _words(options()[field].option, fields[field])]
    return shlex.join(["fanout", verb.value, request["source"], request["destination"], *words])


def _flat(document: Json, prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in document.items():
        path = f"{prefix}{name}"
        if isinstance(value, dict) and path not in options():
            yield from _flat(value, f"{path}.")
        else:
            yield path, value


def _words(option: str, value: Any) -> Iterator[str]:
    if isinstance(value, bool):
        yield from [f"--{option}"] if value else []
        return
    values = [f"{name}={one}" for name, one in value.items()] if isinstance(value, dict) else value
    for one in values if isinstance(values, list) else [values]:
        yield from (f"--{option}={one}",) if str(one).startswith("-") else (f"--{option}", str(one))
