"""summary.json: the verdict and the books of a run. docs/summary.schema.json says what each field means."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct, field

from fanout.books.failures import FailureClass
from fanout.forecast.document import ForecastDocument
from fanout.ledger import keys
from fanout.ledger.kind import ObjectKind
from fanout.model.books import Books, Count
from fanout.model.entry import Kind
from fanout.model.errors import RunError
from fanout.model.outcome import Reason
from fanout.model.path_rules import PlainName, PlainNameOrNone
from fanout.request.course import Mode
from fanout.request.plan import Origin
from fanout.verifying.verify_rules import NotCompared


class Status(StrEnum):
    """How a run ended."""

    SUCCEEDED = "SUCCEEDED"
    FAILED_WITH_ITEMS = "FAILED_WITH_ITEMS"
    FAILED = "FAILED"
    SKIPPED = "SKIPPED"


class Totals(Struct, frozen=True):
    """The source's entries by outcome; ``deleted`` counts the destination's, and is in no sum."""

    listed: Count
    copied: Count
    unchanged: Count
    skipped: Count
    failed: Count
    rejected: Count
    deleted: Count

    @property
    def taken(self) -> int:
        """The entries that the filters took."""
        return self.listed.entries - self.skipped.entries


def totals_of(books: Books) -> Totals:
    return Totals(books.listed, **{result.value: count for result, count in books.by_result.items()})


class ShardsDone(Struct, frozen=True):
    """``imbalance`` is the longest shard's actual seconds over the mean of all; ``None`` where none was measured."""

    count: int = 0
    predicted_seconds: float = 0.0
    actual_seconds: float = 0.0
    imbalance: float | None = None


class TasksDone(Struct, frozen=True):
    """The tasks of a phase: ``begun`` is the sum of the four ends."""

    phase: str
    shards_begun: int
    begun: int
    done: int
    handed_back: int
    failed: int
    lost: int
    seconds: float
    stragglers: int


class SizeBucket(Struct, frozen=True):
    """Listed files of a size from ``from_bytes`` up to, not including, ``below_bytes``."""

    from_bytes: int
    below_bytes: int
    entries: int
    bytes: int


class Difference(Struct, frozen=True):
    """How many entries differ for a reason."""

    reason: Reason
    entries: int


class Verified(Struct, frozen=True):
    """The counts and digests of a verification; digests have 64 hexadecimal digits."""

    compared: Count
    differences: int
    by_class: list[Difference]
    not_compared: list[NotCompared]
    source_digest: str
    destination_digest: str
    differing_directories: list[str]


class CertificateIssued(Struct, frozen=True):
    """Where the certificate lies in the work bucket, the SHA-256 of its file, the ARN of its key, and its digests."""

    key: str
    sha256: str
    signing_key: str
    source_tree_digest: str
    destination_tree_digest: str


class Published(Struct, frozen=True):
    """The version that a run published, the one before it, the link, and when, in seconds since 1970.

    ``linked`` are entries that got names of files of the version before; ``removed`` are versions that were not kept.
    """

    version: PlainName
    before: PlainNameOrNone
    link: PlainName
    at: float
    linked: Count
    removed: list[PlainName] = field(default_factory=list)


PUBLISHED = ObjectKind("published.json", Published, by=("FinishTree",), short=False)


class Planned(Struct, frozen=True):
    """The changes that a copy and a sync would make.

    With ``compare: checksum`` an entry of the same size at both ends counts as to copy. ``to_delete`` is ``None`` if
    names are escaped; ``delete_refused`` says why a sync would delete nothing. ``predicted_seconds`` is the time
    of the copying, with functions working at the same time.
    """

    to_copy: Count
    to_delete: Count | None
    delete_refused: str | None
    predicted_seconds: float


class PlannedEntry(Struct, frozen=True):
    """A row of planned.jsonl: an entry that would be copied, linked or deleted."""

    action: str
    path: str
    kind: Kind
    size: int


class Skipped(Struct, frozen=True):
    """Why a run did nothing, and which run does its work."""

    reason: str
    holder: PlainName


class EarlierRun(Struct, frozen=True):
    """A run's figures for the report of the next run with the same source, destination and mode.

    ``seconds`` is the sum of its phases, ``dollars`` as the ledger counted them, ``to_copy`` that of a plan; ``None``
    where there is none.
    """

    run_id: PlainName
    status: Status
    began: str
    ended: str
    seconds: float
    totals: Totals
    to_copy: Count | None = None
    dollars: float | None = None


class SummaryDocument(Struct, frozen=True, kw_only=True):
    """The whole document. ``seconds`` is by phase, ``failures`` the number of rows in failures.jsonl.

    ``earlier`` is the last run with the same source, destination and mode; ``None`` if there is none on record.
    """

    run_id: PlainName
    status: Status
    error: RunError | None = None
    mode: Mode
    began: str
    ended: str
    source: str
    destination: str
    totals: Totals
    balanced: bool = True
    complete_listing: bool = True
    seconds: dict[str, float]
    shards: ShardsDone = ShardsDone()
    tasks: list[TasksDone] = field(default_factory=list)
    sizes: list[SizeBucket] = field(default_factory=list)
    failures: int = 0
    failures_by_class: list[FailureClass] = field(default_factory=list)
    verification: Verified | None = None
    certificate: CertificateIssued | None = None
    published: Published | None = None
    planned: Planned | None = None
    forecast: ForecastDocument | None = None
    skipped: Skipped | None = None
    origin: Origin = Origin()
    earlier: EarlierRun | None = None
    warnings: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


SUMMARY = keys.SUMMARY.of(SummaryDocument)


def figures_of(summary: SummaryDocument) -> EarlierRun:
    """The figures of a run that the next one is compared with."""
    return EarlierRun(
        run_id=summary.run_id,
        status=summary.status,
        began=summary.began,
        ended=summary.ended,
        seconds=round(sum(summary.seconds.values()), 3),
        totals=summary.totals,
        to_copy=summary.planned.to_copy if summary.planned else None,
        dollars=(summary.forecast.actual_dollars or {}).get("total") if summary.forecast else None,
    )
