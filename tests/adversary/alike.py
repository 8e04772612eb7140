"""Copies that somebody changed and that look alike: without metadata, or with other bytes and the old mtime.

| drawn                                            | what must hold                                      |
|--------------------------------------------------|-----------------------------------------------------|
| a copy in a bucket loses its metadata after a run | the next run that succeeds copies it again          |
| a copy gets other bytes after a stopped run       | the run that resumes that one, and succeeds, sees it |
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

from tests.adversary.deeds import soon
from tests.adversary.remedies import RETRIED
from tests.adversary.scope import Finding, Record, Scope
from tests.adversary.script import INSIDE_S3, MOUNT_TO_S3, S3_TO_MOUNT, Act, Change, Fault, Script, Spec
from tests.adversary.trees import Snapshot, Version

STRIP, SPOIL = "strip", "spoil"
ALIKE = frozenset({STRIP, SPOIL})
_TO_S3 = (MOUNT_TO_S3, INSIDE_S3)
_ATTRIBUTES = ("mode", "uid", "gid", "mtime_ns")
Acts = tuple[Act, ...]


def alike(draw: Random, direction: str, source: tuple[Spec, ...], options: dict[str, Any], acts: Acts) -> Acts:
    """Draw such a sequence in place of ``acts``, now and then."""
    chance, wait = draw.random(), Act("wait", seconds=draw.randint(5, 30))
    files = [spec.path for spec in source if spec.kind == "file"]
    mode = options.get("mode", "copy")
    if chance > 0.16 or not files or "overwrite" in options or direction not in (*_TO_S3, S3_TO_MOUNT):
        return acts
    some = draw.sample(files, draw.randint(1, len(files)))
    if chance < 0.08 and mode in ("copy", "sync") and direction in _TO_S3:
        first, last = Act("run", "r1"), Act("run", "last")
        again = draw.choice(((), (Act("run", "r2"), wait)))  # whose index then vouches for what the first one copied
        return (first, wait, *again, *_changes(STRIP, some), wait, last)
    if mode != "copy":
        return acts
    kind, most = draw.choice((("any", 300), ("copy/any", 40), ("verify/any", 10), ("finish/any", 10)))
    first = Act("run", "r1", faults=(Fault(kind, soon(draw, most), "stop"),))
    retried = Act("run", RETRIED, {"resume_from": "r1"})
    return (first, wait, *_changes(SPOIL, some), wait, retried, wait, Act("run", "last"))


def _changes(what: str, paths: list[str]) -> Iterator[Act]:
    for number, path in enumerate(paths):
        yield Act("change", change=Change(what, path, 10**6 + number, "destination"))


def judge_alike(script: Script, record: Record, changed: dict[str, str], versions: Snapshot) -> Iterator[Finding]:
    """The changed copies that stand are not what a run may leave; ``changed`` says what was done to each path."""
    if record.result.status != "SUCCEEDED" or record.options.get("mode") in ("plan", "verify") or record.nested:
        return
    scope, tree = Scope(script, record), record.window[-1]
    for path, what in changed.items():
        here, there = tree.get(path), record.after.get(path)
        rests = here is not None and all(one.get(path) == here for one in record.window)
        if here is None or there is None or not rests or not scope.holds(path, here, tree):
            continue
        if what == STRIP and there == versions[path] and _loses(here, there):
            yield Finding("lost metadata", f"run {record.run}: {path!r} does not tell what its source tells")
        # A run that went on while the resumed one was frozen may have made the copy, and to it nothing was promised.
        others = any(act.what == "run" for fault in script.faults() for act in fault.acts)
        alone = what == SPOIL and record.resumed and not others
        taken = alone and script.skew_seconds == 0 and here.content != there.content
        if taken and record.options.get("symlinks") != "follow":
            yield Finding("taken over", f"run {record.run} took other bytes for its copy of {path!r}")


def _loses(here: Version, there: Version) -> bool:
    return any(getattr(here, name) is not None and getattr(there, name) is None for name in _ATTRIBUTES)
