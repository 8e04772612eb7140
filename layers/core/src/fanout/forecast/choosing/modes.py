"""Says whether a change of a file system's throughput mode would pay. Nothing here changes a mode."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from fanout.efs.model import FileSystemState, baseline, published
from fanout.forecast.choosing.choices import Choice, taken
from fanout.model.file_system import ThroughputMode

# The mode to compare with. What Provisioned costs a month is no cost of a run.
OTHER_MODE = {
    ThroughputMode.BURSTING: ThroughputMode.ELASTIC,
    ThroughputMode.PROVISIONED: ThroughputMode.ELASTIC,
    ThroughputMode.ELASTIC: ThroughputMode.BURSTING,
}


class OtherMode(Struct, frozen=True):
    """A file system's other mode and what the run would come to: ``pays`` if it ends in time for less, or at all.

    ``seconds`` and ``dollars`` are ``None`` where the run would not end in time with it.
    """

    mount: str
    mode: ThroughputMode
    pays: bool
    seconds: float | None
    dollars: float | None


def state_in(state: FileSystemState, mode: ThroughputMode) -> FileSystemState:
    """The file system in another mode; a bursting one has no credits yet, and earns them."""
    permitted = published(mode, state.standard_bytes, 0.0, state.one_zone)
    if mode is ThroughputMode.BURSTING:
        return replace(state, mode=mode, permitted_bytes_per_second=baseline(state.standard_bytes), credits_bytes=0.0)
    return replace(
        state, mode=mode, permitted_bytes_per_second=permitted, credits_bytes=None, probed_bytes_per_second=None
    )


def other_modes(
    states: Mapping[str, FileSystemState],
    left: float,
    now: Choice | None,
    front_with: Callable[[Mapping[str, FileSystemState]], list[Choice]],
) -> list[OtherMode]:
    """Each measured file system in its other mode, beside the plan that is taken ``now``, if any."""
    found = []
    for mount, state in states.items():
        mode = OTHER_MODE.get(state.mode)
        if mode is None or state.puts_a_file:
            continue
        best = taken(front_with({**states, mount: state_in(state, mode)}), left)
        pays = best is not None and (now is None or best.dollars < now.dollars * 0.99)
        seconds, dollars = (None, None) if best is None else (best.seconds, best.dollars)
        found.append(OtherMode(mount, mode, pays, seconds, dollars))
    return found
