"""Which field of a request, or which value of one, a mode does not take, and why: for checks and the command line.

A refused field makes the request an ``InvalidRequest``. An idle one is read by nothing in that mode. A document may
hold it, because a request can be started again with another mode; the mode's command has no option for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from operator import attrgetter
from typing import Any

from msgspec import Struct

from fanout.model.errors import InvalidRequest
from fanout.request.course import Course, Mode
from fanout.request.options import OtherKind, Overwrite, Verify
from fanout.request.parts.symlinks import Symlinks

_TAKES_OUT = "leave it out"


class NotTaken(Struct, frozen=True):
    """A row: modes of this course do not take these fields; ``allowed`` is what to do instead, empty for idle ones."""

    of: Callable[[Course], bool]
    fields: tuple[str, ...]
    why: str
    allowed: str = ""


class NotThis(Struct, frozen=True):
    """A row: modes of this course refuse these values of a field; ``allowed`` are others."""

    of: Callable[[Course], bool]
    field: str
    values: frozenset[Any]
    why: str
    allowed: str


_deletes_proven, _deletes_extras = attrgetter("deletes_proven"), attrgetter("deletes_extras")
_compares = attrgetter("compares")


NOT_TAKEN = (
    NotTaken(_deletes_proven, ("publish",), "the next version is compared with the source", _TAKES_OUT),
    NotTaken(_deletes_proven, ("certificate",), "nobody could find the source again to check it", _TAKES_OUT),
    NotTaken(
        _deletes_proven,
        ("delete_guard.max_percent",),
        "a move is to delete all of the source that it proves",
        "leave it out, or say max_count",
    ),
    NotTaken(
        _deletes_extras,
        ("publish",),
        "a sync deletes at the destination, and a version is never changed",
        "mode copy: what the source lacks is not in the new version",
    ),
    NotTaken(
        _deletes_extras,
        ("manifest",),
        "what it does not name is not missing at the source, and a sync would delete it",
        "leave it out, or mode copy",
    ),
    NotTaken(
        _compares,
        ("publish",),
        "a verification publishes nothing",
        "leave it out, and name DESTINATION/versions/ID as the destination",
    ),
    NotTaken(lambda course: not course.deletes_proven, ("on_not_holdable",), "it deletes nothing that it copied"),
    NotTaken(_deletes_proven, ("overwrite",), "what stays at the destination would be no copy of the source's"),
    NotTaken(
        lambda course: course.copies and not course.deletes,
        ("delete_guard.max_count", "delete_guard.max_percent"),
        "it deletes nothing",
    ),
    NotTaken(
        _compares,
        (
            *("delete_guard.max_count", "delete_guard.max_percent", "storage_class", "kms_key_id", "content_type"),
            *("object_tags", "object_metadata", "object_acl"),
        ),
        "it compares, and writes and deletes nothing",
    ),
)

NOT_THIS = (
    NotThis(
        lambda course: course.copies and not course.deletes_extras,
        "other_kind",
        frozenset({OtherKind.REPLACE}),
        "what is in the way would be deleted",
        "reject; or mode sync, whose delete guard counts it",
    ),
    NotThis(
        _deletes_proven,
        "verify",
        frozenset({Verify.COPIED}),
        "it does not compare what was unchanged",
        "all, or content",
    ),
    NotThis(
        _deletes_proven,
        "overwrite",
        frozenset(Overwrite) - {Overwrite.ALWAYS},
        "what stays at the destination is no copy of the source's",
        "always",
    ),
    NotThis(
        _deletes_proven,
        "symlinks",
        frozenset({Symlinks.FOLLOW}),
        "what a symlink leads to is copied under the symlink's name, and has another name itself",
        "keep, or skip",
    ),
)


# Fields that only a request takes which compares both whole trees, and why.
OF_WHOLE_TREES = {
    "certificate": "only a comparison of both whole trees proves what it says",
    "checksums": "S3 computes them for a comparison of both whole trees alone",
}
_COMPARES_THEM = "with it, mode verify, or verify: all or content"


def no_whole_trees(field: str) -> InvalidRequest:
    """The error for a field of ``OF_WHOLE_TREES`` in a request that does not compare both whole trees."""
    return InvalidRequest(field, OF_WHOLE_TREES[field], _COMPARES_THEM)


def refused(mode: Mode) -> Iterator[NotTaken]:
    """The rows that make a request of this mode invalid."""
    return (row for row in NOT_TAKEN if row.of(mode.course) and row.allowed)


def why_not(mode: Mode, field: str) -> str:
    """Why a mode does not take a field, of which a part may be meant; empty where it does."""
    rows = (row for row in NOT_TAKEN if row.of(mode.course))
    return next((row.why for row in rows if any(field == one or field.startswith(f"{one}.") for one in row.fields)), "")


def modes_taking(field: str) -> tuple[Mode, ...]:
    return tuple(mode for mode in Mode if not why_not(mode, field))


def with_mode(document: Mapping[str, Any], mode: Mode) -> dict[str, Any]:
    """A request that another one is made of, by its document: without what the mode refuses."""
    course, found = mode.course, {**document, "mode": mode.value}
    without = [field for row in refused(mode) for field in row.fields]
    without += [one.field for one in NOT_THIS if one.of(course) and found.get(one.field) in one.values]
    if not course.compares and not (course.copies and _compares_whole_trees(found, course)):
        without += OF_WHOLE_TREES
    for path in without:
        outer, _, inner = path.partition(".")
        if not inner:
            found.pop(outer, None)
        elif isinstance(found.get(outer), dict):
            found[outer] = {name: value for name, value in found[outer].items() if name != inner}
    return found


def _compares_whole_trees(document: Mapping[str, Any], course: Course) -> bool:
    verify = document.get("verify")
    return course.deletes_proven or (isinstance(verify, str) and verify in set(Verify) and Verify(verify).whole_trees)


def check_mode_fields(request: Any) -> None:
    """Raise ``InvalidRequest`` for a field, or a value of one, that the request's mode refuses."""
    for row in refused(request.mode):
        for field in row.fields:
            if attrgetter(field)(request) not in (None, False):
                raise InvalidRequest(field, row.why, f"with mode {request.mode.value}: {row.allowed}")
    for one in NOT_THIS:
        if one.of(request.course) and getattr(request, one.field) in one.values:
            raise InvalidRequest(one.field, one.why, f"with mode {request.mode.value}: {one.allowed}")
