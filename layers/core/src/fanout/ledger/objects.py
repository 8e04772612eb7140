"""Objects of the work bucket below one prefix: bytes, JSON documents and JSON lines.

Every file is written whole. Its name is the attempt's own, or every attempt writes the same content. So a task may
run twice, also at the same time.

Objects expire in no order, and an object may be truncated, changed or another's. Every reader here raises
``LedgerBroken``, which names the object and the remedy, and no other error of decoding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any, TypeVar

from msgspec import MsgspecError, Struct, convert, to_builtins
from msgspec.structs import replace

from fanout.ledger.documents import AnotherVersion, document_of, document_row
from fanout.ledger.json_lines import lines_of, rows_of
from fanout.ledger.kind import ObjectKind, key_text
from fanout.ledger.seals import sealed_gzip, sealed_json, unsealed_gzip, unsealed_json
from fanout.model.errors import LedgerBroken, NotFound
from fanout.ports.store import WorkStore

T = TypeVar("T")
S = TypeVar("S", bound=Struct)
D = TypeVar("D")
# Chosen: a function reads a page for one row of it. More than 64 KiB take S3 longer than the request.
PAGE_BYTES = 64 * 1024
# Errors of a decoded value that is not what its reader expects.
_UNFIT = (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError, MsgspecError)
ANOTHERS = "was written by somebody else, and is not replaced"
START_AGAIN = "start the request again without resume_from: what is done is found unchanged"


class Seal(Struct, frozen=True):
    """Seals all below a prefix with a secret; ``is_demanded``: what is read there must bear it."""

    prefix: str
    secret: Callable[[], bytes]
    is_demanded: bool = True


class LedgerObjects:
    """The objects below a prefix, sealed where a seal says so."""

    def __init__(self, store: WorkStore, prefix: str, seal: Seal | None = None) -> None:
        self._store = store
        self.prefix = prefix
        self._seal = seal

    def write_bytes(self, key: str, data: bytes) -> None:
        self._store.put(self._at(key), data)

    def read_bytes(self, key: str) -> bytes:
        """Read bytes as they are. Raises ``NotFound``."""
        return self._store.get(self.prefix + key)

    def write_json(self, key: str, value: Any) -> None:
        self._store.put(self._at(key), sealed_json(self.prefix + key, value, self._secret(key)))

    def read_json(self, key: str) -> Any:
        """Read one JSON document. Raises ``LedgerBroken`` if it is not there or not whole."""
        data = self._get(key)
        with self.decoding(key):
            return unsealed_json(self.prefix + key, data, self._secret(key, reads=True))

    def find_json(self, key: str) -> Any | None:
        """Read one JSON document; ``None`` if it is not there. Raises ``LedgerBroken`` if it is not whole."""
        try:
            data = self._store.get(self.prefix + key)
        except NotFound:
            return None
        with self.decoding(key):
            found = unsealed_json(self.prefix + key, data, self._secret(key, reads=True))
            if found is None:  # which says that it is not there
                raise ValueError("it is null")
            return found

    def write(self, key: ObjectKind[D], document: D) -> None:
        """Write a document, with the version of its schema; a list, which a Map reads, has none."""
        self.write_json(key, _row_of(document))

    def write_new(self, key: ObjectKind[D], document: D) -> bool:
        """The same, if nothing is there; whether this call wrote it."""
        return self.write_new_bytes(key, sealed_json(self.prefix + key, _row_of(document), self._secret(key)))

    def write_once(self, key: ObjectKind[D], document: D, is_mine: Callable[[D], bool]) -> D:
        """The document that counts, of one that does not change once it is written: this, or an earlier attempt's.

        A task may run twice, also at the same time: the first one's stays, and the second one goes on with it. Raises
        ``LedgerBroken`` where another is there.
        """
        if self.write_new(key, document):
            return document
        known = self.read(key)
        if not is_mine(known):
            raise self.broken(key, ANOTHERS)
        return known

    def write_new_bytes(self, key: str, data: bytes) -> bool:
        """Write bytes as they are, if nothing is there; whether this call wrote them."""
        return self._store.put_new(self._at(key), data)

    def read(self, key: ObjectKind[D]) -> D:
        """Read a document, or a list of them.

        Raises ``LedgerBroken`` if it is missing, not whole, or of another schema version.
        """
        row = self.read_json(key)
        with self.decoding(key):
            return document_of(row, key.holds)

    def find(self, key: ObjectKind[D]) -> D | None:
        """The same; ``None`` if it is not there."""
        row = self.find_json(key)
        with self.decoding(key):
            return None if row is None else document_of(row, key.holds)

    def find_row(self, key: ObjectKind[list[D]], is_it: Callable[[Any], bool]) -> D | None:
        """The first of a list that it is; ``None`` if none is. Raises ``LedgerBroken``."""
        rows = self.read_json(key)
        with self.decoding(key):
            found = list(islice(filter(is_it, rows), 1))
            return next(iter(convert(found, key.holds)), None)

    def write_items(self, key: ObjectKind[list[D]], shards: Sequence[S], item: Callable[[S], D]) -> list[S]:
        """Write a list that a Map reads, an item for each shard; returns the shards, each with its ``page``.

        A long list is also written in pages, so that a function that is sent a shard finds the row without reading all.
        """
        pages = list(_pages(shards))
        first = 1 if len(pages) > 1 else 0  # the list itself is the only one
        pages = [[replace(one, page=number) for one in page] for number, page in enumerate(pages, first)]
        for number, page in enumerate(pages, first):
            if number:
                self.write(key.page(number), list(map(item, page)))
        paged = [one for page in pages for one in page]
        self.write(key, list(map(item, paged)))
        return paged

    def find_item(self, key: ObjectKind[list[D]], shard_id: str, page: int) -> D | None:
        """The item of a shard on a page of such a list; ``None`` if it is not there. Raises ``LedgerBroken``."""
        return self.find_row(key.page(page), lambda row: row["shard"]["id"] == shard_id)

    def _at(self, key: str) -> str:
        """The key in the store, which stays of its kind."""
        return key.at(self.prefix + key) if isinstance(key, ObjectKind) else self.prefix + key

    def _secret(self, key: str, *, reads: bool = False) -> bytes:
        """The secret that seals an object of this ledger; empty for none."""
        seal = self._seal
        if seal is None or (reads and not seal.is_demanded) or not self.prefix.startswith(seal.prefix):
            return b""
        return b"" if isinstance(key, ObjectKind) and not key.sealed else seal.secret()

    def _get(self, key: str) -> bytes:
        try:
            return self._store.get(self.prefix + key)
        except NotFound as error:
            raise self.broken(key, "is missing") from error

    def broken(self, key: str, problem: str) -> LedgerBroken:
        """The error for an object of this ledger."""
        return LedgerBroken(f"{self.prefix}{key} {problem}; {START_AGAIN}")

    @contextmanager
    def decoding(self, key: str) -> Iterator[None]:
        """Raise ``LedgerBroken`` for any error of an object's value."""
        try:
            yield
        except AnotherVersion as error:
            raise self.broken(key, f"was written by another version of the product ({error})") from error
        except _UNFIT as error:
            raise self.broken(key, f"is not whole ({type(error).__name__}: {str(error)[:200]})") from error

    def write_rows(self, key: str, rows: Iterable[Any]) -> None:
        """Write JSON lines; compressed where the key says so."""
        data = b"".join(lines_of(rows))
        if key.endswith(".gz"):
            data = sealed_gzip(self.prefix + key, data, self._secret(key))
        self._store.put(self._at(key), data)

    def read_rows(self, key: str) -> Iterator[Any]:
        """Read JSON lines. Raises ``LedgerBroken`` if the file is not there or not whole."""
        return self.read_rows_as(key, lambda row: row)

    def read_rows_as(self, key: str, make: Callable[[Any], T], count: int | None = None) -> Iterator[T]:
        """Read JSON lines, converted. Raises ``LedgerBroken``, also unless ``count`` rows are there."""
        data = self._get(key)
        if key.endswith(".gz"):
            with self.decoding(key):
                data = unsealed_gzip(self.prefix + key, data, self._secret(key, reads=True))
        return self._converted(key, data, make, count)

    def _converted(self, key: str, data: bytes, make: Callable[[Any], T], count: int | None) -> Iterator[T]:
        found = 0
        with self.decoding(key):
            for row in map(make, rows_of(data)):
                found += 1
                yield row
        if count is not None:
            self.check_count(key, found, count)

    def check_count(self, key: str, found: int, count: int) -> None:
        """Raise ``LedgerBroken`` for a file that holds more or fewer rows than are counted elsewhere."""
        if found != count:
            raise self.broken(key, f"holds {found} rows, not {count}")

    def write_text(self, key: str, text: str) -> None:
        self._store.put(self._at(key), text.encode())

    def keys(self, prefix: str) -> Iterator[str]:
        """The keys below a prefix, relative to the run's."""
        return (key.removeprefix(self.prefix) for key in self._store.list(self.prefix + prefix))

    def has(self, key: str) -> bool:
        return key in set(self.keys(key))


def _pages(rows: Iterable[S]) -> Iterator[list[S]]:
    """The rows in their order, so many on a page that it has about ``PAGE_BYTES``."""
    page: list[S] = []
    size = 0
    for row in rows:
        page.append(row)
        size += len(repr(row))
        if size >= PAGE_BYTES:
            yield page
            page, size = [], 0
    if page:
        yield page


def _row_of(document: Any) -> Any:
    return to_builtins(document, enc_hook=key_text) if isinstance(document, list) else document_row(document)
