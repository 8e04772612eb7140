"""The kinds of objects that the package declares, and the kind of a key that a test writes out."""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module
from pkgutil import walk_packages
from typing import Any

import fanout
from fanout.ledger.kind import ObjectKind

# The ledger of a run, and the one inside it.
_BELOW = re.compile(r"runs/[^/]+/(verification/)?")


@cache
def declared() -> list[ObjectKind[Any]]:
    """All of them: every module of the package is imported."""
    for module in walk_packages(fanout.__path__, "fanout."):
        import_module(module.name)
    return list(ObjectKind.declared)


def kind_at(key: str) -> ObjectKind[Any]:
    """A key as a ledger hands it to its store: of the kind whose text fits it best. Raises ``LookupError``."""
    name = _BELOW.sub("", key, count=1)
    fits = [kind for kind in declared() if _name(kind).fullmatch(key if kind.place else name)]
    if not fits:
        raise LookupError(key)
    return max(fits, key=lambda kind: len(re.sub(r"\{.*?\}", "", kind))).at(key)


@cache
def _name(kind: ObjectKind[Any]) -> re.Pattern[str]:
    literal, parts = re.split(r"\{[^}]*\}", kind), len(re.findall(r"\{", kind))
    return re.compile(re.escape(kind.place) + "(.+)".join(map(re.escape, literal)) if parts else re.escape(kind))
