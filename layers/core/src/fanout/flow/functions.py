"""Which function a run calls for each state that mounts: those functions are deployed once per mount."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from fanout.flow.steps import STEPS, Mount
from fanout.model.errors import InvalidRequest
from fanout.request.request import Request

# Each state whose function a plan chooses, and that function.
MOUNTING = {state: step.function for state, step in STEPS.items() if step.mount and not step.acts_as}


def functions_of(request: Request, mounts: tuple[str, ...], offered: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """The function of each state that mounts; ``offered`` holds for each mount its functions by their names.

    Raises ``InvalidRequest`` for a mount that the stack has no functions for.
    """
    names = [end.mount for end in (request.source, request.destination) if not end.is_keyed]
    names = names or list(mounts[:1])
    source, destination = (offered[_index(name, mounts, offered)] for name in (names[0], names[-1]))
    at_source = {"DeleteShard", "RemoveDirectories"} if request.course.deletes_proven else set()
    at_source |= {state for state in MOUNTING if STEPS[state].mount is Mount.SOURCE}
    return {state: (source if state in at_source else destination)[name] for state, name in MOUNTING.items()}


def only_mount(mounts: Collection[str]) -> str:
    """The mount of a probe, whose functions see one. Raises ``InvalidRequest`` where there is none."""
    for mount in mounts:
        return mount
    raise InvalidRequest("FANOUT_MOUNTS", "names no mount", "deploy the function with templates/probe.yaml")


def _index(name: str, mounts: tuple[str, ...], offered: Sequence[Mapping[str, str]]) -> int:
    index = mounts.index(name)
    if index >= len(offered):
        raise InvalidRequest("mount", f"the stack has no functions on {name!r}", "deploy it with this mount")
    return index
