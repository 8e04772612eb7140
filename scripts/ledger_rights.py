"""Which function writes which objects of the work bucket. The roles are made of this table, and hold nothing else.

``scripts/generate_policies.py`` writes templates/ledger.yaml from it; tests/template/test_ledger_rights.py holds the
other policies against it. A pattern is one of IAM: ``*`` also matches ``/``. Below ``runs/*/`` lies a run's ledger, and
inside it, below ``verification/``, that of comparing both trees: only those in ``COMPARE`` write there.
"""

from __future__ import annotations

from fnmatch import fnmatchcase

from fanout.flow.steps import STEPS
from fanout.ledger import keys, probe_keys, run_places
from fanout.ledger.sealing import PROVERS, SIGNER

RUNS = run_places.RUNS
_RUN = f"{RUNS}*/"
INNER = f"{_RUN}{keys.VERIFICATION}"
# The state machine itself, which writes the results of its Maps.
STATE_MACHINE = "Transfer"

_TASKS = (
    *("ListSegment", "CopyShard", "VerifyShard", "FinishTree", "FinishShard", "DeleteShard", "RemoveDirectories"),
)
_CONTROL = (
    *("PlanTransfer", "CheckMount", "GatherSegments", "PartitionShards", "BeginDeletion", "BeginVerification"),
    "ComputeChecksums",
)
COMPARE = (
    *("BeginVerification", "ListSegment", "GatherSegments", "PartitionShards", "VerifyShard", "RecordShardFailure"),
    *("BeginDeletion", "DeleteShard", "RemoveDirectories", "ComputeChecksums", STATE_MACHINE),
)
# Those whose roles may write objects of trees, or begin uploads.
WRITE_DATA = ("PlanTransfer", "CheckMount", "ListSegment", "CopyShard", "FinishTree", "FinishShard", "ShortWay")
# Writes what those write that it stands for.
SHORT_WAY = "ShortWay"
_STANDS_FOR = frozenset({"CheckMount", "ListSegment", "GatherSegments", "PartitionShards", "CopyShard", "FinishTree"})
_FINISH = ("FinishTree", "FinishShard")
_WITHDRAW = ("FinishTree", "RemoveDirectories")
_VERIFY = ("VerifyShard",)
_SHARDS = ("CopyShard", "VerifyShard", *_FINISH, "DeleteShard", "RemoveDirectories")
_PROBE = ("OpenProbe", "CloseProbe")
_MAP_RESULTS = "map-results/"
_PHASES = "phases/"
_FINISHING = "finishing/"
_ATTEMPTS = "attempts/"
_STAGED = f"{run_places.STAGED}*"

