"""Whether both ends hold the same bytes: what ``compare: checksum`` asks before it copies."""

from __future__ import annotations

from fanout.facts import aws
from fanout.listing.deciding.kept_attributes import MOUNT_TELLS, loses, names_of, tells_metadata
from fanout.model.checksum import NO_BYTES, crc64nvme, to_base64
from fanout.model.deadline import Deadline
from fanout.model.entry import Entry, Found, Kind, same_simple_etag
from fanout.model.errors import AccessDenied, ItemError
from fanout.ports.limiter import NO_LIMITS, Limiter
from fanout.ports.tree import ReadTree
from fanout.verifying.sums.seen import content_difference, shared
from fanout.verifying.verifier import Verifier, attributes_of, stored_sums


class SameContent:
    """Compares an entry at both ends: by a store's own checksum of the whole if there is one, else by bytes.

    An object small enough for a symlink's target is always opened, because only then it shows whether
    it is a symlink.
    """

    def __init__(
        self,
        source: ReadTree,
        destination: ReadTree,
        deadline: Deadline,
        limiter: Limiter = NO_LIMITS,
        *,
        inside_s3: bool,
    ) -> None:
        self._source, self._destination = source, destination
        self._verifier = Verifier(destination, deadline, limiter)
        self._inside_s3 = inside_s3

    def checksum(self, entry: Entry) -> str | None:
        """The checksum that both ends have, ``None`` if they differ or are not to be compared.

        Raises ``ItemError`` for what is wrong with the source, and ``TimeUp``.
        """
        if entry.kind not in (Kind.FILE, Kind.SYMLINK) or entry.is_linkable:
            return None
        found = self._destination.find_stored(entry.placed.path)
        if found is None or found.entry.kind not in (Kind.FILE, Kind.SYMLINK) or found.entry.size != entry.size:
            return None
        if self._has_lost(entry, found):
            return None
        if self._inside_s3 and same_simple_etag(entry.etag, found.entry.etag):
            return "" if found.crc64nvme is None else to_base64(found.crc64nvme)
        if entry.size <= aws.SYMLINK_TARGET_BYTES and not self._inside_s3:
            here, there = self._opened(self._source, entry), self._opened(self._destination, found.entry)
            return to_base64(here[1]) if here == there else None
        return self._told_or_read(entry, found)

    def or_copy(self, entry: Entry) -> str | None:
        """The same; ``None`` where an end cannot be read: the copy says what is wrong, if anything is."""
        try:
            return self.checksum(entry)
        except (ItemError, AccessDenied):
            return None

    def _told_or_read(self, entry: Entry, found: Found) -> str | None:
        stored = self._source.find_stored(entry.path)
        pinned = stored if stored is not None and stored.entry.etag == entry.etag else None
        here = self._verifier.look(self._source, entry, pinned).against(stored_sums(found))
        there = self._verifier.look(self._destination, found.entry, found).against(here.sums)
        return None if content_difference(here, there) else shared(here, there)[0].crc64nvme

    def _has_lost(self, entry: Entry, found: Found) -> bool:
        """Whether the object at the destination lost an attribute that its source tells; asked only where it may."""
        there = found.attributes
        if there is None:
            return False
        if not self._inside_s3 and not loses(names_of(entry.kind, there), MOUNT_TELLS, there):
            return False
        stored = self._source.find_stored(entry.path)
        if stored is None:
            return False  # what follows says that it vanished
        here = attributes_of(self._source, entry) if stored.attributes is None else stored.attributes
        if self._inside_s3:
            return not tells_metadata(here).keys() <= tells_metadata(there).keys()
        return loses(names_of(entry.kind, here), here, there)

    def _opened(self, tree: ReadTree, entry: Entry) -> tuple[bool, int]:
        source = tree.open(entry)
        try:
            data = source.read(0, entry.size)
            checksum = crc64nvme(data, NO_BYTES)
            source.confirm(checksum if len(data) == entry.size else None)
            return entry.kind is Kind.SYMLINK or source.attributes.is_symlink, checksum
        finally:
            source.close()
