"""The run's ledger: what each state writes for the states after it.

Every file is written whole. Its name is the attempt's own, or every attempt writes the same content. So a task may
run twice, also at the same time.

Objects expire in no order, and an object may be truncated, changed or another's. Every reader here raises
``LedgerBroken``, which names the object and the remedy, and no other error of decoding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any, TypeVar

from msgspec import MsgspecError, Struct, convert, to_builtins

from fanout.ledger import keys, probe_keys
from fanout.ledger.confined import ConfinedRows
from fanout.ledger.coverage import Range, ranges_of
from fanout.ledger.documents import D, Marker, Notes, PhaseBegan, Totals, document_of, document_row
from fanout.ledger.json_lines import lines_of, rows_of
from fanout.ledger.kept import KeptStore
from fanout.ledger.rows import entry_row, indexed_outcome_from_row, outcome_row, receipt_from_row, receipt_row
from fanout.ledger.run_seal import Seal
from fanout.ledger.seals import sealed_gzip, sealed_json, unsealed_gzip, unsealed_json
from fanout.model.books import Count, no_counts
from fanout.model.entry import Entry
from fanout.model.errors import LedgerBroken, NotFound
from fanout.model.outcome import Outcome, Result
from fanout.model.shard import BigFile, Receipt, Shard
from fanout.ports.store import WorkStore
from fanout.request.plan import Plan

T = TypeVar("T")
# Errors of a decoded value that is not what its reader expects.
_UNFIT = (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError, MsgspecError)
START_AGAIN = "start the request again without resume_from: what is done is found unchanged"
# docs.aws.amazon.com/AmazonS3/latest/API/API_DeleteObjects.html
_REMOVED_AT_ONCE = 1_000


class OutcomeFile(Struct, frozen=True):
    """One file of a shard's outcomes: its entries, its totals, the seconds that they took, and when they were done."""

    key: str
    ranges: list[Range]
    results: dict[Result, Count]
    seconds: float = 0.0
    at: float = 0.0

    @property
    def entries(self) -> int:
        """How many rows it holds."""
        return sum(end - first for first, end in self.ranges)


