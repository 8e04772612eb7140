"""Where the parts of a probe lie in the work bucket: below ``runs/<probe id>/``, the newest result by file system."""

from __future__ import annotations

import re

from fanout.ledger import run_places
from fanout.ledger.keys import Key
from fanout.model.errors import InvalidRequest

PLAN = "probe-plan.json"
RESULT = "probe.json"
PAGE = "probe.html"
SAMPLES = "samples/"
READY = "ready/"
LATEST = "latest.json"
# The measurements of one function; the functions that wait to begin a round; that one of them waits.
samples_key = Key(SAMPLES + "{name}.json")
ready_prefix = Key(READY + "{number:02d}-")
ready_key = Key(READY + "{name}.json")

_NAME = re.compile(r"[a-z][a-z0-9-]{0,63}")


def results_prefix(file_system: str) -> str:
    """The results for a file system, by its id, or by the mount's name where it has none."""
    if not _NAME.fullmatch(file_system):
        raise InvalidRequest("mount", f"{file_system[:80]!r} is not the name of a file system", "a-z, 0-9 and -")
    return f"{run_places.PROBES}{file_system}/"
