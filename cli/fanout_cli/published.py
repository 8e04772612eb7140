"""The versions of a published tree for people, and the request that goes back to one."""

from __future__ import annotations

from typing import Any

from fanout.ledger.ledger import Ledger
from fanout.ledger.run_places import VERSIONS
from fanout.model.document import utc
from fanout.publishing.kept_versions import VERSIONS_OF, PublishedTree, VersionNote
from fanout.report.text import size, visible
from fanout_cli.command_error import CommandError
from fanout_cli.runs.work_bucket import BucketStore
from fanout_cli.stacks import Stack

_NONE_ON_STACK = "has no published version, or its list expired (WorkRetentionDays)"


def published_on(stack: Stack, destination: str) -> PublishedTree:
    """The versions of a tree that runs of a stack published; see ``published_tree``."""
    return published_tree(Ledger(BucketStore(stack.client("s3"), stack.work_bucket), VERSIONS), destination)


def published_tree(
    ledger: Ledger, destination: str, none: str = _NONE_ON_STACK, copy: str = "fanout copy"
) -> PublishedTree:
    """The versions that the last run to publish there knew; ``efs:///path`` is that path on whichever mount.

    ``ledger`` holds the notes of versions. Raises ``CommandError`` where nothing was published, or to that path on
    several mounts: ``none`` and ``copy`` are its words for that, and the command that publishes.
    """
    known = [ledger.read(VERSIONS_OF.at(key)) for key in ledger.keys("")]
    asked = destination.rstrip("/")
    found = [one for one in known if asked in (one.destination, _without_mount(one.destination))]
    if not found:
        publish = f"publish with: {copy} SOURCE DESTINATION --publish current"
        others = f"published are {', '.join(one.destination for one in known)}" if known else publish
        raise CommandError(f"{destination} {none}; {others}")
    if len(found) > 1:
        raise CommandError(f"{destination}: name the mount, {' or '.join(one.destination for one in found)}")
    return found[0]


def _without_mount(destination: str) -> str:
    return f"efs:///{destination.removeprefix('efs://').partition('/')[2]}".rstrip("/")


def request_to_go_back(tree: PublishedTree, version: str | None) -> dict[str, Any]:
    """The request of a rollback. Raises ``CommandError`` for a version that is not there, or is published now."""
    names = [note.version for note in tree.versions]
    known = f"known are {', '.join(names)}" if names else "there is none"
    if version is None:
        older = names[names.index(tree.published) + 1 :] if tree.published in names else names
        if not older:
            raise CommandError(f"{tree.destination} has no version before {tree.published}; {known}")
        version = older[0]
    if version not in names:
        raise CommandError(f"{tree.destination} has no version {version!r}; {known}")
    if version == tree.published:
        raise CommandError(f"{tree.link} names version {version} already; {known}")
    source = f"{tree.destination.rstrip('/')}/versions/{version}"
    return {"mode": "rollback", "source": source, "destination": tree.destination, "publish": {"link": tree.link}}


def versions_lines(tree: PublishedTree) -> list[str]:
    """The versions of a tree for people, a line each."""
    return [_line(note, tree.published) for note in tree.versions]


def _line(note: VersionNote, published: str) -> str:
    """A version for people, in columns that a tab divides."""
    mark = "*" if note.version == published else " "
    own = "of its own: unknown" if note.own is None else f"of its own: {note.own.entries:,}, {size(note.own.bytes)}"
    held = f"{note.held.entries:,} entries, {size(note.held.bytes)}"
    return "\t".join((f"{mark} {note.version}", utc(note.published_at), held, own, visible(note.source)))
