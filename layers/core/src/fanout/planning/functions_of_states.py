"""Maps each state to its function; mounting functions are deployed once per mount.

| state                                                | its function is on the mount of                     |
|------------------------------------------------------|-----------------------------------------------------|
| CheckOtherMount, ListSegment, PackShard, DigestShard | the source; of the destination if the source has none |
| LookAtSource, LookAtDirectories                      | the source; of the destination if the source has none |
| CheckMount, ListDestination, UnpackShard             | the destination; of the source if that has none     |
| DigestDestination                                    | the destination; of the source if that has none     |
| CopyShard, FinishTree, FinishShard, VerifyShard      | the destination; of the source if that has none     |
| DeleteShard, RemoveDirectories, RestoreObjects       | the destination; of the source if that has none     |
| DeleteShard, RemoveDirectories of a move             | the source; of the destination if the source has none |

A transfer inside S3 runs on the first mount's functions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fanout.model.errors import InvalidRequest
from fanout.request.request import Request

# The state, and the function that does its work.
ON_SOURCE = {
    "CheckOtherMount": "CheckMount",
    "ListSegment": "ListSegment",
    "PackShard": "CopyShard",
    "DigestShard": "VerifyShard",
    "LookAtSource": "DeleteShard",
    "LookAtDirectories": "RemoveDirectories",
}
ON_DESTINATION = {
    "CheckMount": "CheckMount",
    "ListDestination": "ListSegment",
    "CopyShard": "CopyShard",
    "UnpackShard": "CopyShard",
    "DigestDestination": "VerifyShard",
    "FinishTree": "FinishTree",
    "RestoreObjects": "FinishTree",
    "FinishShard": "FinishShard",
    "VerifyShard": "VerifyShard",
    "DeleteShard": "DeleteShard",
    "RemoveDirectories": "RemoveDirectories",
    "PublishVersion": "FinishTree",
}


def functions_of(request: Request, mounts: tuple[str, ...], offered: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """The function of each state that mounts; ``offered`` holds for each mount its functions by their names.

    Raises ``InvalidRequest`` for a mount that the stack has no functions for.
    """
    names = [end.mount for end in (request.source, request.destination) if not end.is_keyed]
    names = names or list(mounts[:1])
    source, destination = (offered[_index(name, mounts, offered)] for name in (names[0], names[-1]))
    found = {state: source[function] for state, function in ON_SOURCE.items()}
    found |= {state: destination[function] for state, function in ON_DESTINATION.items()}
    return found | {
        state: source[state] for state in ("DeleteShard", "RemoveDirectories") if request.course.deletes_proven
    }


def _index(name: str, mounts: tuple[str, ...], offered: Sequence[Mapping[str, str]]) -> int:
    index = mounts.index(name)
    if index >= len(offered):
        raise InvalidRequest("mount", f"the stack has no functions on {name!r}", "deploy it with this mount")
    return index
