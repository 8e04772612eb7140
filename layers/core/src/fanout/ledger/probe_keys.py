"""Where the parts of a probe lie in the work bucket: below ``runs/<probe id>/``, the newest result by file system."""

from __future__ import annotations

import re

from fanout.ledger import run_places
from fanout.ledger.documents import Moment, Notes
from fanout.ledger.kind import KeyPart, ObjectKind, PlainText, Untyped
from fanout.model.errors import InvalidRequest
from fanout.model.file_system import Staged

PLAN = ObjectKind("probe-plan.json", Untyped, by=("PlanProbe",))
RESULT = ObjectKind("probe.json", Untyped, by=("SummariseProbe",))
# The directory that the probe made; nothing else is entered or removed under its name.
OWN_DIRECTORY = ObjectKind("probe-directory.json", Staged, by=("OpenProbe",))
# What a state left on the mount, though it has the name of a probe's directory.
left_key = ObjectKind("probe-left/{phase}.json", Notes, by=("OpenProbe", "CloseProbe"))
PAGE = ObjectKind("probe.html", PlainText, by=("SummariseProbe",))
SAMPLES, READY = "samples/", "ready/"
# The functions that wait to begin a round; that one of them waits.
ready_prefix = KeyPart(READY + "{number:02d}-")
ready_key = ObjectKind(READY + "{name}.json", Moment, by=("RunExperiment",))

_NAME = re.compile(r"[a-z][a-z0-9-]{0,63}")


def results_prefix(file_system: str) -> str:
    """The results for a file system, by its id, or by the mount's name where it has none."""
    if not _NAME.fullmatch(file_system):
        raise InvalidRequest("mount", f"{file_system[:80]!r} is not the name of a file system", "a-z, 0-9 and -")
    return f"{run_places.PROBES}{file_system}/"
