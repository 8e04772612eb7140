"""The run's ledger: what each state writes for the states after it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice

from fanout.ledger import keys, probe_keys, run_places
from fanout.ledger.confined import ConfinedRows
from fanout.ledger.documents import Marker, Notes, PhaseBegan
from fanout.ledger.kept_store import KeptStore
from fanout.ledger.kind import ObjectKind
from fanout.ledger.objects import LedgerObjects, Seal
from fanout.ledger.shard_order import in_shard_order, shard_rows
from fanout.model.columns import Listed, count_of
from fanout.model.entry import Entry
from fanout.model.errors import LedgerBroken
from fanout.model.shard import BigFile, Shard
from fanout.ports.store import WorkStore
from fanout.request.plan import Plan

# docs.aws.amazon.com/AmazonS3/latest/API/API_DeleteObjects.html
_REMOVED_AT_ONCE = 1_000


class Ledger(LedgerObjects):
    """The ledger of one run below its prefix."""

    def __init__(self, store: WorkStore, run_id: str, prefix: str = "", seal: Seal | None = None) -> None:
        super().__init__(store, prefix or run_places.run_prefix(run_id), seal)
        self.run_id = run_id
        self._confined = ConfinedRows(lambda: self.read(keys.PLAN))

    def __reduce__(self) -> tuple[type[Ledger], tuple[WorkStore, str, str, Seal | None]]:
        """For another process of the function."""
        return type(self), (self._store, self.run_id, self.prefix, self._seal)

    def verification(self) -> Ledger:
        """The ledger, inside this one, of comparing both trees after the copy."""
        return Ledger(self._store, self.run_id, run_places.verification_prefix(self.run_id), self._seal)

    def sealed(self, seal: Seal) -> Ledger:
        """The same ledger, which seals and reads with a secret what lies below the seal's prefix."""
        return Ledger(self._store, self.run_id, self.prefix, seal)

    def kept(self) -> Ledger:
        """The same ledger as it is at the first read; ``now`` shows what another attempt writes meanwhile."""
        if isinstance(self._store, KeptStore):
            return self
        return Ledger(KeptStore(self._store, run_places.run_prefix(self.run_id)), self.run_id, self.prefix, self._seal)

    def now(self) -> Ledger:
        """The same ledger as the store holds it at each read: for what decides between attempts at one task."""
        if isinstance(self._store, KeptStore):
            return Ledger(self._store.plain, self.run_id, self.prefix, self._seal)
        return self

    @property
    def is_kept(self) -> bool:
        """Whether this is a ledger as it was at the first read."""
        return isinstance(self._store, KeptStore)

    def of_store(self, make: Callable[[WorkStore], WorkStore]) -> Ledger:
        """The same ledger in a store that is made of its own."""
        return Ledger(make(self._store), self.run_id, self.prefix, self._seal)

    def settle(self) -> None:
        """Send what waits to be written side by side; only a ledger that is kept has any."""
        if isinstance(self._store, KeptStore):
            self._store.settle()

    def settle_meanwhile(self) -> None:
        """Begin to; what is written from now on, and does not wait, comes after it."""
        if isinstance(self._store, KeptStore):
            self._store.settle_meanwhile()

    def look_ahead(self, *, planned: bool = True) -> None:
        """Begin to read all documents of the run, the plan first if it is ``planned``; only a kept ledger does."""
        if isinstance(self._store, KeptStore):
            self._store.look_ahead(self.prefix + keys.PLAN if planned else "")

    def look_again(self) -> None:
        """Begin to list the run again, for a reader who must see what it has written; see ``KeptStore``."""
        if isinstance(self._store, KeptStore):
            self._store.look_again()

    @property
    def times_settled(self) -> int:
        """How often all that waited was sent; whatever had been written before the last time is there."""
        return self._store.settled if isinstance(self._store, KeptStore) else 0

    @contextmanager
    def settled(self, *, waits: bool = False) -> Iterator[None]:
        """Sends at the end what is written inside, unless it ``waits``; where an error ends it, in any case."""
        try:
            yield
        except Exception:
            self.settle()
            raise
        if not waits:
            self.settle()

    def of_seals(self) -> Ledger:
        """Where the secrets of runs lie, which not everybody reads."""
        return Ledger(self._store, self.run_id, run_places.SEALS)

    @property
    def is_verification(self) -> bool:
        """Whether this is the ledger inside the run's own."""
        return self.prefix != run_places.run_prefix(self.run_id)

    def whole_run(self) -> Ledger:
        return Ledger(self._store, self.run_id, seal=self._seal)

    def of_run(self, run_id: str) -> Ledger:
        """The ledger of another run. Raises ``InvalidRequest`` for an id that could lead elsewhere."""
        return Ledger(self._store, run_id)

    def of_file_system(self, name: str) -> Ledger:
        """Where the results of probes of a file system lie, outside every run's ledger."""
        return Ledger(self._store, self.run_id, probe_keys.results_prefix(name))

    def staged(self) -> Ledger:
        """The objects that the run stages between two mounts, outside its ledger."""
        return Ledger(self._store, self.run_id, run_places.staged_prefix(self.run_id))

    def reports(self) -> Ledger:
        """Where S3 writes what it computed for the run; nothing else writes there."""
        return Ledger(self._store, self.run_id, run_places.reports_prefix(self.run_id))

    def remove(self, prefix: str) -> None:
        """Remove all below a prefix, relative to the ledger's own; only of what is staged."""
        if self.prefix != run_places.staged_prefix(self.run_id):
            raise LedgerBroken(f"{self.prefix}{prefix} is not to be removed: a run's ledger stays")
        found = self._store.list(self.prefix + prefix)
        while batch := list(islice(found, _REMOVED_AT_ONCE)):
            self._store.remove(batch)

    def mark(self, key: ObjectKind[Marker]) -> None:
        """Write a document that says something by being there."""
        self.write(key, Marker())

    def is_marked(self, key: ObjectKind[Marker]) -> bool:
        return self.find(key) is not None

    def note(self, phase: str, notes: Iterable[str]) -> None:
        """Write what a phase found that the summary repeats."""
        self.write(keys.note_key(phase), Notes(list(notes)))

    def begin(self, phase: str, at: float) -> None:
        """Write when a phase began, in seconds since 1970."""
        self.write(keys.phase_key(phase), PhaseBegan(at))

    def begin_last(self, phase: str, at: float) -> None:
        """Write when the last phase began, and list the run anew: its reader has to see that too."""
        self.begin(phase, at)
        self.look_ahead()
        self.settle()
        self.look_again()

    def read_plan(self) -> Plan:
        """The plan. Raises ``LedgerBroken``, also for one of another run."""
        plan = self._confined.plan()
        if plan.run_id != self.run_id:
            raise self.broken(keys.PLAN, f"is the plan of {plan.run_id[:80]}")
        return plan

    def write_shard(self, shard_id: str, listed: Iterable[Listed]) -> str:
        """Write a shard's entries; returns the file's key. See ``shard_order``."""
        key = keys.shard_key(shard_id)
        self.write_rows(key, shard_rows(listed))
        return key

    def check_placed(self, path: str) -> None:
        """Raise ``ValueError`` for a path that leads out of the destination, where that is mounted."""
        self._confined.placed(path)

    def read_shard(self, shard: Shard) -> list[Entry]:
        """The entries of a shard, in the order in which they are to be copied.

        As ``read_links`` and ``read_big_file``: raises ``LedgerBroken`` for a path that leads out of a mounted end.
        """
        return in_shard_order(self.read_listed(shard))

    def read_listed(self, shard: Shard) -> Iterator[Listed]:
        """The same as the file has them: files in columns where they were listed so."""
        found = 0
        for listed in self.read_rows_as(shard.key, self._confined.listed):
            found += count_of(listed)
            yield listed
        self.check_count(shard.key, found, shard.entries)

    def read_links(self, links: Shard) -> Iterator[tuple[Entry, str]]:
        """Further names of files, each with the path of the first one; see ``rows.link_row``."""
        return self.read_rows_as(links.key, self._confined.link, links.entries)

    def read_big_file(self, key: str) -> BigFile:
        big = self.read(keys.big_file_key.at(key))
        with self.decoding(key):
            return self._confined.big_file(big)
