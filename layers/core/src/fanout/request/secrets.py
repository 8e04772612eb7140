"""The fields of a request that stay out of what a run hands to others: those whose traits say ``secret``."""

from __future__ import annotations

from collections.abc import Collection
from functools import cache
from typing import Any

from fanout.request.fields.checked import fields_of
from fanout.request.parse import Fields


@cache
def secret_fields() -> frozenset[str]:
    """Their paths, with a dot between an object and its field."""
    return frozenset(field.path for field in fields_of(Fields) if field.traits.secret)


def without_secrets(document: Any) -> Any:
    """A request's document without these fields."""
    return _without(document, "", secret_fields())


def _without(value: Any, path: str, left_out: Collection[str]) -> Any:
    if not isinstance(value, dict):
        return value
    kept = {name: one for name, one in value.items() if f"{path}{name}" not in left_out}
    return {name: _without(one, f"{path}{name}.", left_out) for name, one in kept.items()}
