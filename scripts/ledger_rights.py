"""Which function writes which objects of the work bucket. The roles are made of this, and hold nothing else.

Each kind of object of the ledger says who writes it, where it is declared (``fanout.ledger.kind``).

``scripts/generate_policies.py`` writes templates/ledger.yaml from it; tests/template/test_ledger_rights.py holds the
other policies against it. A pattern is one of IAM: ``*`` also matches ``/``. Below ``runs/*/`` lies a run's ledger, and
inside it, below ``verification/``, that of comparing both trees: only those in ``COMPARE`` write there.
"""

from __future__ import annotations

from collections import defaultdict
from fnmatch import fnmatchcase
from importlib import import_module
from pkgutil import walk_packages
from typing import Any

import fanout
from fanout.flow.belongs import TURNS
from fanout.flow.steps import STEPS
from fanout.ledger import keys, run_places
from fanout.ledger.kind import ObjectKind
from fanout.ledger.sealing import Seals

RUNS = run_places.RUNS
_RUN = f"{RUNS}*/"
INNER = f"{_RUN}{run_places.VERIFICATION}"
# The state machine itself, which writes the results of its Maps.
STATE_MACHINE = "Transfer"

COMPARE = (
    *("BeginVerification", "ListSegment", "GatherSegments", "PartitionShards", "VerifyShard", "RecordShardFailure"),
    *("BeginDeletion", "DeleteShard", "RemoveDirectories", "ComputeChecksums", STATE_MACHINE),
)
# Those whose roles may write objects of trees, or begin uploads.
WRITE_DATA = ("PlanTransfer", "CheckMount", "ListSegment", "CopyShard", "FinishTree", "FinishShard", "ShortWay")
# Writes what those write that it stands for.
SHORT_WAY = "ShortWay"
_STANDS_FOR = frozenset({"CheckMount", "ListSegment", "GatherSegments", "PartitionShards", "CopyShard", "FinishTree"})
_VERIFY = ("VerifyShard",)
_STAGED = f"{run_places.STAGED}*"
_TURNS = f"{run_places.LOCKS}*"
WRITE_TURNS = ("PlanTransfer", "SummariseTransfer")
# Each step that changes an end asks whether its run still has its turn there; CheckMount whom it fences.
_SEE_TURNS = tuple(sorted({STEPS[state].function for state in TURNS} | {"CheckMount", SHORT_WAY}))


def _import_all() -> None:
    """Import every module of the package, so that each has declared its kinds."""
    for module in walk_packages(fanout.__path__, "fanout."):
        import_module(module.name)


def _of_kinds() -> tuple[dict[str, tuple[str, ...]], frozenset[str]]:
    """The writers of each pattern, and the patterns of what no run comes to that may go the short way."""
    _import_all()
    found: defaultdict[str, tuple[str, ...]] = defaultdict(tuple)
    for kind in ObjectKind.declared:
        found[_pattern(kind)] += kind.by
    long = frozenset(_pattern(kind) for kind in ObjectKind.declared if not kind.short)
    return dict(found), long


def _pattern(kind: ObjectKind[Any]) -> str:
    return f"{kind.place}*" if kind.place else f"{_RUN}{kind.area}"


_DECLARED, _NOT_SHORT = _of_kinds()
# What no ledger writes: the results of Maps, manifests of events, and whether ``fanout doctor`` can write.
_OTHERS: dict[str, tuple[str, ...]] = {
    f"{_RUN}map-results/*": (STATE_MACHINE,),
    f"{RUNS}{run_places.BATCHES}/*": ("StartBatch",),
    f"{RUNS}{run_places.DOCTOR}/*": ("ExamineNetwork", "ExamineTurns"),
}
OUTSIDE: dict[str, tuple[str, ...]] = {
    **{pattern: who for pattern, who in _DECLARED.items() if not pattern.startswith(RUNS)},
    _TURNS: WRITE_TURNS,
    _STAGED: ("CopyShard",),
    # The role of the jobs of S3 Batch Operations, which is no function's.
    f"{run_places.REPORTS}*": ("ChecksumJob",),
}
# Who reads those. Each function reads what S3 computed, which is of no use to the others.
_SEALERS = tuple(sorted({step.function for step in STEPS.values() if step.seals is not Seals.NOTHING}))
READ_OUTSIDE: dict[str, tuple[str, ...]] = {
    f"{run_places.SEALS}*": _SEALERS,
    _TURNS: (*WRITE_TURNS, *_SEE_TURNS),
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
KINDS: dict[str, tuple[str, ...]] = {
    pattern: (*who, SHORT_WAY) if _STANDS_FOR & {*who} and pattern not in _NOT_SHORT else who
    for pattern, who in sorted((_DECLARED | _OTHERS).items())
    if pattern.startswith(RUNS)
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


def seen_by(function: str) -> tuple[str, ...]:
    """The keys outside of ``runs/`` that a function reads and does not write, and this table alone lets it read."""
    return (_TURNS,) if function in _SEE_TURNS else ()


def unread_by(function: str) -> tuple[str, ...]:
    """The keys outside of ``runs/`` that a function must not read, though a parameter for data matches them."""
    return tuple(pattern for pattern, readers in READ_OUTSIDE.items() if function not in readers)


def unwritten_by(function: str) -> tuple[str, ...]:
    """The same of those that it must not write."""
    return tuple(pattern for pattern, writers in OUTSIDE.items() if function not in writers)


def sample_of(pattern: str, inner: bool = False) -> str:
    """A key of a pattern, in the ledger of a run or in the one inside it."""
    key = pattern.replace("*", "x")
    return key.replace("runs/x/", f"runs/x/{run_places.VERIFICATION}", 1) if inner else key


def _shares(pattern: str, own: tuple[str, ...]) -> bool:
    """Whether a function writes something in the directory of a pattern, right below a run's prefix."""
    return any(one.startswith(_directory(pattern)) for one in own)


def _directory(pattern: str) -> str:
    parts = pattern.split("/")
    return "/".join(parts[:3]) + "/" if len(parts) > 3 else pattern


def _whole(pattern: str) -> str:
    """The whole directory right below a run's prefix, where a pattern lies in one."""
    return f"{_directory(pattern)}*" if _directory(pattern).endswith("/") else pattern
