"""Globs over paths, turned into one regular expression; docs/how-to/filters.md is the contract.

| in a pattern  | matches                                                           |
|---------------|-------------------------------------------------------------------|
| ``*``         | any characters within one name, none too                          |
| ``?``         | one character within one name                                     |
| ``[a-c]``     | one of these characters, ``[!a-c]`` one other; never ``/``        |
| ``**``        | as a whole name: any number of directories, none too              |
| ``\\``        | the next character as it is                                       |
| ``/`` first   | anchored at the root; so is a pattern with ``/`` between names    |
| ``/`` last    | directories alone                                                 |

A pattern without any other ``/`` matches a name at any depth. A pattern that matches a directory matches all that it
holds. The expression tries each name once, so no pattern takes exponential time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

# glob(7): classes, equivalents and collating symbols inside of brackets.
_POSIX_CLASSES = ("[:", "[=", "[.")
_END_OF_NAME = r"(?=/|\Z)"
_ANY_DIRECTORIES = "(?:[^/]*/)*?"


def compile_globs(patterns: Iterable[str]) -> re.Pattern[str]:
    """A regular expression that matches each path that one of the patterns matches.

    A directory's path ends in ``/``. Raises ``ValueError``.
    """
    return any_of(map(expression_of, patterns))


def any_of(expressions: Iterable[str]) -> re.Pattern[str]:
    """One expression that matches what any of the ``expressions`` of globs does."""
    return re.compile("|".join(f"(?:{expression})" for expression in expressions), re.DOTALL)


def expression_of(pattern: str) -> str:
    """The text of a glob's regular expression; ``any_of`` compiles it. Raises ``ValueError``."""
    if "\0" in pattern:
        raise ValueError("holds NUL")
    ending = "/" if pattern.endswith("/") else ""
    body = pattern.removesuffix("/")
    names = body.removeprefix("/").split("/")
    if "" in names:
        raise ValueError("is empty or holds an empty name")
    if "." in names or ".." in names:
        raise ValueError("holds the name . or ..")
    if "/" not in body:
        names = ["**", *names]
    if ending and names[-1] == "**":
        names.append("*")
    return _sections(names, ending)


def _sections(names: list[str], ending: str) -> str:
    """The names between ``**``, each run of them found at its first place: what follows has the most room there."""
    sections: list[list[str]] = [[]]
    for name in names:
        if name != "**":
            sections[-1].append(_name(name))
        elif sections[-1] or len(sections) == 1:
            sections.append([])
    first, *others = ("/".join(section) for section in sections)
    if not others:
        return first + ending
    text = f"{first}/" if first else ""
    for section in others[:-1]:
        text += f"(?>{_ANY_DIRECTORIES}{section}/)"
    return text + (f"(?>{_ANY_DIRECTORIES}{others[-1]}{ending})" if others[-1] else ".")


def _name(name: str) -> str:
    """A name, never empty. Text between two ``*`` is matched at its first place."""
    chunks, position = [""], 0
    while position < len(name):
        char = name[position]
        if char == "*":
            if name.startswith("**", position):
                raise ValueError("holds ** next to other characters; it matches whole directories, as in **/name")
            chunks.append("")
            position += 1
        elif char == "[":
            text, position = _class(name, position + 1)
            chunks[-1] += text
        elif char == "?":
            chunks[-1] += "[^/]"
            position += 1
        else:
            literal, position = _literal(name, position)
            chunks[-1] += re.escape(literal)
    text = "(?=[^/])" + chunks[0] + "".join(f"(?>[^/]*?{chunk})" for chunk in chunks[1:-1])
    return text + (f"[^/]*{chunks[-1]}" if len(chunks) > 1 else "") + _END_OF_NAME


def _literal(name: str, position: int) -> tuple[str, int]:
    """The character at the position, or the one after a backslash; and the position after it."""
    if name[position] != "\\":
        return name[position], position + 1
    if position + 1 == len(name):
        raise ValueError(r"has a \ with nothing after it")
    return name[position + 1], position + 2


def _class(name: str, position: int) -> tuple[str, int]:
    """A class whose ``[`` comes before the position, and the position after its ``]``."""
    negated = name.startswith(("!", "^"), position)
    position += negated
    items, start = "", position
    while position < len(name) and (name[position] != "]" or position == start):
        if name.startswith(_POSIX_CLASSES, position):
            raise ValueError("has a class by name, such as [:digit:]; write its characters, as in [0-9]")
        low, position = _literal(name, position)
        high = low
        if name.startswith("-", position) and not name.startswith("-]", position) and position + 1 < len(name):
            high, position = _literal(name, position + 1)
        if low > high:
            raise ValueError(f"has the range {low}-{high}, which is backwards")
        items += f"{re.escape(low)}-{re.escape(high)}"
    if position >= len(name):
        raise ValueError("has a [ without ]; a class cannot hold /")
    return f"(?!/)[{'^' if negated else ''}{items}]", position + 1
