"""Where the ledgers of runs lie in the work bucket, and what lies next to them."""

from __future__ import annotations

import re
from hashlib import sha256

from fanout.model.errors import InvalidRequest

# No run, but a place next to the runs, so that it expires with them: manifests of batches of S3's events.
BATCHES = "batches"
# The same: which run's index the next run of a transfer uses.
INDEXES = "indexes"
# The same: what the last run that wrote to a mount found that it cannot keep.
MOUNTS = "mounts"
# The same: the figures of the last run with a source, a destination and a mode, which the next one's report shows.
LATEST = "latest"
# The same: the versions of a published tree, for people who ask for them.
VERSIONS = "versions"
# The same: whether ``fanout doctor`` can write.
DOCTOR = "doctor"
# No run can have one of these names.
RESERVED = (BATCHES, INDEXES, MOUNTS, LATEST, VERSIONS, DOCTOR)
# The ledger, inside a run's own, of comparing both trees.
VERIFICATION = "verification/"
RUNS, STAGED, LOCKS, PROBES = "runs/", "staged/", "locks/", "probes/"
# Where the secrets of runs that are to be certified lie: no place of the ledger, so that not everybody reads it.
SEALS = "seals/"
# Where S3 writes the checksums that it computed for runs.
REPORTS = "computed/"
# All that the stack keeps in its work bucket lies below these; nothing below them is an end of a transfer.
OURS = (RUNS, STAGED, LOCKS, PROBES, SEALS, REPORTS)
# docs.aws.amazon.com/step-functions/latest/dg/service-quotas.html: 80 characters.
_RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,79}")


def run_prefix(run_id: str) -> str:
    """The prefix of a run. Raises ``InvalidRequest`` for an id that could lead elsewhere."""
    if not _RUN_ID.fullmatch(run_id):
        raise InvalidRequest("run_id", f"{run_id[:80]!r} is not allowed", "1 to 80 of A-Z, a-z, 0-9, - and _")
    return f"{RUNS}{run_id}/"


def check_run_name(run_id: str, field: str = "run_id") -> None:
    """Raise ``InvalidRequest`` for the name of a run, or of a probe, whose ledger would be another place."""
    run_prefix(run_id)
    if run_id in RESERVED:
        problem = f"{run_id!r} is the name of another place in the work bucket"
        raise InvalidRequest(field, problem, "start it under another name")


def verification_prefix(run_id: str) -> str:
    """The prefix of the ledger of comparing both trees, inside a run's own."""
    return f"{run_prefix(run_id)}{VERIFICATION}"


def seal_key(run_id: str) -> str:
    """Below ``SEALS``: the secret of a run. Raises ``InvalidRequest`` for an id that could lead elsewhere."""
    return f"{run_prefix(run_id).removeprefix(RUNS)[:-1]}.json"


def run_of(key: str, name: str) -> str | None:
    """The run whose object of this name a key of the work bucket is; ``None`` for any other key."""
    runs, _, rest = key.partition("/")
    run_id, _, found = rest.partition("/")
    return run_id if (f"{runs}/", found) == (RUNS, name) and _RUN_ID.fullmatch(run_id) else None


def name_of(about: str) -> str:
    """The name of what is known of a destination, below ``VERSIONS``, of a mount or of several words as JSON."""
    return f"{sha256(about.encode()).hexdigest()[:32]}.json"


def staged_prefix(run_id: str) -> str:
    """Where bytes are staged between two mounts: not below ``runs/``, so that a lifecycle rule can name it."""
    return f"{STAGED}{run_prefix(run_id).removeprefix(RUNS)}"


def reports_prefix(run_id: str) -> str:
    """Where S3 writes what it computed: not below ``runs/``, where functions write."""
    return f"{REPORTS}{run_prefix(run_id).removeprefix(RUNS)}"
