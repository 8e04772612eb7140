"""A tree of the keys under a prefix of a bucket."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain

from msgspec.structs import replace

from fanout.adapters.s3.client.client import S3Client
from fanout.adapters.s3.client.listings import object_pages
from fanout.adapters.s3.client.object_page import MAY_HOLD
from fanout.adapters.s3.client.reach import reach
from fanout.adapters.s3.client.responses import to_seconds
from fanout.adapters.s3.conditions import Condition
from fanout.adapters.s3.cuts import cuts_of_keys, start_bound
from fanout.adapters.s3.deletion import delete_listed
from fanout.adapters.s3.metadata import content_type_header, from_headers, to_headers
from fanout.adapters.s3.path_columns import PathColumns, key_entry, paths_within
from fanout.adapters.s3.place import ObjectPlace
from fanout.adapters.s3.source import ObjectSource, etag_is_digest, stored_checksum
from fanout.adapters.s3.target import MultipartTarget, PutTarget, UploadBlocks
from fanout.facts import aws
from fanout.model.checksum import CRC64NVME, crc64nvme, told_by
from fanout.model.columns import Listed, in_columns, one_by_one
from fanout.model.entry import Attributes, Entry, Found
from fanout.model.errors import ItemError, NotFound, PreconditionFailed, Transient
from fanout.model.segment import Prunes, Segment, after_subtree, no_pruning
from fanout.model.shard import block_bytes_of
from fanout.ports.tree import OpensEntries
from fanout.request.filtering.pruning import Pruning
from fanout.request.options import Overwrite

_SYMLINK_MODE = stat.S_IFLNK | 0o777
_NO_HEADERS: Mapping[str, str] = {}


class S3Tree:
    """A ``Tree`` over a bucket's keys that start with ``prefix``, which is empty or ends in ``/``.

    A key that ends in ``/`` and holds no bytes is a directory; every other key is a file. The attributes of its source
    show whether a file is a symlink. ``write_headers`` go with every object that is written (storage class, encryption,
    ACL, tags, metadata); with ``guess_content_type`` a file that brings no Content-Type gets the one of its name.
    With ``tells_held`` entries that may be held tell their storage class. ``is_source``: it is the source of a run,
    from which only a move deletes.
    """

    def __init__(
        self,
        client: S3Client,
        bucket: str,
        prefix: str,
        *,
        write_headers: Mapping[str, str] = _NO_HEADERS,
        guess_content_type: bool = False,
        overwrite: Overwrite = Overwrite.ALWAYS,
        tells_held: bool = False,
        is_source: bool = False,
    ) -> None:
        self._client = client
        self._bucket = bucket
        self._prefix = prefix
        self._write_headers = write_headers
        self._guess_content_type = guess_content_type
        self._overwrite = overwrite
        self._tells_held = tells_held
        self._is_source = is_source

    def list(self, segment: Segment, prunes: Prunes = no_pruning) -> Iterator[Entry]:
        """The entries of the segment in the order of their keys; the key of the root itself is none."""
        return one_by_one(self.list_columns(segment, prunes))

    def list_columns(self, segment: Segment, prunes: Prunes = no_pruning) -> Iterator[Listed]:
        """See ``ports.tree.Tree``; at most a page's keys together."""
        if prunes is no_pruning:
            return chain.from_iterable(map(PathColumns.listed, self._pages(segment)))
        return in_columns(self._pruned(segment, Pruning(segment, prunes)), aws.LIST_PAGE_KEYS)

    def _pruned(self, segment: Segment, pruning: Pruning) -> Iterator[Entry]:
        """A listing that is inside a pruned directory at the end of a page begins again after the directory."""
        rest: Segment | None = segment
        while rest is not None:
            pages, rest = self._pages(rest), None
            for page in pages:
                for entry in one_by_one(page.listed()):
                    yield from pruning(entry)
                inside = pruning.inside(page.paths[-1]) if page.paths else ""
                if inside:
                    rest = replace(segment, after=after_subtree(inside))
                    break

    def _pages(self, segment: Segment) -> Iterator[PathColumns]:
        """Yields the part of each page that lies in the segment."""
        prefix, after = start_bound(segment.prefix), start_bound(segment.after)
        until = segment.until if os.fsencode(segment.until).isascii() else ""  # only saves requests
        pages = object_pages(
            self._client,
            self._bucket,
            self._prefix + prefix,
            start_after=self._prefix + after if after else "",
            last_key=self._prefix + until if until else "",
        )
        end = os.fsencode(segment.until)
        for page in pages:
            yield paths_within(segment, page, len(self._prefix), tells=self._tells_held)
            if end and page.keys and page.keys[-1][len(self._prefix) :].encode() > end:
                return

    def cuts(self, segment: Segment, ways: int) -> Sequence[str]:
        """By common prefixes and, where there are very many keys or prefixes, by key ranges."""
        return cuts_of_keys(self._client, self._bucket, self._prefix, segment, ways)

    def find(self, path: str) -> Entry | None:
        """Returns the object of a key; ``None`` for the root and for a directory without an object."""
        found = self.find_stored(path)
        return None if found is None else found.entry

    def find_stored(self, path: str) -> Found | None:
        """Reads the object of a key by a HEAD: with attributes, and with the checksum of the whole if S3 keeps it.

        A directory's HEAD is checked against a LIST, because no later step would detect another directory's mode.
        """
        if not path:
            return None
        key = self._prefix + path
        try:
            head = self._client.head_listed if key.endswith("/") else self._client.head_object
            found = head(self._bucket, key)
        except NotFound:
            return None
        except PreconditionFailed as error:  # replaced between the two
            raise Transient(str(error)) from error
        modified_ns = to_seconds(found.headers.get("last-modified", "")) * 1_000_000_000
        entry = key_entry(path, found.total_bytes, modified_ns, found.headers.get("etag", ""))
        storage_class = found.headers.get("x-amz-storage-class", "")
        if self._tells_held and storage_class in MAY_HOLD:
            entry = replace(entry, held=storage_class)
        others = told_by(found.headers)
        others.pop(CRC64NVME, None)
        attributes, is_digest = from_headers(found.headers), etag_is_digest(found.headers)
        return Found(entry, stored_checksum(found.headers), attributes, others, is_digest)

    def tags(self, path: str) -> dict[str, str]:
        """The tags of an object; a request and a right of their own."""
        return self._client.get_object_tagging(self._bucket, self._prefix + path)

    def open(self, entry: Entry) -> ObjectSource:
        """The object, read at the first use; each request fails unless the ETag is the listed one."""
        return ObjectSource(self._place(entry), entry, self.block_bytes(entry))

    def create(self, entry: Entry, attributes: Attributes) -> PutTarget | MultipartTarget:
        """Begins a PUT for an entry of at most one block, else a multipart upload."""
        target = PutTarget if entry.size <= self.block_bytes(entry) else MultipartTarget
        headers = self._headers(attributes)
        if self._guess_content_type and "content-type" not in headers:
            headers |= content_type_header(entry.path)
        return target(self._place(entry), entry.size, headers, Condition.of(entry, self._overwrite))

    def begin_blocks(self, entry: Entry, attributes: Attributes) -> str:
        """Begin a multipart upload; the token is its id."""
        return self._client.create_multipart_upload(self._bucket, self._prefix + entry.path, self._headers(attributes))

    def open_blocks(self, entry: Entry, token: str) -> UploadBlocks:
        """The multipart upload of a big object."""
        condition = Condition.of(entry, self._overwrite)
        return UploadBlocks(self._place(entry), entry.size, token, condition, self._write_headers)

    def make_directory(self, entry: Entry, attributes: Attributes) -> None:
        """Put an object without bytes that carries the attributes; the root has none."""
        if entry.path:
            self._put(entry, b"", attributes)

    def make_symlink(self, entry: Entry, target: bytes, attributes: Attributes) -> None:
        """Put an object whose bytes are the target and whose mode says that it is a symlink."""
        mode = _SYMLINK_MODE if not attributes.is_symlink else attributes.mode
        self._put(entry, target, replace(attributes, mode=mode))

    @property
    def delete_batch(self) -> int:
        """As many as one request of DeleteObjects takes."""
        return aws.DELETE_OBJECTS

    def delete(self, entries: Sequence[Entry]) -> dict[str, ItemError]:
        """Delete objects whose ETag is the listed one; in a versioned bucket each gets a delete marker."""
        return delete_listed(self._client, self._bucket, self._prefix, entries, at_source=self._is_source)

    def small_files_from(self, source: OpensEntries) -> None:
        """See ``ports.tree.Tree``; a file is a request."""

    @property
    def overlaps(self) -> bool:
        """See ``ports.tree.Tree``: requests are sent, and their answers received when they are needed."""
        return True

    @property
    def file_system(self) -> None:
        """See ``ports.tree.Tree``: a bucket is none. Each write carries a condition in place of a fence."""

    def block_bytes(self, entry: Entry) -> int:
        """8 MiB, or the whole MiB in which the entry fits the parts of one upload."""
        return block_bytes_of(entry.size)

    def check(self, *, writing: bool) -> None:
        """List one key; for writing also begin and abort an upload, which leaves nothing behind.

        Raises ``Unreachable`` in seconds where no S3 answers: a page that is awaited for longer is given up.
        """
        with self._client.listing_one(self._bucket, self._prefix) as listed:
            reach(self._client.endpoint_of(self._bucket), self._bucket)
            listed()
        if writing:
            key = self._prefix + ".fanout-check"
            upload_id = self._client.create_multipart_upload(self._bucket, key, self._write_headers)
            with suppress(NotFound):  # aborted by a request whose answer was lost
                self._client.abort_multipart_upload(self._bucket, key, upload_id)

    def clock_ns(self) -> tuple[int, int]:
        """See ``ports.tree.Tree``; a LIST of one key."""
        seconds_ns = self._client.time_ns(self._bucket, self._prefix)
        return seconds_ns, seconds_ns + 1_000_000_000

    def close(self) -> None:
        """See ``ports.tree.Tree``; nothing is held open."""

    def _put(self, entry: Entry, body: bytes, attributes: Attributes) -> None:
        condition = Condition.of(entry, self._overwrite)
        target = PutTarget(self._place(entry), len(body), self._headers(attributes), condition)
        target.write(0, body)
        target.commit(crc64nvme(body))

    def _place(self, entry: Entry) -> ObjectPlace:
        return ObjectPlace(self._client, self._bucket, self._prefix + entry.path)

    def _headers(self, attributes: Attributes) -> dict[str, str]:
        return {**to_headers(attributes), **self._write_headers}
