"""The attributes that a stack allows copies on a mount, whatever objects, rows and requests say.

See docs/understand/attributes.md.

| a copy on a mount from | set-uid and set-gid of a file       | of a directory             | owner and group          |
|------------------------|-------------------------------------|----------------------------|--------------------------|
| S3                     | with ``attributes.set_ids``, unless | unless ``SetIds`` is never | those of                 |
|                        | ``SetIds`` is never, with an owner  | or its owner is left out   | ``AllowedOwners``, where |
|                        | that is not root, or root by name   |                            | that names any; else the |
|                        |                                     |                            | mount's                  |
| a mount                | unless ``SetIds`` is never          | unless ``SetIds`` is never | the source's             |

"The mount's" is a user too: the one that the mount makes files for. A copy whose owner is refused has that owner, and
not whichever it has now: somebody else may have made the directory before the run.

Whoever may write an object names its owner and its mode. A directory's set-group-id bit says whose its files are.
"""

from __future__ import annotations

import re
import stat
from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from fanout.model.entry import OWNERS, ROOT_SET_IDS, SET_IDS, STACK_SET_IDS, Attributes, MadeEntry
from fanout.model.errors import InvalidRequest
from fanout.model.location import MountLocation, S3Location

if TYPE_CHECKING:
    from fanout.request.request import Request

_BOTH = stat.S_ISUID | stat.S_ISGID
_ROOT = 0
# The reasons for which a directory has no set-id bits either.
_OF_DIRECTORIES_TOO = frozenset({STACK_SET_IDS})
_RANGE = re.compile(r"([0-9]{1,10})(?:-([0-9]{1,10}))?:([0-9]{1,10})(?:-([0-9]{1,10}))?")


# The user whom a mount makes files for; ``None`` where nobody could find out. Asked for only where an owner is refused.
OwnUser = Callable[[], int | None]


class OwnerRange(Struct, frozen=True):
    """Users and groups, from the first number to the last."""

    first_uid: int
    last_uid: int
    first_gid: int
    last_gid: int

    def hold(self, uid: int | None, gid: int | None) -> bool:
        """Whether they are among these; one that nothing tells is the mount's own, and is."""
        has_uid = uid is None or self.first_uid <= uid <= self.last_uid
        return has_uid and (gid is None or self.first_gid <= gid <= self.last_gid)


def owners_of(text: str) -> tuple[OwnerRange, ...]:
    """The owners that a text names: ``1000-60000:1000-60000,33:33``; empty for any. Raises ``InvalidRequest``."""
    found = []
    for part in text.split(",") if text else ():
        matched = _RANGE.fullmatch(part)
        if matched is None:
            raise InvalidRequest("AllowedOwners", f"{part!r} is none", "write UID:GID or FIRST-LAST:FIRST-LAST")
        first_uid, last_uid, first_gid, last_gid = (int(one) if one else None for one in matched.groups())
        assert first_uid is not None and first_gid is not None
        uids = first_uid, first_uid if last_uid is None else last_uid
        gids = first_gid, first_gid if last_gid is None else last_gid
        found.append(OwnerRange(*uids, *gids))
    return tuple(found)


class StackAllows(Struct, frozen=True):
    """The stack's parameters: ``owners`` are any where there are none."""

    owners: tuple[OwnerRange, ...] = ()
    set_ids: bool = True


class Allowed(Struct, frozen=True):
    """The attributes that copies of one run may have.

    ``left_out`` is why no file has set-id bits; empty where a file may.
    """

    owners: tuple[OwnerRange, ...] = ()
    left_out: str = ""
    spares_root: bool = False

    @property
    def are_all(self) -> bool:
        return self == Allowed()

    def of(self, known: Attributes, *, is_directory: bool, own: OwnUser) -> Attributes:
        """The attributes, less those that are not allowed, which ``unreadable`` tells.

        Copies of a refused owner belong to ``own``. Their group is what the mount gives them.
        """
        left: dict[str, str] = {}
        uid, gid, mode = known.uid, known.gid, known.mode
        if self.owners and not any(one.hold(uid, gid) for one in self.owners):
            left[OWNERS] = ":".join("-" if one is None else str(one) for one in (uid, gid))
            uid, gid = own(), None
        if mode is not None and mode & _BOTH:
            reason = self.left_out or (ROOT_SET_IDS if self._is_roots(mode, known) else "")
            if reason and (not is_directory or reason in _OF_DIRECTORIES_TOO):
                left[reason] = f"{stat.S_IMODE(mode):04o}"
            if left:  # they would act in the name of another owner
                mode &= ~_BOTH
        if not left:
            return known
        return replace(known, uid=uid, gid=gid, mode=mode, unreadable={**left, **known.unreadable})

    def keeps(self, made: MadeEntry, own: int) -> bool:
        """Whether a copy of an earlier run may be linked as it is; ``own`` is the user of what is made here."""
        left = self.of(Attributes(made.mode, made.uid, made.gid), is_directory=False, own=lambda: own).unreadable
        return not left or (set(left) == {OWNERS} and made.uid == own and not made.mode & _BOTH)

    def _is_roots(self, mode: int, known: Attributes) -> bool:
        """Whether a file would act as root, or in root's group, who is allowed by name alone."""
        roots = (mode & stat.S_ISUID and known.uid == _ROOT) or (mode & stat.S_ISGID and known.gid == _ROOT)
        return self.spares_root and bool(roots) and not self.owners


def allowed_for(request: Request, stack: StackAllows) -> Allowed:
    """The attributes that copies of a run may have; all where its destination is no mount."""
    if not isinstance(request.destination, MountLocation):
        return Allowed()
    never = "" if stack.set_ids else STACK_SET_IDS
    if not isinstance(request.source, S3Location):
        return Allowed(left_out=never)
    return Allowed(stack.owners, never or ("" if request.attributes.set_ids else SET_IDS), spares_root=True)
