"""probe.json: what a probe of a file system found; plans and the probe's page read it."""

from __future__ import annotations

from enum import StrEnum

from msgspec import UNSET, Struct, UnsetType, field

from fanout.efs.calibration import Calibration
from fanout.efs.capacity import FileSystemState
from fanout.ledger import probe_keys
from fanout.ledger.kind import ObjectKind
from fanout.ledger.run_places import PROBES
from fanout.model.document import Lasting
from fanout.model.errors import RunError
from fanout.model.path_rules import PlainName


class ProbeStatus(StrEnum):
    """How a probe ended; ``FAILED`` is one that broke off."""

    SUCCEEDED = "SUCCEEDED"
    FAILED_EXPERIMENTS = "FAILED_EXPERIMENTS"
    FAILED = "FAILED"


class Experiment(StrEnum):
    """The experiments; their names are those of probe.json."""

    WRITE_BY_IO_SIZE = "write_by_io_size"
    WRITE_BY_SYNC = "write_by_sync"
    WRITE_BY_THREADS = "write_by_threads"
    WRITE_LATENCY = "write_latency"
    STREAM = "stream"
    CREATE_LATENCY = "create_latency"
    CREATIONS = "creations"
    WRITE_BY_FUNCTIONS = "write_by_functions"
    READ_BY_FUNCTIONS = "read_by_functions"
    RANGED_WRITES = "ranged_writes"

    @property
    def unit(self) -> str:
        """The unit of its values: ``bytes_per_second``, ``seconds`` of one file, or ``per_second`` of files."""
        seconds = (Experiment.WRITE_LATENCY, Experiment.CREATE_LATENCY)
        if self in seconds:
            return "seconds"
        return "per_second" if self is Experiment.CREATIONS else "bytes_per_second"

    @property
    def is_shared(self) -> bool:
        """Whether several functions take part, who wait for each other before they begin."""
        return self in (Experiment.WRITE_BY_FUNCTIONS, Experiment.READ_BY_FUNCTIONS, Experiment.RANGED_WRITES)


class Sync(StrEnum):
    """When what is written is made durable: by the close alone, once before it, or after each block."""

    CLOSE = "close"
    END = "end"
    BLOCK = "block"


class Point(Struct, frozen=True, kw_only=True):
    """A point of measurement: each of its threads writes or reads ``files`` files of ``file_bytes``."""

    threads: int
    directories: int
    files: int
    file_bytes: int
    io_bytes: int
    sync: Sync


class Setting(Point, frozen=True):
    """The settings that identify a point within its experiment."""

    functions: int


class Measured(Setting, frozen=True, kw_only=True):
    """Median, quartiles and ends of a point's samples."""

    median: float
    lower_quartile: float
    upper_quartile: float
    least: float
    most: float
    samples: int


class NotMeasured(Setting, frozen=True, kw_only=True):
    """A point without a sample, and the reason."""

    why: str


class Problem(Struct, frozen=True):
    """The reason why a member of a round could not measure; ``functions`` is the size of the round."""

    functions: int
    member: int
    reason: str
    message: str


class ExperimentResult(Struct, frozen=True, kw_only=True):
    """``read_by_other_functions`` is of ``read_by_functions`` alone: whether all read only what others had written."""

    name: Experiment
    unit: str
    points: list[Measured]
    not_measured: list[NotMeasured]
    read_by_other_functions: bool | UnsetType | None = UNSET
    problems: list[Problem]


class ProbeBudget(Struct, frozen=True):
    """The budget of a probe, and its use."""

    bytes: int
    bytes_used: int
    seconds: float
    seconds_used: float
    max_functions: int


class Caps(Struct, frozen=True):
    """The limits that AWS publishes, in bytes a second, and their source."""

    function_bytes_per_second: int
    client_bytes_per_second: int
    file_system_bytes_per_second: int
    file_system_is_assumed: bool
    source: str


class ProbeResult(Lasting, frozen=True):
    """The whole document. ``state`` is ``None`` for a mount without an id, ``calibration`` if too little was measured.
    ``notes`` are sentences about what was left on the mount.

    Times are seconds since 1970.
    """

    probe_id: PlainName
    status: ProbeStatus
    error: RunError | None
    mount: str
    file_system_id: str | None
    path: str
    state: FileSystemState | None
    began_at: float
    ended_at: float
    budget: ProbeBudget
    caps: Caps
    experiments: list[ExperimentResult]
    calibration: Calibration | None
    notes: list[str] = field(default_factory=list)

    @property
    def file_system(self) -> str:
        """The key of its results."""
        return self.file_system_id or self.mount


PROBE_RESULT = probe_keys.RESULT.of(ProbeResult)
# The newest result, in the directory of its file system.
NEWEST_RESULT = ObjectKind("latest.json", ProbeResult, by=("SummariseProbe",), place=PROBES)
