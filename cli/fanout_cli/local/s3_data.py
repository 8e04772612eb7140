"""Fills a bucket of the emulator from a directory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from msgspec.structs import replace

from fanout.adapters.aws.credentials import Credentials
from fanout.adapters.aws.endpoint import Endpoint
from fanout.adapters.http.transport import Transport
from fanout.adapters.posix.tree import PosixTree
from fanout.adapters.s3.client.client import S3Client
from fanout.adapters.s3.tree import S3Tree
from fanout.copying.copier import Copier
from fanout.listing.deciding.decisions import Decision, decide
from fanout.listing.trees.merge import merge
from fanout.model.deadline import NEVER
from fanout.model.entry import Entry, Kind, Place
from fanout.model.errors import InvalidRequest
from fanout.model.location import S3Location
from fanout.model.outcome import Result
from fanout.model.path_rules import reason_against_key
from fanout.model.segment import Segment
from fanout.ports.tree import Tree
from fanout.request.options import Compare

THREADS = 16
RUN_ID = "command-line"


def data_client(url: str, access_key_id: str, secret_access_key: str, *, trusted: str = "") -> S3Client:
    """A client of the S3 that holds the trees of a local run; ``trusted`` is a file of authorities."""
    credentials = Credentials(access_key_id, secret_access_key)
    return S3Client(Endpoint("us-east-1", url), lambda: credentials, transport=Transport(ca_file=trusted))


def load(client: S3Client, directory: Path, location: S3Location, *, replace: bool) -> int:
    """Upload what is new or changed in a directory; returns the number of objects that it becomes.

    A file or symlink is an object with its POSIX metadata; a directory is one only if it is empty.
    With ``replace`` the prefix holds nothing else afterwards. Raises ``InvalidRequest`` that names
    what could not be uploaded.
    """
    source = PosixTree(directory.resolve(), "", RUN_ID, str(os.getpid()))
    target = S3Tree(client, location.bucket, location.prefix)
    prefix_bytes = len(location.prefix.encode())
    wanted = (
        entry
        for entry in _without_filled_directories(source.list(Segment("")))
        if entry.kind is not Kind.SPECIAL and reason_against_key(entry.path, prefix_bytes) is None
    )
    count, changed, extra = 0, [], []
    for here, there in merge(wanted, target.list(Segment(""))):
        count += here is not None
        if here is not None and decide(here, there, Compare.SIZE_MTIME) is not Decision.UNCHANGED:
            changed.append(here)
        elif here is None and there is not None:
            extra.append(there)
    _copy(source, target, changed)
    if replace:
        for entry in extra:
            client.delete_object(location.bucket, location.prefix + entry.path)
    return count


def _copy(source: Tree, target: Tree, entries: list[Entry]) -> None:
    copier = Copier(source, target, NEVER)
    for _, outcome in copier.copy_all(enumerate(entries), THREADS):
        if outcome.result is not Result.COPIED:
            raise InvalidRequest("--s3-load", f"{outcome.path!r}: {outcome.reason} ({outcome.message})", "")
    files = target.file_system
    made = [one for one in copier.directories if not isinstance(one, Place)]
    for entry, attributes in sorted(made, key=lambda one: -one[0].path.count("/")):
        if files is not None:  # one that was there gets them too
            files.set_attributes(replace(entry, inode=files.place_of(entry).inode), attributes)


def _without_filled_directories(entries: Iterator[Entry]) -> Iterator[Entry]:
    """The entries less the directories that the entry after them lies in."""
    held: Entry | None = None
    for entry in entries:
        if held is not None and not entry.path.startswith(held.path):
            yield held
        held = entry if entry.kind is Kind.DIRECTORY else None
        if held is None:
            yield entry
    if held is not None:
        yield held
