"""The traits of each field of a request, behind its ``Meta``: all that is said of it besides bounds and meaning.

| class  | decides                               | a resumed run | the index of another run |
|--------|---------------------------------------|---------------|--------------------------|
| work   | how fast and at what price it works   | may differ    | may differ               |
| object | how objects are read or written       | may differ    | may differ               |
| action | what is done with what differs        | the same      | may differ               |
| trees  | what is listed and what counts as new | the same      | the same                 |

Which fields two runs of the same transfer share, ``same_transfer`` says.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from msgspec import Struct

COMMON, FILTERS, DELETING = "Common", "Filters", "Deleting"
SPEED, OBJECTS, ATTRIBUTES = "Speed and cost", "Objects in S3", "Attributes"
PUBLISHING, PROOF = "Publishing", "Proof and records"
# The parts of the help, in their order.
PANELS = (COMMON, FILTERS, DELETING, SPEED, OBJECTS, ATTRIBUTES, PUBLISHING, PROOF)


class Decides(IntEnum):
    """The classes of the table above, in its order."""

    WORK = 1
    OBJECT = 2
    ACTION = 3
    TREES = 4


class Traits(Struct, frozen=True):
    """A field on the command line, in other tools, and between runs.

    ``panel`` is its part of the help, empty where no option fills it, ``at`` its place there: by their order in the
    definition where that is equal. ``option`` is for the field's own name, and before those of the fields in it.
    ``value`` is what the help calls its value. ``words`` are options of rclone, rsync, s5cmd and aws s3 that do the
    same, with _ for -. ``decides`` is the class of a field of ``Request``. ``secret``: whoever knows the value may act
    by it, so it stays out of what a run hands to others.
    """

    panel: str = ""
    at: int = 0
    option: str = ""
    value: str = ""
    words: tuple[str, ...] = ()
    decides: Decides = Decides.TREES
    secret: bool = False


def traits_of(annotation: Any) -> Traits:
    """The traits of a type, or of the first of several; empty ones where it has none."""
    return next((one for one in said_of(annotation) if isinstance(one, Traits)), Traits())


def said_of(annotation: Any) -> Iterator[Any]:
    """The annotations of a type, or of the first of several."""
    if get_origin(annotation) in (Union, UnionType):
        yield from said_of(get_args(annotation)[0])
    elif get_origin(annotation) is Annotated:
        yield from annotation.__metadata__