# Below a run's prefix, and in the ledger inside it.
_OF_RUNS: dict[str, tuple[str, ...]] = {
    keys.REQUEST: ("PlanTransfer",),
    keys.PLAN: ("PlanTransfer",),
    keys.FILE_SYSTEMS: ("PlanTransfer",),
    keys.LIMITS: ("PlanTransfer",),
    keys.WAITING: ("PlanTransfer",),
    keys.CARRIED + "*": ("PlanTransfer",),
    keys.EARLIER: ("PlanTransfer", "CheckMount"),
    keys.OWNERS: ("CheckMount",),
    keys.CLOCKS: ("CheckMount",),
    keys.SOURCE_ROOT: ("CheckMount",),
    keys.DESTINATION_ROOT: ("CheckMount",),
    keys.VERSION_BEFORE: ("CheckMount",),
    # The marks at both ends, and the runs that were not fenced; the directories that the run stages in. A pattern each,
    # for the policy of ShortWay is as long as it may be.
    "fencing/*fenced*": ("CheckMount",),
    "fencing/*staged.json": ("CheckMount",),
    "segments/round-*": ("PlanTransfer", "GatherSegments", "BeginVerification"),
    keys.SEGMENTS_DONE + "*": ("ListSegment",),
    keys.SEGMENTS_FAILED + "*": ("ListSegment",),
    keys.SHARD_FILES + "*": ("ListSegment", "PartitionShards"),
    "outcomes/listed/*": ("ListSegment",),
    "outcomes/extras/*": ("ListSegment",),
    "listed/*": ("ListSegment",),
    "attributes/*": ("ListSegment",),
    keys.BIG_FILES_BEGUN + "*": ("ListSegment",),
    "index/*": ("ListSegment",),
    "links/*": ("ListSegment", "PartitionShards", "BeginDeletion"),
    keys.LINKS: ("PartitionShards",),
    f"{keys.SHARDS}*": ("PartitionShards",),
    keys.FORECAST: ("PartitionShards",),
    keys.BIG_FILES: ("PartitionShards",),
    keys.PACING + "*": ("PartitionShards", "PaceCopy"),
    "restores/copies-at-once.json": ("PartitionShards", "FinishTree"),
    "restores/*": ("FinishTree",),
    keys.OUTCOMES + "*": _SHARDS,
    # It has looked at nothing, so it records failures alone: ``shards.record`` refuses more under such a name.
    f"{keys.OUTCOMES}*{keys.FAILED}.json*": (*_SHARDS, "RecordShardFailure"),
    keys.DIRECTORIES + "*": ("ListSegment", "CopyShard"),
    keys.MADE + "*": ("CopyShard", *_FINISH),
    keys.BIG_FILE_OUTCOMES + "*": _FINISH,
    _FINISHING + "*": _FINISH,
    keys.DIRECTORY_FAILURES + "*": (*_FINISH, "RemoveDirectories"),
    keys.DIRECTORIES_SET: ("FinishTree",),
    keys.DIRECTORIES_MENDED: ("RemoveDirectories",),
    keys.FINISHED: _WITHDRAW,
    keys.WITHDRAWN: _WITHDRAW,
    keys.SOURCE_FINISHED: _WITHDRAW,
    keys.SOURCE_WITHDRAWN: _WITHDRAW,
    keys.PUBLISHED: ("FinishTree",),
    keys.SEALED: ("FinishTree",),
    f"{keys.DELETIONS}*": ("BeginDeletion",),
    keys.DELETED_DIRECTORIES: ("BeginDeletion",),
    "deletions/*": ("ListSegment",),
    # What a move is to delete; the shards of a sync are of its listing.
    "deletions/move-*": ("VerifyShard", "BeginDeletion"),
    "deletions/looks/*": ("DeleteShard", "RemoveDirectories"),
    keys.EARLIER_PROOFS: ("BeginVerification",),
    "seen/*": _VERIFY,
    "checksums/*": _VERIFY,
    "checksums/jobs/*": ("ComputeChecksums",),
    _ATTEMPTS + "*": ("CopyShard", "VerifyShard"),
    keys.THROTTLED + "*": _TASKS,
    keys.WORKERS + "*": _TASKS,
    keys.PROGRESS + "*": _TASKS,
    keys.ENTRIES + "*": (*_TASKS, "SummariseTransfer"),
    keys.SPENDING: (*_TASKS, *_CONTROL, "PaceCopy"),
    keys.NOTES + "*": (*_TASKS, *_CONTROL, "PaceCopy", "SummariseTransfer", "PlanProbe"),
    # Named, because the names are also those of documents of the run.
    f"{keys.NOTES}index.json": ("PlanTransfer", "CheckMount", "ListSegment"),
    f"{keys.NOTES}plan.json": ("PlanTransfer",),
    f"{_PHASES}plan.json": ("PlanTransfer",),
    keys.PACING_PLAN: ("PartitionShards", "PaceCopy"),
    _PHASES + "*": (*_CONTROL, "FinishTree", "SummariseTransfer", *_PROBE),
    # A run that is skipped has no other function than PlanTransfer.
    keys.SUMMARY: ("PlanTransfer", "SummariseTransfer"),
    keys.FAILURES: ("PlanTransfer", "SummariseTransfer"),
    keys.REPORT: ("PlanTransfer", "SummariseTransfer"),
    keys.CERTIFICATE: ("SummariseTransfer",),
    keys.INDEX: ("SummariseTransfer",),
    keys.PLANNED: ("SummariseTransfer",),
    "planned-*": ("SummariseTransfer",),
    "failures-*": ("SummariseTransfer",),
    _MAP_RESULTS + "*": (STATE_MACHINE,),
    probe_keys.PLAN: ("PlanProbe",),
    probe_keys.RESULT: ("SummariseProbe",),
    probe_keys.PAGE: ("SummariseProbe",),
    probe_keys.SAMPLES + "*": ("RunExperiment",),
    probe_keys.READY + "*": ("RunExperiment",),
}
# Beside the runs, and outside of them.
_BESIDE: dict[str, tuple[str, ...]] = {
    f"{RUNS}{run_places.BATCHES}/*": ("StartBatch",),
    f"{RUNS}{run_places.INDEXES}/*": ("SummariseTransfer",),
    f"{RUNS}{run_places.LATEST}/*": ("SummariseTransfer",),
    f"{RUNS}{run_places.MOUNTS}/*": ("CheckMount",),
    f"{RUNS}{run_places.VERSIONS}/*": ("FinishTree",),
    # Asked by ``fanout doctor`` whether they can write.
    f"{RUNS}{run_places.DOCTOR}/*": ("ExamineNetwork", "ExamineTurns"),
}
OUTSIDE: dict[str, tuple[str, ...]] = {
    f"{run_places.SEALS}*": ("PlanTransfer",),
    f"{run_places.LOCKS}*": ("PlanTransfer", "SummariseTransfer"),
    f"{run_places.PROBES}*": ("SummariseProbe",),
    _STAGED: ("CopyShard",),
    # The role of the jobs of S3 Batch Operations, which is no function's.
    f"{run_places.REPORTS}*": ("ChecksumJob",),
}
# Who reads those. Each function reads what S3 computed, which is of no use to the others.
_PROVERS = tuple(sorted({STEPS[state].function for state in (*PROVERS, SIGNER)}))
READ_OUTSIDE: dict[str, tuple[str, ...]] = {
    f"{run_places.SEALS}*": _PROVERS,
    f"{run_places.LOCKS}*": ("PlanTransfer", "SummariseTransfer", "CheckMount", SHORT_WAY),
    f"{run_places.PROBES}*": ("PlanTransfer",),
    _STAGED: ("CopyShard",),
}
# Documents that one pattern names together, where a function writes none of them: a policy has 10,240 characters.
_TOGETHER = tuple(f"{_RUN}{stem}*" for stem in ("probe", "failures", "planned", "version-"))
# Inside what others may write: only these write here.
_BOUNDS: dict[str, tuple[str, ...]] = {
    f"{INNER}*": COMPARE,
    f"{INNER}plan.json": ("BeginVerification",),
    f"{_RUN}{keys.OUTCOMES}verified-*": _VERIFY,
    f"{_RUN}{keys.OUTCOMES}source-*": _VERIFY,
}
_ALONE = {f"{_RUN}{below}": who for below, who in _OF_RUNS.items()} | _BESIDE
# What no run comes to that may go the short way: it publishes nothing, restores nothing and deletes at no source.
_NOT_SHORT = {
    f"{_RUN}{below}"
    for below in (
        *(keys.PUBLISHED, keys.SEALED, keys.VERSION_BEFORE, f"{keys.MADE}*"),
        *("restores/copies-at-once.json", "restores/*", "deletions/looks/*"),
        *(keys.SOURCE_FENCED, keys.SOURCE_FINISHED, keys.SOURCE_WITHDRAWN),
    )
} | {f"{RUNS}{run_places.VERSIONS}/*"}
KINDS: dict[str, tuple[str, ...]] = {
    pattern: (*who, SHORT_WAY) if _STANDS_FOR & {*who} and pattern not in _NOT_SHORT else who
    for pattern, who in sorted(_ALONE.items())
}
WRITERS = tuple(dict.fromkeys(who for writers in KINDS.values() for who in writers))


