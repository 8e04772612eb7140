"""The modes of a run, and the course of each: one row a mode, one column a question.

| mode     | work    | writes | copies | extras | deletes        | a run that resumes it takes over |
|----------|---------|--------|--------|--------|----------------|----------------------------------|
| copy     | copy    | yes    | yes    |        |                | listing, outcomes, proofs        |
| sync     | copy    | yes    | yes    | yes    | extras         | proofs                           |
| move     | copy    | yes    | yes    |        | what is proven | listing, outcomes, proofs        |
| verify   | verify  |        |        |        |                | proofs                           |
| plan     | plan    |        |        | yes    |                |                                  |
| rollback | publish | yes    |        |        |                |                                  |

Only this module knows which mode does what. Everything else asks the course of a request, or of a mode.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct


class Mode(StrEnum):
    """The mode of a run.

    Copy copies new and changed entries. Sync also deletes entries that the source lacks. Move copies, compares both
    ends, and deletes at the source what is proven equal. Verify only compares both ends by checksum. Plan only says
    what a copy and a sync would do. Rollback publishes a version again.
    """

    COPY = "copy"
    SYNC = "sync"
    MOVE = "move"
    VERIFY = "verify"
    PLAN = "plan"
    ROLLBACK = "rollback"

    @property
    def course(self) -> Course:
        """The actions of a run of this mode."""
        return COURSES[self]


class Course(Struct, frozen=True, kw_only=True):
    """The actions of a run of a mode.

    - ``work``: the phase that the run is for: copy, verify, plan or publish.
    - ``writes``: it changes an end. ``copies``: it brings entries of the source to the destination.
    - ``lists_extras``: it lists what only the destination holds, for what it deletes or would delete.
    - ``deletes_extras``: it deletes that, after the copy. ``deletes_proven``: it deletes at the source what its
      comparison found equal.
    - ``resumable``: a later run can resume it, and takes over what its comparison of both trees has proven.
    - ``carries_over``: that run also takes over its listing and its outcomes. Otherwise it lists both ends anew.
    """

    work: str
    writes: bool = False
    copies: bool = False
    lists_extras: bool = False
    deletes_extras: bool = False
    deletes_proven: bool = False
    resumable: bool = False
    carries_over: bool = False

    @property
    def compares(self) -> bool:
        """Whether the run does nothing but compare both ends."""
        return self.work == "verify"

    @property
    def plans(self) -> bool:
        """Whether the run only says what others would do."""
        return self.work == "plan"

    @property
    def goes_back(self) -> bool:
        """Whether the run publishes a version again: it lists nothing, and its source is that version."""
        return self.work == "publish"

    @property
    def deletes(self) -> bool:
        """Whether the run deletes at an end."""
        return self.deletes_extras or self.deletes_proven


COURSES: Mapping[Mode, Course] = {
    Mode.COPY: Course(work="copy", writes=True, copies=True, resumable=True, carries_over=True),
    Mode.SYNC: Course(work="copy", writes=True, copies=True, lists_extras=True, deletes_extras=True, resumable=True),
    Mode.MOVE: Course(work="copy", writes=True, copies=True, deletes_proven=True, resumable=True, carries_over=True),
    Mode.VERIFY: Course(work="verify", resumable=True),
    Mode.PLAN: Course(work="plan", lists_extras=True),
    Mode.ROLLBACK: Course(work="publish", writes=True),
}
RESUMABLE = frozenset(mode for mode, course in COURSES.items() if course.resumable)
CARRYING_OVER = frozenset(mode for mode, course in COURSES.items() if course.carries_over)
COPYING = frozenset(mode for mode, course in COURSES.items() if course.copies)
