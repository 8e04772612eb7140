"""Recomputes the digest of a tree: a directory of this machine, or a prefix of a bucket."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import Any

from msgspec import Struct

from fanout.adapters.posix.tree import PosixTree
from fanout.adapters.s3.metadata import from_headers
from fanout.certificate.content_digest import ContentDigest
from fanout.certificate.document import CertificateDocument, CertificateInvalid
from fanout.certificate.tree_digest import TreeDigest
from fanout.facts.tuning import BLOCK_BYTES
from fanout.model.document import json_value
from fanout.model.entry import Entry, Kind
from fanout.model.errors import FanoutError, InvalidRequest, ItemError
from fanout.model.location import S3Location
from fanout.model.path_rules import STAGING_PREFIX
from fanout.model.segment import Segment
from fanout.request.fields.checked import checked
from fanout.request.filtering.filters import Filters
from fanout.request.parse import Fields, filters_of
from fanout.request.parts.symlinks import Symlinks
from fanout_cli.command_error import CommandError

_READ_AT_ONCE = 16
# Files whose digests are awaited together; bounds the memory.
_BATCH = 1_000

Hashed = tuple[Kind, Entry, str]


class TreeScope(Struct, frozen=True):
    """The part of a tree that a request is about: its filters, and what becomes of symlinks."""

    filters: Filters
    symlinks: Symlinks = Symlinks.KEEP

    def holds(self, kind: Kind) -> bool:
        """Whether entries of a kind are in the digest."""
        return kind is Kind.FILE or (kind is Kind.SYMLINK and not self.symlinks.skips)


def certified_part(document: CertificateDocument) -> TreeScope:
    """The part of a tree that a certificate is about.

    Raises ``InvalidRequest`` for one that filters by time: a copy may have another, and ``CertificateInvalid``.
    """
    try:
        request = json_value(document.request)
    except ValueError as error:
        raise CertificateInvalid(f"its request is no JSON ({error})") from error
    if not isinstance(request, dict):
        raise CertificateInvalid("its request is no JSON object")
    fields = checked(request, Fields)
    filters = filters_of(fields)
    times = (filters.modified_after_ns, filters.modified_before_ns, filters.newer_than_ns, filters.older_than_ns)
    if any(time is not None for time in times):
        problem = "the certified request filters by time, by which nobody finds the same files again"
        raise InvalidRequest("--tree", problem, "leave it out; the signature is checked without it")
    return TreeScope(filters, fields.symlinks)


def digest_of_directory(directory: Path, part: TreeScope) -> TreeDigest:
    """The digest of a directory of this machine, for instance a mounted file system. Raises ``CommandError``."""
    own = sorted(one for one in os.listdir(directory) if one.startswith(STAGING_PREFIX))
    if own:  # of which no listing of a run shows anything
        raise CommandError(
            f"{directory} holds {own[0]}, a name of this product's for what it stages, so it is no certified tree;"
            " wait until no run writes there, or remove it"
        )
    follow = part.symlinks.follows
    tree = PosixTree(directory.resolve(), "", "certificate", str(os.getpid()), "source", follow=follow)

    def hashed(entry: Entry) -> Hashed:
        source = tree.open(entry)
        try:
            content = ContentDigest(entry.size)
            for offset in range(0, entry.size, BLOCK_BYTES):
                content.update(source.read(offset, BLOCK_BYTES))
            source.confirm(None)
        finally:
            source.close()
        return entry.kind, entry, content.hexdigest()

    try:
        return _digest(tree.list(Segment(""), part.filters.prunes), part, hashed)
    finally:
        tree.close()


def digest_of_prefix(s3: Any, location: S3Location, part: TreeScope) -> TreeDigest:
    """The digest of a prefix of a bucket; every object is read. Raises ``CommandError``."""

    def entries() -> Iterator[Entry]:
        pages = s3.get_paginator("list_objects_v2").paginate(Bucket=location.bucket, Prefix=location.prefix)
        for page in pages:
            for one in page.get("Contents", []):
                path = one["Key"].removeprefix(location.prefix)
                kind = Kind.DIRECTORY if path.endswith("/") and not one["Size"] else Kind.FILE
                if path:
                    yield Entry(path, kind, one["Size"], etag=one["ETag"])

    def hashed(entry: Entry) -> Hashed:
        key = location.prefix + entry.path
        found = s3.get_object(Bucket=location.bucket, Key=key, IfMatch=entry.etag)
        content = ContentDigest(entry.size)
        for chunk in found["Body"].iter_chunks(BLOCK_BYTES):
            content.update(chunk)
        attributes = from_headers({f"x-amz-meta-{name}": value for name, value in found["Metadata"].items()})
        return Kind.SYMLINK if attributes.is_symlink else Kind.FILE, entry, content.hexdigest()

    return _digest(entries(), part, hashed)


def _digest(entries: Iterable[Entry], part: TreeScope, hashed: Callable[[Entry], Hashed]) -> TreeDigest:
    digest, taken = TreeDigest(), _listed(entries, part)

    def named(entry: Entry) -> Hashed:
        try:
            return hashed(entry)
        except (ItemError, OSError) as error:
            raise CommandError(f"{entry.path} cannot be read, so the tree has no digest: {error}") from error

    with ThreadPoolExecutor(_READ_AT_ONCE) as pool:
        try:
            while batch := list(islice(taken, _BATCH)):
                for kind, entry, sha256 in pool.map(named, batch):
                    if part.holds(kind):  # only its metadata tells that an object is a symlink
                        digest.add(kind, entry.path, entry.size, sha256)
        except FanoutError as error:
            raise CommandError(f"the tree cannot be listed, so it has no digest: {error}") from error
    return digest


def _listed(entries: Iterable[Entry], part: TreeScope) -> Iterator[Entry]:
    """The entries that are in the digest. Raises ``CommandError`` for a directory that cannot be read."""
    for entry in entries:
        if entry.kind is Kind.UNLISTABLE:
            raise CommandError(f"{entry.path} cannot be listed, so the tree has no digest; check its permissions")
        if part.holds(entry.kind) and part.filters.reason(entry) is None:
            yield entry
