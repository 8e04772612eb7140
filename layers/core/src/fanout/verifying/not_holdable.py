"""Names what a source publishes of an entry and the destination cannot hold, by ``facts.holdings``.

| an entry from S3 on a mount                           | not holdable                                        |
|-------------------------------------------------------|-----------------------------------------------------|
| Content-Type                                          | unless it is S3's default, or that of the name: a   |
|                                                       | copy back from the mount gets it again              |
| other content headers, website redirect, user metadata | where the object has them                           |
| tags                                                  | where the object has them, by ``x-amz-tagging-count`` |

| an entry of a mount in a bucket, or on a mount without hard links | not holdable                            |
|-------------------------------------------------------------------|-----------------------------------------|
| a name of a file with several                                     | that it is a name of the same file      |
"""

from __future__ import annotations

from fanout.facts.holdings import CONTENT_TYPE, DEFAULT_CONTENT_TYPES, KEPT_HEADERS, Direction
from fanout.model.entry import Attributes, Entry, Kind
from fanout.request.object_options import USER_PREFIX
from fanout.verifying.differences import Rules

# The note that counts entries that a move deletes all the same.
LET_GO = "moved without what the destination cannot hold, as the request allows"
# Chosen: characters of a value that a message shows.
_SHOWN = 60


def not_holdable(entry: Entry, source: Attributes, rules: Rules, destination: Attributes | None = None) -> str:
    """The parts of an entry that the destination cannot hold, with their values; empty for most.

    An owner differs otherwise; where the request allows it and the destination keeps none, it is named here.
    """
    found = _headers(entry, source) if rules.direction is Direction.FROM_S3 else []
    if not rules.keeps_links and entry.is_linkable:
        found.append("that it is one name of a file with several")
    if destination is not None and not rules.keeps_owners:
        owners = [f"{one.uid}:{one.gid}" for one in (source, destination)]
        found += [f"owner {owners[0]}"] if owners[0] != owners[1] and source.uid is not None else []
    return ", ".join(found)


def let_go(
    entry: Entry, source: Attributes, rules: Rules, destination: Attributes | None = None, before: str = ""
) -> tuple[tuple[str, str], ...]:
    """The note about an equal entry that a move deletes without some of its parts; empty for most.

    ``before`` is the text for parts that an earlier run found and this one has not looked at.
    """
    if not (rules.deletes and rules.allows):
        return ()
    lost = not_holdable(entry, source, rules, destination) or before
    return ((LET_GO, lost),) if lost else ()


def _headers(entry: Entry, source: Attributes) -> list[str]:
    found = []
    for name, value in sorted(source.headers.items()):
        if name == CONTENT_TYPE and _is_of_name(entry, value):
            continue
        shown = value if len(value) <= _SHOWN else f"{value[:_SHOWN]}…"
        what = KEPT_HEADERS.get(name) or f"user metadata {name.removeprefix(USER_PREFIX)}"
        found.append(f"{what} {shown!r}")
    if source.tags:
        found.append(f"{source.tags} {'tag' if source.tags == 1 else 'tags'}")
    return found


def _is_of_name(entry: Entry, content_type: str) -> bool:
    """Whether a Content-Type says nothing that the name, or S3's default, does not say again."""
    from fanout.facts.content_types import content_type_of  # a large table that few tasks need

    is_directory = entry.kind is Kind.DIRECTORY
    return is_directory or content_type in (*DEFAULT_CONTENT_TYPES, content_type_of(entry.path))