class Ledger:
    """The ledger of one run below its prefix."""

    def __init__(self, store: WorkStore, run_id: str, prefix: str = "", seal: Seal | None = None) -> None:
        self._store = store
        self.run_id = run_id
        self.prefix = prefix or keys.run_prefix(run_id)
        self._seal = seal
        self._confined = ConfinedRows(lambda: self.read(keys.PLAN, Plan))

    def verification(self) -> Ledger:
        """The ledger, inside this one, of comparing both trees after the copy."""
        return Ledger(self._store, self.run_id, keys.verification_prefix(self.run_id), self._seal)

    def sealed(self, seal: Seal) -> Ledger:
        """The same ledger, which seals and reads with a secret what lies below the seal's prefix."""
        return Ledger(self._store, self.run_id, self.prefix, seal)

    def kept(self) -> Ledger:
        """The same ledger as it is at the first read; for a task during which nobody else writes what it reads."""
        return Ledger(KeptStore(self._store, keys.run_prefix(self.run_id)), self.run_id, self.prefix, self._seal)

    def of_seals(self) -> Ledger:
        """Where the secrets of runs lie, which not everybody reads."""
        return Ledger(self._store, self.run_id, keys.SEALS)

    @property
    def is_verification(self) -> bool:
        """Whether this is the ledger inside the run's own."""
        return self.prefix != keys.run_prefix(self.run_id)

    def whole_run(self) -> Ledger:
        """The run's own ledger."""
        return Ledger(self._store, self.run_id, seal=self._seal)

    def of_run(self, run_id: str) -> Ledger:
        """The ledger of another run. Raises ``InvalidRequest`` for an id that could lead elsewhere."""
        return Ledger(self._store, run_id)

    def of_file_system(self, name: str) -> Ledger:
        """Where the results of probes of a file system lie, outside every run's ledger."""
        return Ledger(self._store, self.run_id, probe_keys.results_prefix(name))

    def staged(self) -> Ledger:
        """The objects that the run stages between two mounts, outside its ledger."""
        return Ledger(self._store, self.run_id, keys.staged_prefix(self.run_id))

    def write_bytes(self, key: str, data: bytes) -> None:
        """Write bytes as they are."""
        self._store.put(self.prefix + key, data)

    def read_bytes(self, key: str) -> bytes:
        """Read bytes as they are. Raises ``NotFound``."""
        return self._store.get(self.prefix + key)

    def remove(self, prefix: str) -> None:
        """Remove all below a prefix, relative to the ledger's own; only of what is staged."""
        if self.prefix != keys.staged_prefix(self.run_id):
            raise LedgerBroken(f"{self.prefix}{prefix} is not to be removed: a run's ledger stays")
        found = self._store.list(self.prefix + prefix)
        while batch := list(islice(found, _REMOVED_AT_ONCE)):
            self._store.remove(batch)

    def write_json(self, key: str, value: Any) -> None:
        """Write one JSON document."""
        self._store.put(self.prefix + key, sealed_json(self.prefix + key, value, self._secret(key)))

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
            return unsealed_json(self.prefix + key, data, self._secret(key, reads=True))

    def write(self, key: str, document: Struct) -> None:
        """Write a document, with the version of its schema."""
        self.write_json(key, document_row(document))

    def write_new(self, key: str, document: Struct) -> bool:
        """The same, if nothing is there; whether this call wrote it."""
        return self.write_new_bytes(key, sealed_json(self.prefix + key, document_row(document), self._secret(key)))

    def write_new_bytes(self, key: str, data: bytes) -> bool:
        """Write bytes as they are, if nothing is there; whether this call wrote them."""
        return self._store.put_new(self.prefix + key, data)

    def read(self, key: str, kind: type[D]) -> D:
        """Read a document. Raises ``LedgerBroken`` if it is missing, not whole, or of another schema version."""
        row = self.read_json(key)
        with self.decoding(key):
            return document_of(row, kind)

    def find(self, key: str, kind: type[D]) -> D | None:
        """The same; ``None`` if it is not there."""
        row = self.find_json(key)
        with self.decoding(key):
            return None if row is None else document_of(row, kind)

    def write_documents(self, key: str, documents: Iterable[Struct]) -> None:
        """Write a list that a Map reads: an array of documents without versions, since a Map's item is one of them."""
        self.write_json(key, [to_builtins(document) for document in documents])

    def read_documents(self, key: str, kind: type[D]) -> list[D]:
        """Read a list that a Map reads. Raises ``LedgerBroken``."""
        rows = self.read_json(key)
        with self.decoding(key):
            return convert(rows, list[kind])  # type: ignore[valid-type]

    def mark(self, key: str) -> None:
        """Write a document that says something by being there."""
        self.write(key, Marker())

    def is_marked(self, key: str) -> bool:
        """Whether the mark is there."""
        return self.find(key, Marker) is not None

    def note(self, phase: str, notes: Iterable[str]) -> None:
        """Write what a phase found that the summary repeats."""
        self.write(keys.note_key(phase), Notes(list(notes)))

    def begin(self, phase: str, at: float) -> None:
        """Write when a phase began, in seconds since 1970."""
        self.write(keys.phase_key(phase), PhaseBegan(at))

    def _secret(self, key: str, *, reads: bool = False) -> bytes:
        """The secret that seals an object of this ledger; empty for none."""
        seal = self._seal
        if seal is None or (reads and not seal.is_demanded) or not self.prefix.startswith(seal.prefix):
            return b""
        return b"" if key.startswith(keys.UNSEALED) else seal.secret()

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
        except _UNFIT as error:
            raise self.broken(key, f"is not whole ({type(error).__name__}: {str(error)[:200]})") from error

    def write_rows(self, key: str, rows: Iterable[Any]) -> None:
        """Write JSON lines; compressed where the key says so."""
        data = b"".join(lines_of(rows))
        if key.endswith(".gz"):
            data = sealed_gzip(self.prefix + key, data, self._secret(key))
        self._store.put(self.prefix + key, data)

    def read_rows(self, key: str) -> Iterator[Any]:
        """Read JSON lines. Raises ``LedgerBroken`` if the file is not there or not whole."""
        return self.read_rows_as(key, _as_it_is)

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
        if count is not None and found != count:
            raise self.broken(key, f"holds {found} rows, not {count}")

    def write_text(self, key: str, text: str) -> None:
        """Write a text as it is."""
        self._store.put(self.prefix + key, text.encode())

    def keys(self, prefix: str) -> Iterator[str]:
        """The keys below a prefix, relative to the run's."""
        return (key.removeprefix(self.prefix) for key in self._store.list(self.prefix + prefix))

    def has(self, key: str) -> bool:
        """Whether a file is there."""
        return key in set(self.keys(key))

    def write_plan(self, plan: Plan) -> None:
        """Write plan.json."""
        self.write(keys.PLAN, plan)

    def read_plan(self) -> Plan:
        """Read plan.json."""
        return self._confined.plan()

    def write_shard(self, shard_id: str, entries: list[Entry]) -> str:
        """Write a shard's entries; returns the file's key."""
        key = keys.shard_key(shard_id)
        self.write_rows(key, (entry_row(entry) for entry in entries))
        return key

    def check_placed(self, path: str) -> None:
        """Raise ``ValueError`` for a path that leads out of the destination, where that is mounted."""
        self._confined.placed(path)

    def read_shard(self, shard: Shard) -> list[Entry]:
        """The entries of a shard, in the order in which they are to be copied.

        As ``read_links`` and ``read_big_file``: raises ``LedgerBroken`` for a path that leads out of a mounted end.
        """
        return list(self.read_rows_as(shard.key, self._confined.entry, shard.entries))

    def read_links(self, links: Shard) -> Iterator[tuple[Entry, str]]:
        """Further names of files, each with the path of the first one; see ``rows.link_row``."""
        return self.read_rows_as(links.key, self._confined.link, links.entries)

    def read_big_file(self, key: str) -> BigFile:
        """Read a big file."""
        big = self.read(key, BigFile)
        with self.decoding(key):
            return self._confined.big_file(big)

    def write_outcomes(
        self,
        shard_id: str,
        name: str,
        outcomes: dict[int, Outcome],
        counts: dict[Result, Count],
        seconds: float = 0.0,
        at: float = 0.0,
    ) -> None:
        """Write outcomes by the index of their entry: the rows first, then the file that makes them count.

        ``at`` is when all of them were done.
        """
        key = f"{keys.outcomes_prefix(shard_id)}{name}"
        self.write_rows(f"{key}.jsonl.gz", (outcome_row(outcome, index) for index, outcome in outcomes.items()))
        self.write(f"{key}.json", Totals(ranges_of(outcomes), counts, round(seconds, 3), at))

    def write_receipts(self, shard_id: str, name: str, receipts: dict[int, Receipt], copied_bytes: int) -> None:
        """Write what became of blocks, by their index: the rows first, then the file that makes them count."""
        key = f"{keys.outcomes_prefix(shard_id)}{name}"
        self.write_rows(f"{key}.jsonl.gz", (receipt_row(receipt) for receipt in receipts.values()))
        self.write(f"{key}.json", Totals(ranges_of(receipts), {Result.COPIED: Count(0, copied_bytes)}))

    def read_receipts(self, shard_id: str) -> dict[int, Receipt]:
        """The outcomes of a shard's blocks; a block that any attempt wrote counts as written."""
        receipts: dict[int, Receipt] = {}
        for file in self.outcome_files(shard_id):
            for receipt in self.read_rows_as(file.key, receipt_from_row, file.entries):
                known = receipts.get(receipt.index)
                if known is None or known.reason is not None:
                    receipts[receipt.index] = receipt
        return receipts

    def outcome_files(self, shard_id: str) -> list[OutcomeFile]:
        """The files of a shard's outcomes that count, in the order of their names."""
        found = []
        for key in self.keys(keys.outcomes_prefix(shard_id)):
            if key.endswith(".json"):
                totals = self.read(key, Totals)
                results = no_counts() | totals.outcomes
                found.append(OutcomeFile(f"{key[:-5]}.jsonl.gz", totals.ranges, results, totals.seconds, totals.at))
        return found

    def read_outcomes(self, file: OutcomeFile) -> Iterator[tuple[int, Outcome]]:
        """The rows of a file of outcomes, each with its entry's index."""
        return self.read_rows_as(file.key, indexed_outcome_from_row, file.entries)


def _as_it_is(value: Any) -> Any:
    return value
