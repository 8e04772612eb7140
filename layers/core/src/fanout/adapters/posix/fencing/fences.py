"""Other runs' right to write taken from them: their staging directories are removed.

The mark of a run at its destination, by which another mount that shows the same directory is found out.

It lies in the run's staging directory, because a move makes such a directory at its source too.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterator, Sequence

from fanout.adapters.posix.errors import DENIED, GONE, LEADS_AWAY
from fanout.adapters.posix.fencing.fencing_token import LOOK_SECONDS, PLACE
from fanout.adapters.posix.paths.directories import Directories
from fanout.adapters.posix.staging import Staging
from fanout.model.errors import AccessDenied, ItemError, Transient
from fanout.model.file_system import Staged
from fanout.model.location import nest
from fanout.model.outcome import Reason
from fanout.model.path_rules import STAGING_PREFIX, parent_of
from fanout.ports.file_system import Fenced
from fanout.ports.turns import Fence
from fanout.request.parts.publish import INSIDE_VERSIONS

_NOT_THERE = GONE | LEADS_AWAY
# What is said of a directory that has the name of a run's, and is none that its ledger notes.
_LEFT = "it was left there; look who put it there, and remove it once no run of another stack works in it"


def leave_mark(directories: Directories, staging: str) -> None:
    """Make the mark in the run's staging directory. Raises ``OSError`` or ``ItemError``."""
    with directories.hold(f"{staging}{PLACE}/", create=True):
        return


def find_mark(directories: Directories, root: str, name: str) -> str | None:
    """The directory, ``root`` or one above it, whose staging directory of that name holds the mark.

    A staging directory that cannot be entered is another function's, and counts. Raises ``Transient``.
    """
    found = (where for where in (root, *_above(root)) if _exists(directories, where, f"{name}/{PLACE}"))
    return next(found, None)


def find_staged(directories: Directories, root: str, run_ids: Collection[str]) -> str | None:
    """One of the runs that stage in a directory above ``root``, or in the versions next to it. Raises ``Transient``."""
    for where in _above(root):
        for place in (where, f"{where}{INSIDE_VERSIONS}"):
            for run_id in run_ids:
                if _exists(directories, place, f"{STAGING_PREFIX}{run_id}"):
                    return run_id
    return None


def _above(root: str) -> Iterator[str]:
    """The directories of the mount above a directory, the nearest first."""
    while root:
        root = parent_of(root)
        yield root


def _exists(directories: Directories, where: str, path: str) -> bool:
    try:
        with directories.hold(where) as here:
            return os.stat(path, dir_fd=here, follow_symlinks=False) is not None
    except PermissionError:
        return True
    except ItemError as error:
        if error.reason is Reason.LINK_IN_PATH and where.endswith(INSIDE_VERSIONS):
            return False
        raise Transient(f"looking for what a run staged in /{where}: {error.message}") from error
    except OSError as error:
        if error.errno in _NOT_THERE:
            return False
        raise Transient(f"looking for what a run staged in /{where}: {error.strerror}") from error


def fence_others(
    staging: Staging,
    root: str,
    known: Sequence[Fence],
    concurrent: Callable[[], Collection[str]],
    may_fence: Callable[[str], None],
    made_by: Callable[[str], Collection[Staged]],
) -> Fenced:
    """As ``FileSystem.fence`` of ``ports``, for the tree at ``root`` of the run that ``staging`` belongs to.

    Waits until what a function of theirs saw before is too old for it to go on.
    """
    try:
        others = staging.others()
    except OSError as error:
        raise Transient(f"looking for other runs' staging directories below /{root}: {error.strerror}") from error
    spared = concurrent() if others else ()
    strays = [Fence(root, run_id) for run_id in others if run_id not in spared]
    for stray in strays:
        if stray not in known:
            may_fence(stray.run_id)
    whole, removed, left = True, False, []
    for fence in dict.fromkeys([*known, *strays]):
        try:
            found = staging.fence(fence.place, fence.run_id, made_by(fence.run_id))
            removed |= found.removed
            left += [found.left] if found.left else []
        except OSError as error:
            whole = False
            if nest(fence.place, root):
                raise _not_fenced(fence, error) from error
    if removed:
        time.sleep(LOOK_SECONDS)
    return Fenced(whole, tuple(f"{one}: {_LEFT}" for one in left))


def _not_fenced(fence: Fence, error: OSError) -> AccessDenied | Transient:
    """Another run's function may go on writing where this one writes."""
    action = f"removing what the run {fence.run_id} staged"
    if error.errno in DENIED:
        return AccessDenied(action, f"/{fence.place}", f"remove it, or give the function write permission ({error})")
    return Transient(f"{action} below /{fence.place}: {error.strerror}")
