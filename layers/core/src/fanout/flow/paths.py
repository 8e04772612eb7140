"""Paths, templates, ``States.Format`` and rules of a Choice, as the states language reads them in a state's data."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from fanout.model.document import Json

PATH = re.compile(r"\$\$?(?:\.\w+|\[\d+\])*")
_STEP = re.compile(r"\.(\w+)|\[(\d+)\]")
_FORMAT = re.compile(r"States\.Format\('([^']*)'((?:, *\$[^,)]*)+)\)")


class NotThere(LookupError):
    """A path leads to nothing in the data."""


def find(path: str, data: Any, context: Json) -> Any:
    """The value at a path of the data or, from ``$$`` on, of the context. Raises ``NotThere``, and ``ValueError``."""
    if called := _FORMAT.fullmatch(path):
        template, arguments = called.groups()
        return template.format(*(find(one.strip(), data, context) for one in arguments.split(",")[1:]))
    if not PATH.fullmatch(path):
        raise ValueError(f"{path!r} is a path that is not walked here")
    found: Any = context if path.startswith("$$") else data
    for name, index in _STEP.findall(path):
        try:
            found = found[name] if name else found[int(index)]
        except (LookupError, TypeError) as error:
            raise NotThere(f"{path} leads to nothing") from error
    return found


def filled(template: Any, data: Any, context: Json) -> Any:
    """A template whose fields that end in ``.$`` are found."""
    if isinstance(template, list):
        return [filled(one, data, context) for one in template]
    if not isinstance(template, Mapping):
        return template
    return {
        name.removesuffix(".$"): find(value, data, context) if name.endswith(".$") else filled(value, data, context)
        for name, value in template.items()
    }


def put(path: str | None, result: Any, data: Any) -> Any:
    """The data with a result at a path of names: all of it for ``$``, none for ``None``. The data stays as it is."""
    if path is None:
        return data
    names = [name for name, _ in _STEP.findall(path)]
    if not names:
        return result
    first, rest = names[0], "$" + "".join(f".{name}" for name in names[1:])
    return {**data, first: put(rest, result, data.get(first, {}))}


def _both(kind: type | tuple[type, ...], holds: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    return lambda found, wanted: isinstance(found, kind) and holds(found, wanted)


RULES: dict[str, Callable[[Any, Any], bool]] = {
    "StringEquals": _both(str, lambda found, wanted: found == wanted),
    "StringGreaterThan": _both(str, lambda found, wanted: found > wanted),
    "BooleanEquals": _both(bool, lambda found, wanted: found is wanted),
    "NumericGreaterThan": _both((int, float), lambda found, wanted: found > wanted),
}


def holds(rule: Json, data: Any, context: Json) -> bool:
    """Whether a rule of a Choice holds. Raises ``NotThere``, and ``KeyError`` for an operator that is not walked."""
    if "And" in rule:
        return all(holds(one, data, context) for one in rule["And"])
    path = rule["Variable"]
    if "IsPresent" in rule:
        try:
            find(path, data, context)
        except NotThere:
            return rule["IsPresent"] is False
        return rule["IsPresent"] is True
    [operator] = rule.keys() - {"Variable", "Next"}
    return RULES[operator](find(path, data, context), rule[operator])
