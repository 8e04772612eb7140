"""Shards whose entries are held, and how far it is to bring them back, in the ledger."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import asdict, replace

from fanout.ledger.kind import ObjectKind
from fanout.ledger.ledger import Ledger
from fanout.model.books import Count
from fanout.model.document import Json
from fanout.model.entry import Entry
from fanout.model.errors import ItemError
from fanout.model.shard import Shard
from fanout.request.plan import Plan
from fanout.shards.partitioned import SHARDS, MapItem
from fanout.work.context import Context

# The shards to copy before anything is back, and how far each look at the others came.
COPIES_AT_ONCE = ObjectKind(
    "restores/copies-at-once.json", list[MapItem], by=("PartitionShards", "FinishTree"), short=False
)
_PROGRESS = "restores/stand-"
# Shards that are back: what one more Map copies.
_copies_key = ObjectKind(
    "restores/copies-{at:015d}-{nonce}.json", list[MapItem], by=("FinishTree",), area="restores/*", short=False
)
# Where S3 brings them back from, for people.
BACK_FROM = "the archive"


def copies_key(at: float, nonce: str) -> ObjectKind[list[MapItem]]:
    """Shards that are back at a time."""
    return _copies_key(round(at * 1000), nonce)


def progress_key(at: float, nonce: str) -> ObjectKind[HeldProgress]:
    """How far it is after one task; later ones sort after it."""
    return PROGRESS(round(at * 1000), nonce)


def write_copies_at_once(shards: Sequence[Shard], ledger: Ledger) -> tuple[str, int]:
    """The key of the shards that the first Map copies, and how many others are held."""
    at_once = [shard for shard in shards if not shard.held]
    if len(at_once) == len(shards):
        return SHARDS, 0
    ledger.write(COPIES_AT_ONCE, list(map(MapItem, at_once)))
    return str(COPIES_AT_ONCE), len(shards) - len(at_once)


def to_bring_back(held: int) -> Json:
    """The answer of PartitionShards about so many held shards, none of which was asked for."""
    return {"archived": held, "restores": "", "wait": 0}


def held_of(shards: Iterable[Shard], big_file: Callable[[str], Entry]) -> Mapping[str, Count]:
    """Entries and bytes by what holds them; ``big_file`` reads the one of a key, which counts once."""
    found: defaultdict[str, Count] = defaultdict(Count)
    seen: set[str] = set()
    for shard in shards:
        if not shard.held or shard.key in seen:
            continue
        if shard.blocks is None:
            found[shard.held] += Count(shard.entries, shard.bytes)
        else:
            seen.add(shard.key)
            found[shard.held] += Count(1, big_file(shard.key).size)
    return dict(found)


class HeldProgress(Struct, frozen=True, kw_only=True):
    """How far it is after a task, which writes it under a name of its own and hands the name on.

    ``left`` are the shards that no Map was given yet; ``cursor`` of them were visited in this ``round``, the first of
    which asks, and ``ready`` can be copied. ``asked`` are entries and bytes, by what holds them, that were asked for,
    ``refused`` entries that have an outcome instead, ``missed`` those that could not be taken in this round: the next
    one ``asks`` again, and looks at every entry for that. ``waiting`` is what is still held, asked for by
    ``asked_at``. The wait ends at ``ends_at`` at the latest.
    """

    at: float
    round: int
    cursor: int
    left: list[str]
    ready: list[str]
    asked: dict[str, Count]
    refused: int
    missed: int
    asks: bool = True
    waiting: Count
    asked_at: float
    expected_at: float
    ends_at: float

    def told(self) -> Json:
        """The field of the progress that says what is waited for, and until when."""
        times = {name: getattr(self, name) for name in ("asked_at", "expected_at", "ends_at")}
        return {"restores": {**asdict(self.waiting), **times}}


PROGRESS = ObjectKind(
    _PROGRESS + "{at:015d}-{nonce}.json", HeldProgress, by=("FinishTree",), area="restores/*", short=False
)


def last_progress(ledger: Ledger) -> HeldProgress | None:
    """The newest progress of the restoring, for people and for the count of dollars."""
    names = list(ledger.keys(_PROGRESS))
    return ledger.read(PROGRESS.at(names[-1])) if names else None


def asked_back(ledger: Ledger) -> dict[str, Count]:
    """Entries and bytes that the run asked for, by what holds them."""
    progress = last_progress(ledger)
    return {} if progress is None else progress.asked


def look_at_held(plan: Plan, context: Context) -> Callable[[Entry], Entry] | None:
    """Gives an entry with what holds it, and without where its copy has to say what is wrong with it.

    ``None`` in a run that brings nothing back. A listing cannot tell that an object of INTELLIGENT_TIERING is in an
    archive tier, nor without a further header what is restored already or on its way; a HEAD tells all three. It costs
    under 1% of a restore request.
    """
    archive = context.ends.s3_services.archive(plan)
    if archive is None:
        return None

    def look(entry: Entry) -> Entry:
        try:
            return replace(entry, held=archive.look(entry).archive)
        except ItemError:
            return replace(entry, held="")

    return look
