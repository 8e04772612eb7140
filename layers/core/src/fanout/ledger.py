"""The run's ledger: what each state writes for the states after it.

Every file is written whole under a name that another attempt of the same task
does not use, or holds the same content whichever attempt writes it, so a task
may run twice, also at the same time.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from msgspec import Struct

from fanout.domain import ledger_keys as keys
from fanout.domain import probe_keys
from fanout.domain.big_files import Receipt, receipt_from_row, receipt_row
from fanout.domain.books import Count
from fanout.domain.coverage import Range, ranges_of
from fanout.domain.entries import Entry
from fanout.domain.errors import LedgerBroken, NotFound
from fanout.domain.json_lines import lines_of, rows_of
from fanout.domain.outcomes import Outcome, Result
from fanout.domain.plan import Plan, plan_from_row, plan_row
from fanout.domain.rows import (
    SCHEMA_VERSION,
    Json,
    counts_from_row,
    counts_row,
    entry_from_row,
    entry_row,
    outcome_from_row,
    outcome_row,
)
from fanout.ports import WorkStore

# Level 1 takes a tenth of the time of level 9 and leaves rows of paths about a fifth larger.
_GZIP_LEVEL = 1
# docs.aws.amazon.com/AmazonS3/latest/API/API_DeleteObjects.html
_REMOVED_AT_ONCE = 1_000


class OutcomeFile(Struct, frozen=True):
    """One file of a shard's outcomes: which entries it is about, its totals, and the seconds that they took."""

    key: str
    ranges: list[Range]
    results: dict[Result, Count]
    seconds: float = 0.0


class Ledger:
    """The ledger of one run below its prefix."""

    def __init__(self, store: WorkStore, run_id: str, prefix: str = "") -> None:
        self._store = store
        self.run_id = run_id
        self.prefix = prefix or keys.run_prefix(run_id)

    def verification(self) -> Ledger:
        """The ledger, inside this one, of comparing both trees after the copy."""
        return Ledger(self._store, self.run_id, f"{keys.run_prefix(self.run_id)}{keys.VERIFICATION}")

    @property
    def is_verification(self) -> bool:
        """Whether this is the ledger inside the run's own."""
        return self.prefix != keys.run_prefix(self.run_id)

    def whole_run(self) -> Ledger:
        """The run's own ledger."""
        return Ledger(self._store, self.run_id)

    def of_run(self, run_id: str) -> Ledger:
        """The ledger of another run. Raises ``InvalidRequest`` for an id that could lead elsewhere."""
        return Ledger(self._store, run_id)

    def of_file_system(self, name: str) -> Ledger:
        """Where the results of probes of a file system lie, outside every run's ledger."""
        return Ledger(self._store, self.run_id, probe_keys.results_prefix(name))

    def staged(self) -> Ledger:
        """What the run stages between two mounts, outside its ledger."""
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
        self._store.put(self.prefix + key, json.dumps(value, indent=1).encode())

    def read_json(self, key: str) -> Any:
        """Read one JSON document. Raises ``LedgerBroken`` if it is not there."""
        try:
            return json.loads(self._store.get(self.prefix + key))
        except NotFound as error:
            raise LedgerBroken(f"{self.prefix}{key} is missing") from error

    def find_json(self, key: str) -> Any | None:
        """Read one JSON document; ``None`` if it is not there."""
        try:
            return json.loads(self._store.get(self.prefix + key))
        except NotFound:
            return None

    def write_rows(self, key: str, rows: Iterable[Any]) -> None:
        """Write JSON lines; compressed where the key says so."""
        data = b"".join(lines_of(rows))
        if key.endswith(".gz"):
            data = gzip.compress(data, _GZIP_LEVEL, mtime=0)
        self._store.put(self.prefix + key, data)

    def read_rows(self, key: str) -> Iterator[Any]:
        """Read JSON lines. Raises ``LedgerBroken`` if the file is not there."""
        try:
            data = self._store.get(self.prefix + key)
        except NotFound as error:
            raise LedgerBroken(f"{self.prefix}{key} is missing") from error
        return rows_of(gzip.decompress(data) if key.endswith(".gz") else data)

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
        self.write_json(keys.PLAN, plan_row(plan))

    def read_plan(self) -> Plan:
        """Read plan.json."""
        return plan_from_row(self.read_json(keys.PLAN))

    def write_shard(self, shard_id: str, entries: list[Entry]) -> str:
        """Write a shard's entries; returns the file's key."""
        key = keys.shard_key(shard_id)
        self.write_rows(key, (entry_row(entry) for entry in entries))
        return key

    def read_shard(self, key: str) -> list[Entry]:
        """The entries of a shard, in the order in which they are to be copied."""
        return [entry_from_row(row) for row in self.read_rows(key)]

    def write_outcomes(
        self, shard_id: str, name: str, outcomes: dict[int, Outcome], counts: dict[Result, Count], seconds: float = 0.0
    ) -> None:
        """Write outcomes by the index of their entry: the rows first, then the file that makes them count."""
        key = f"{keys.outcomes_prefix(shard_id)}{name}"
        self.write_rows(f"{key}.jsonl.gz", (outcome_row(outcome, index) for index, outcome in outcomes.items()))
        document: Json = {
            "schema_version": SCHEMA_VERSION,
            "ranges": ranges_of(outcomes),
            "outcomes": counts_row(counts),
            "seconds": round(seconds, 3),
        }
        self.write_json(f"{key}.json", document)

    def write_receipts(self, shard_id: str, name: str, receipts: dict[int, Receipt], copied_bytes: int) -> None:
        """Write what became of blocks, by their index: the rows first, then the file that makes them count."""
        key = f"{keys.outcomes_prefix(shard_id)}{name}"
        self.write_rows(f"{key}.jsonl.gz", (receipt_row(receipt) for receipt in receipts.values()))
        counts = counts_row({Result.COPIED: Count(0, copied_bytes)})
        self.write_json(
            f"{key}.json", {"schema_version": SCHEMA_VERSION, "ranges": ranges_of(receipts), "outcomes": counts}
        )

    def read_receipts(self, shard_id: str) -> dict[int, Receipt]:
        """What became of a shard's blocks; a block that any attempt wrote counts as written."""
        receipts: dict[int, Receipt] = {}
        for file in self.outcome_files(shard_id):
            for receipt in map(receipt_from_row, self.read_rows(file.key)):
                known = receipts.get(receipt.index)
                if known is None or known.reason is not None:
                    receipts[receipt.index] = receipt
        return receipts

    def outcome_files(self, shard_id: str) -> list[OutcomeFile]:
        """The files of a shard's outcomes that count, in the order of their names."""
        found = []
        for key in self.keys(keys.outcomes_prefix(shard_id)):
            if key.endswith(".json"):
                row = self.read_json(key)
                ranges = [(first, end) for first, end in row["ranges"]]
                counts, seconds = counts_from_row(row["outcomes"]), row.get("seconds", 0.0)
                found.append(OutcomeFile(f"{key[:-5]}.jsonl.gz", ranges, counts, seconds))
        return found

    def read_outcomes(self, file: OutcomeFile) -> Iterator[tuple[int, Outcome]]:
        """The rows of a file of outcomes, each with its entry's index."""
        return ((row["index"], outcome_from_row(row)) for row in self.read_rows(file.key))
