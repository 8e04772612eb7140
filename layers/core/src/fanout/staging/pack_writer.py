"""Entries of a shard being staged: small files together in packs, large ones block by block."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable

from fanout.facts import tuning
from fanout.ledger.ledger import Ledger
from fanout.model.checksum import NO_BYTES, crc64nvme
from fanout.model.entry import Attributes, Entry
from fanout.model.path_rules import parents_of
from fanout.ports.tree import OpensEntries
from fanout.staging.packs import Chunk, Packed, packed_row

PACKS, BLOCKS, INDEX = "packs", "blocks", "index"
# A note for each time that staged entries proved to be broken, so that they are not staged again without end.
BROKEN = "broken"


class PackWriter:
    """A tree to copy into that stages what it is given. An entry counts as staged when its index row is written.

    Objects have names that no other attempt uses, so the same shard may be staged twice at once.
    """

    overlaps = False
    file_system = None  # the function that sees it puts the entries there

    def __init__(
        self,
        staged: Ledger,
        shard_id: str,
        nonce: str,
        now: Callable[[], float],
        directory: Callable[[str], Attributes | None] = lambda _path: None,
    ) -> None:
        """``directory`` gives the attributes of a directory at the source: each pack notes those above its entries."""
        self._staged, self._shard_id, self._nonce, self._now = staged, shard_id, nonce, now
        self._numbers = itertools.count()
        self._directory = directory
        self._directories: dict[str, Attributes | None] = {}
        self._lock = threading.Lock()
        self._sending = threading.BoundedSemaphore(tuning.PACKS_IN_FLIGHT)
        self.staged_entries = 0
        self._begin()

    def _known(self, path: str) -> Attributes | None:
        if path not in self._directories:
            self._directories[path] = self._directory(path)
        return self._directories[path]

    def _begin(self) -> None:
        self._number = next(self._numbers)
        self._data = bytearray()
        self._rows: list[list[object]] = []
        self._above: set[str] = set()
        self._held = 0
        self._began_at = self._now()

    def create(self, entry: Entry, attributes: Attributes) -> PackTarget:
        return PackTarget(self, entry, attributes)

    def make_directory(self, entry: Entry, attributes: Attributes) -> None:
        self.add(Packed(entry.path, NO_BYTES, attributes), b"")

    def make_symlink(self, entry: Entry, target: bytes, attributes: Attributes) -> None:
        self.add(Packed(entry.path, crc64nvme(target, NO_BYTES), attributes), target)

    def small_files_from(self, source: OpensEntries) -> None:
        """See ``ports.tree.WritesEntries``; small files are staged together."""

    def block_bytes(self, entry: Entry) -> int:
        return tuning.BLOCK_BYTES

    def write_block(self, offset: int, data: bytes) -> Chunk:
        """Stage a block of a large file by itself."""
        with self._lock:
            key = self._key(BLOCKS, next(self._numbers))
        self._staged.write_bytes(key, data)
        return Chunk(offset, len(data), key, 0)

    def add(self, packed: Packed, data: bytes) -> None:
        """Take a whole entry, with its bytes if they are not staged yet; sends the pack if it is full."""
        above = {one: known for one in parents_of(packed.path) if (known := self._known(one)) is not None}
        with self._lock:
            new = [one for one in above if one not in self._above]
            self._rows += [packed_row(Packed(one, NO_BYTES, above[one], is_above=True)) for one in new]
            self._above.update(new)
            if data:
                chunk = Chunk(0, len(data), self._key(PACKS, self._number), len(self._data))
                packed = Packed(packed.path, packed.crc64nvme, packed.attributes, (chunk,))
                self._data += data
            self._rows.append(packed_row(packed))
            self._held += 1
            full = len(self._data) >= tuning.PACK_BYTES or self._held >= tuning.PACK_ENTRIES
            if not full and self._now() - self._began_at < tuning.CHECKPOINT_SECONDS:
                return
            taken = self._take()
        self._send(*taken)

    def flush(self) -> None:
        """Send what is held."""
        with self._lock:
            taken = self._take()
        self._send(*taken)

    def _take(self) -> tuple[int, bytes, list[list[object]], int]:
        """Return the held entries once few enough packs are being sent; until then no entry joins the next pack."""
        self._sending.acquire()
        taken = self._number, bytes(self._data), self._rows, self._held
        self._begin()
        return taken

    def _send(self, number: int, data: bytes, rows: list[list[object]], held: int) -> None:
        """The bytes first: the index makes them count."""
        try:
            if data:
                self._staged.write_bytes(self._key(PACKS, number), data)
            if rows:
                self._staged.write_rows(f"{self._key(INDEX, number)}.jsonl.gz", rows)
        finally:
            self._sending.release()
        with self._lock:
            self.staged_entries += held

    def _key(self, what: str, number: int) -> str:
        return f"{self._shard_id}/{what}/{self._nonce}-{number:06d}"


class PackTarget:
    """A ``ports.tree.Target`` that stages a file, without its holes and a large file's blocks of zeros."""

    keeps_holes = True
    takes_pieces = False

    def __init__(self, writer: PackWriter, entry: Entry, attributes: Attributes) -> None:
        self._writer, self._entry, self._attributes = writer, entry, attributes
        self._data = b""
        self._chunks: list[Chunk] = []

    def write(self, offset: int, data: bytes) -> None:
        """See ``ports.tree.Target``; a small file is one block."""
        if self._entry.size <= tuning.PACKED_BYTES:
            self._data = data
        elif data.strip(b"\0"):
            self._chunks.append(self._writer.write_block(offset, data))

    def send(self, crc64nvme: int) -> None:
        """See ``ports.tree.Target``; a pack is sent when it is full."""

    def commit(self, crc64nvme: int) -> None:
        """See ``ports.tree.Target``: counts when the pack is sent."""
        packed = Packed(self._entry.path, crc64nvme, self._attributes, tuple(self._chunks))
        self._writer.add(packed, self._data)

    def abort(self) -> None:
        """See ``ports.tree.Target``; blocks without an index row are removed with the shard's."""
