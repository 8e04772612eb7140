"""Other runs' right to write taken from them: their staging directories are removed."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence

from fanout.adapters.posix.errors import DENIED
from fanout.adapters.posix.fencing.fencing_token import LOOK_SECONDS
from fanout.adapters.posix.staging import Staging
from fanout.model.errors import AccessDenied, Transient
from fanout.model.location import nest
from fanout.ports.turns import Fence


def fence_others(
    staging: Staging,
    root: str,
    known: Sequence[Fence],
    beside: Callable[[], Collection[str]],
    may_fence: Callable[[str], None],
) -> bool:
    """As ``FileSystem.fence`` of ``ports``, for the tree at ``root`` of the run that ``staging`` belongs to.

    Waits until what a function of theirs saw before is too old for it to go on.
    """
    try:
        others = staging.others()
    except OSError as error:
        raise Transient(f"looking for other runs' staging directories below /{root}: {error.strerror}") from error
    spared = beside() if others else ()
    strays = [Fence(root, run_id) for run_id in others if run_id not in spared]
    for stray in strays:
        if stray not in known:
            may_fence(stray.run_id)
    whole, removed = True, False
    for fence in dict.fromkeys([*known, *strays]):
        try:
            removed |= staging.fence(fence.place, fence.run_id)
        except OSError as error:
            whole = False
            if nest(fence.place, root):
                raise _not_fenced(fence, error) from error
    if removed:
        time.sleep(LOOK_SECONDS)
    return whole


def _not_fenced(fence: Fence, error: OSError) -> AccessDenied | Transient:
    """Another run's function may go on writing where this one writes."""
    action = f"removing what the run {fence.run_id} staged"
    if error.errno in DENIED:
        return AccessDenied(action, f"/{fence.place}", f"remove it, or give the function write permission ({error})")
    return Transient(f"{action} below /{fence.place}: {error.strerror}")
