"""Patterns of a policy as IAM matches them: wildcards, variables, and both of them escaped.

IAM/latest/UserGuide/reference_policies_variables.html: ``${*}``, ``${?}`` and ``${$}`` are the characters themselves;
any other ``${key}`` is the value that the request has for that key, and matches nothing where it has none.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

_PARTS = re.compile(r"\$\{([^}]*)\}|(\*)|(\?)|([^$*?]+|\$)", re.DOTALL)
_ESCAPED = frozenset("*?$")


def is_like(pattern: str, value: str, context: Mapping[str, str] | None = None) -> bool:
    """Whether a value matches a pattern, in a request with these condition keys."""
    if "${" not in pattern:
        return _compiled(pattern).fullmatch(value) is not None
    known = context or {}
    names = {found[1] for found in _PARTS.finditer(pattern) if found[1] is not None and found[1] not in _ESCAPED}
    if any(name not in known for name in names):
        return False
    return re.fullmatch(expression(pattern, known), value, re.DOTALL) is not None


def expression(pattern: str, context: Mapping[str, str]) -> str:
    """The regular expression of a pattern."""
    parts = []
    for variable, any_text, any_one, plain in (found.groups() for found in _PARTS.finditer(pattern)):
        if variable is not None:
            parts.append(re.escape(variable if variable in _ESCAPED else context[variable]))
        else:
            parts.append(".*" if any_text else "." if any_one else re.escape(plain))
    return "".join(parts)


@lru_cache(maxsize=10_000)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(expression(pattern, {}), re.DOTALL)
