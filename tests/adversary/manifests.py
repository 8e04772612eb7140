"""The list of a script: how it is written, what it names, and how somebody writes it anew while a run works.

| drawn                                            | what must hold                                              |
|--------------------------------------------------|-------------------------------------------------------------|
| the list is written anew in the middle of a run  | the run copies what the list named that it read             |
| and the same request is started meanwhile        | it is skipped only if the list is the one that the other read |
| and the run is stopped, and another resumes it   | that one carries on with the list of the first              |
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from random import Random
from typing import Any

from msgspec.structs import replace

from fanout.model.path_rules import parents_of
from tests.adversary.buckets import BucketPlace
from tests.adversary.deeds import soon
from tests.adversary.events import batch, judge_batch
from tests.adversary.lab import LISTS, Lab
from tests.adversary.scope import Finding
from tests.adversary.script import INSIDE_S3, MOUNT_TO_S3, Act, Change, Fault, Script

LIST, ANEW = "list.jsonl", "list anew"
# States of a run that has read the names of the list's parts, as far as the short way goes and beyond.
_STATES = ("list", "gather", "partition", "copy", "copy", "copy", "finish", "begin verification", "verify", "summarise")
Acts = tuple[Act, ...]


def put_manifest(script: Script, lab: Lab) -> list[Finding]:
    """Write the manifest where the script's request names one."""
    paths = sorted(spec.path for spec in script.source)
    return _write(script, lab, paths, script.seed) if "manifest" in script.options else []


def write_anew(script: Script, lab: Lab, seed: int) -> list[Finding]:
    """Write the list anew: some of the entries, by the seed, so that the version is another one."""
    if "manifest" not in script.options:
        return []
    paths = sorted(spec.path for spec in script.source)
    draw = Random(seed)
    return _write(script, lab, draw.sample(paths, draw.randint(1, len(paths))) if paths else [], seed)


def _write(script: Script, lab: Lab, paths: Iterable[str], seed: int) -> list[Finding]:
    if script.events and isinstance(lab.source, BucketPlace):
        made, keys = batch(lab.source.bucket, lab.source.prefix, paths, seed)
        lab.truth.put(LISTS, LIST, "".join(f"{json.dumps(row)}\n" for row in made).encode())
        return list(judge_batch(made, keys))
    rows = [json.dumps({"path": path, "phase": "verify"} if _is_of_verification(script) else path) for path in paths]
    if script.seed % 3 == 0:
        rows.insert(1, '"\\ud800x"')
    lab.truth.put(LISTS, LIST, "".join(f"{row}\n" for row in rows).encode())
    return []


def version_now(lab: Lab) -> str:
    """The version of the list, as S3 names it; empty without a list."""
    stored = lab.truth.buckets[LISTS].get(LIST)
    return stored.etag if stored else ""


def named(script: Script, options: dict[str, Any], lab: Lab) -> frozenset[str] | None:
    """The paths that the list names, and directories above them where it may; ``None`` without a list."""
    if "manifest" not in options:
        return None
    rows = [json.loads(line) for line in lab.truth.buckets[LISTS][LIST].data.splitlines()]
    prefix = lab.source.prefix if isinstance(lab.source, BucketPlace) else ""
    paths = [row if isinstance(row, str) else row.get("path", row.get("key", "")[len(prefix) :]) for row in rows]
    above = [parent for path in paths for parent in parents_of(path)] if _is_of_verification(script) else []
    return frozenset((*paths, *above))


def _is_of_verification(script: Script) -> bool:
    """Whether the manifest is a verification's, which on a mount names the directories above too."""
    return script.seed % 5 == 1 and script.direction not in (MOUNT_TO_S3, INSIDE_S3)


def written_anew(draw: Random, options: dict[str, Any], acts: Acts) -> Acts:
    """Draw one of the table's rows in place of ``acts``, often where the request has a list."""
    chance, row, wait = draw.random(), draw.random(), Act("wait", seconds=draw.randint(5, 30))
    anew = Act("change", change=Change(ANEW, "", draw.randrange(1, 10**6), "list"))
    kind, at = f"{draw.choice(_STATES)}/any", soon(draw, 30)
    if chance > 0.6 or "manifest" not in options or acts[0].what != "run":
        return acts
    last = Act("run", "last")
    if row < 0.5:
        meanwhile = Fault(kind, at, "another run", acts=(anew, wait, Act("run", "x")))
        return (Act("run", "r1", faults=(meanwhile,)), wait, last)
    changed = Fault(kind, at, "change", draw.random() < 0.5, change=anew.change)
    if row < 0.75:
        return (replace(acts[0], faults=(*acts[0].faults, changed)), *acts[1:])
    stop = Fault(f"{draw.choice(('copy', 'finish'))}/any", soon(draw, 40), "stop")
    resumed = Act("run", "r2", {"resume_from": "r1"})
    return (Act("run", "r1", faults=(changed, stop)), wait, anew, wait, resumed, wait, last)


def judge_skipped(run: str, status: str, holder: str, read: dict[str, str]) -> Iterator[Finding]:
    """A run is skipped only for one that reads the same list; ``read`` has the version that each run found."""
    if status == "SKIPPED" and read.get(holder) != read.get(run):
        yield Finding("skipped", f"run {run} reads another list than run {holder}, for which it was skipped")