def written_by(function: str) -> tuple[str, ...]:
    """The patterns below ``runs/`` that a function writes."""
    own = tuple(pattern for pattern, writers in KINDS.items() if function in writers)
    return own + tuple(one for one, who in _BOUNDS.items() if function in who and one == f"{INNER}plan.json")


def kept_from(function: str) -> tuple[str, ...]:
    """The patterns below ``runs/`` that a function must not write, though one of its own, or of data, matches them.

    What lies right below a run's prefix can only be matched by a parameter for data (``arn:aws:s3:::*``).
    """
    own = written_by(function)
    samples = [sample_of(pattern) for pattern in own]
    deep = [pattern for pattern in KINDS if function in WRITE_DATA or _directory(pattern).endswith("/")]
    others = [pattern for pattern in deep if pattern not in own]
    found = [_whole(pattern) if not _shares(pattern, own) else pattern for pattern in others]
    found += [pattern for pattern, writers in _BOUNDS.items() if function not in writers]
    for pattern in _TOGETHER:
        one_by_one = [other for other in found if fnmatchcase(other, pattern)]
        if len(one_by_one) > 1 and not any(fnmatchcase(sample, pattern) for sample in samples):
            found = [other for other in found if other not in one_by_one] + [pattern]
    return tuple(one for one in dict.fromkeys(found) if not any(fnmatchcase(sample, one) for sample in samples))


def unread_by(function: str) -> tuple[str, ...]:
    """The keys outside of ``runs/`` that a function must not read, though a parameter for data matches them."""
    return tuple(pattern for pattern, readers in READ_OUTSIDE.items() if function not in readers)


def unwritten_by(function: str) -> tuple[str, ...]:
    """The same of those that it must not write."""
    return tuple(pattern for pattern, writers in OUTSIDE.items() if function not in writers)


def sample_of(pattern: str, inner: bool = False) -> str:
    """A key of a pattern, in the ledger of a run or in the one inside it."""
    key = pattern.replace("*", "x")
    return key.replace("runs/x/", f"runs/x/{keys.VERIFICATION}", 1) if inner else key


def _shares(pattern: str, own: tuple[str, ...]) -> bool:
    """Whether a function writes something in the directory of a pattern, right below a run's prefix."""
    return any(one.startswith(_directory(pattern)) for one in own)


def _directory(pattern: str) -> str:
    parts = pattern.split("/")
    return "/".join(parts[:3]) + "/" if len(parts) > 3 else pattern


def _whole(pattern: str) -> str:
    """The whole directory right below a run's prefix, where a pattern lies in one."""
    return f"{_directory(pattern)}*" if _directory(pattern).endswith("/") else pattern
