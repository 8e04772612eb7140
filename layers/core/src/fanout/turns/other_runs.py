"""The runs at work at the stack's other mounts, and those before this one, fenced before anything is listed.

Where two mounts are known to show one file system, their runs take turns (``turns.write_turn``). Where its id is not
known, a run whose root lies above or below another run's is found by looking.

| a staging directory of a run that goes on is     | who finds it               | then              |
|--------------------------------------------------|----------------------------|-------------------|
| at the root                                      | CheckMount                 | ``DestinationBusy`` |
| above the root, within the mount                 | CheckMount, by its name    | ``DestinationBusy`` |
| below the root                                   | ListSegment, as it lists   | ``DestinationBusy`` |

Each run stages before it looks, so of two that begin at once at least one sees the other.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property

from msgspec import Struct

from fanout.ledger import keys
from fanout.ledger.kind import ObjectKind
from fanout.ledger.ledger import Ledger
from fanout.model.entry import Entry, Kind
from fanout.model.errors import DestinationBusy
from fanout.model.location import Location
from fanout.model.path_rules import STAGING_PREFIX
from fanout.ports.file_system import FileSystem
from fanout.ports.turns import Fence, Turn
from fanout.request.plan import Plan
from fanout.work.context import Context
from fanout.work.staged import made_by

_DIRECTORIES = (Kind.DIRECTORY, Kind.UNLISTABLE)
_HELD = "a place under another mount's name"


class OtherRuns(Struct, frozen=True):
    """The runs that may write to another mount of the stack, each with its mode, as CheckMount knew them."""

    modes: dict[str, str]


# The runs at work at another mount when an end was checked, which were not fenced.
other_runs_key = ObjectKind(
    "fencing/fenced-except-{field}.json", OtherRuns, by=("CheckMount",), area="fencing/*fenced*"
)


def refusal(field: str, end: Location, run_id: str, mode: str) -> DestinationBusy:
    """The error for a run that is met at an end: both mounts show one directory."""
    return DestinationBusy(str(end), run_id, mode, _HELD, field)


class StagingGuard:
    """Refuses an end that a run writes, where the listing of it meets another run's staging directory."""

    def __init__(self, field: str, end: Location, ledger: Ledger) -> None:
        self._field, self._end, self._ledger = field, end, ledger

    @cached_property
    def _modes(self) -> dict[str, str]:
        found = self._ledger.whole_run().find(other_runs_key(self._field))
        return {} if found is None else found.modes

    def see(self, entry: Entry) -> None:
        """Raise ``DestinationBusy`` for the staging directory of a run that goes on."""
        if entry.kind not in _DIRECTORIES or STAGING_PREFIX not in entry.path:
            return
        name = entry.path.removesuffix("/").rpartition("/")[2]
        run_id = name.removeprefix(STAGING_PREFIX)
        if name != run_id and run_id in self._modes:
            raise refusal(self._field, self._end, run_id, self._modes[run_id])


def met_in(field: str, plan: Plan, ledger: Ledger) -> StagingGuard | None:
    """Return the check of an end as it is listed; ``None`` for one that the run does not write, or a bucket."""
    request = plan.request
    end = request.source if field == "source" else request.destination
    return StagingGuard(field, end, ledger) if end in request.written_ends and not end.is_keyed else None


def fence_others(plan: Plan, end: Location, turn: Turn, context: Context) -> None:
    """Fence the runs that the turn at an end names, those that the run resumes, and all that staged at its root."""
    is_source = end == plan.request.source
    field = "source" if is_source else "destination"
    place = end.place if is_source else plan.staging_place
    known = [*turn.fences, *(Fence(place, run_id) for run_id in plan.resumes)]

    def concurrent() -> Collection[str]:
        return context.turns.turn(plan, end).concurrent if context.turns is not None else ()

    def may_fence(run_id: str) -> None:
        now = context.turns.turn(plan, end) if context.turns is not None else turn
        other = now.elsewhere.get(run_id)
        if other is not None:  # its staging directory is seen here: both mounts show one directory
            raise refusal(field, end, run_id, other.mode)

    files = context.source_files(plan) if is_source else context.destination_files(plan)
    if files is not None:
        _meet_no_other(field, plan, end, files, context)
    if files is None:
        return
    fenced = files.fence(known, concurrent, may_fence, lambda run_id: made_by(run_id, context.ledger))
    if fenced.left:
        context.ledger.note(f"fence-{field}", fenced.left)
    if fenced.whole:
        context.ledger.mark(keys.SOURCE_FENCED if is_source else keys.FENCED)


def _meet_no_other(field: str, plan: Plan, end: Location, files: FileSystem, context: Context) -> None:
    """Raise ``DestinationBusy`` for a run of another mount that writes above the root; note who may be met below it."""
    turn = context.turns.turn(plan, end) if context.turns is not None else Turn()
    if not turn.elsewhere:
        return
    above = files.staged_above(turn.elsewhere.keys())
    if above is not None:
        raise refusal(field, end, above, turn.elsewhere[above].mode)
    modes = {run_id: writer.mode for run_id, writer in turn.elsewhere.items()}
    context.ledger.write(other_runs_key(field), OtherRuns(modes))
