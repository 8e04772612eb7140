"""Names the attributes in an object's metadata that a run does not read: unreadable values, and those of other tools.

| tool                  | metadata                                   |
|-----------------------|--------------------------------------------|
| s3fs                  | ``mode``, ``uid``, ``gid``, with ``mtime`` |
| rclone                | ``mtime`` alone                            |
| s3cmd                 | ``s3cmd-attrs``                            |
| mc                    | ``mc-attrs``                               |
| gsutil, gcloud rsync  | ``goog-reserved-...``                      |
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from fanout.model.entry import OWNERS, ROOT_SET_IDS, SET_IDS, STACK_SET_IDS, Attributes
from fanout.request.object_options import USER_PREFIX

UNREADABLE = "objects with attributes that cannot be read"
NOT_ALLOWED = {
    SET_IDS: "objects whose set-id bits were left out; attributes.set_ids keeps them",
    STACK_SET_IDS: "files and directories whose set-id bits were left out; the stack's SetIds allows none",
    ROOT_SET_IDS: "objects whose set-id bits of root were left out; the stack's AllowedOwners does not name root",
    OWNERS: "objects whose owner was left out; the stack's AllowedOwners does not name it",
}
# Chosen: characters of a value that a message shows.
_SHOWN = 60
_S3FS = frozenset({"mode", "uid", "gid"})
_BY_NAME = {"s3cmd-attrs": "s3cmd", "mc-attrs": "mc"}
_GOOGLE = "goog-reserved-"


def unread(attributes: Attributes) -> Mapping[str, str]:
    """The unread attributes of an object, as text, by the note that counts their entry; empty for most."""
    found: dict[str, str] = {}
    if attributes.headers:
        tools = _of(tuple(attributes.headers))
        found = {f"objects with attributes of {tool}, which are not read": text for tool, text in tools}
    if attributes.unreadable:
        values = dict(attributes.unreadable)
        for name, note in NOT_ALLOWED.items():
            if name in values:
                found[note] = f"{'owner' if name == OWNERS else 'mode'} {values.pop(name)}"
        if values:
            shown = (f"{name.removesuffix('_ns')} {text[:_SHOWN]!r}" for name, text in values.items())
            found[UNREADABLE] = ", ".join(shown)
    return found


@lru_cache(maxsize=256)
def _of(headers: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """The tools whose attributes these headers are, with the names; cached: most objects of a tree have the same."""
    names = {name.removeprefix(USER_PREFIX) for name in headers if name.startswith(USER_PREFIX)}
    found = {tool: name for name, tool in _BY_NAME.items() if name in names}
    google = sorted(name for name in names if name.startswith(_GOOGLE))
    if google:
        found["gsutil"] = ", ".join(google)
    posix = sorted(names & {*_S3FS, "mtime"})
    if posix:
        found["s3fs" if names & _S3FS else "rclone"] = ", ".join(posix)
    return tuple(sorted(found.items()))
