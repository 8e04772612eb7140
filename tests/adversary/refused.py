"""Runs whose ends are one place, lie in each other, a published tree or the work bucket: refused, and nothing changes.

Such a run is an act that names ends of its own: the same directories and buckets under other names. The tree of the
script is its source.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator
from random import Random
from typing import Any

from fanout.request.parts.publish import PUBLISHER
from tests.adversary.deeds import soon
from tests.adversary.lab import Lab
from tests.adversary.machine import Machine
from tests.adversary.scope import Finding
from tests.adversary.script import (
    INSIDE_S3,
    MOUNT_TO_S3,
    S3_TO_MOUNT,
    STAGING,
    TWO_MOUNTS,
    WITHIN_MOUNT,
    Act,
    Fault,
    Spec,
)
from tests.adversary.trees import Version
from tests.adversary.vocabulary import REFUSALS

REFUSED_RUN = "refused"
Ends = dict[str, str]
# Lead to where the named directory, or bucket, is; see ``lab.Lab.mounts`` and ``strict_s3.StrictS3.aliases``.
ONE_PLACE: dict[str, tuple[Ends, ...]] = {
    TWO_MOUNTS: (
        {"destination": "efs://alias/in"},
        {"destination": "efs://alias/in/d0"},
        {"destination": "efs://alias/"},
        {"destination": "efs://nested/"},
        {"destination": "efs://nested/d0"},
        {"source": "efs://nested/", "destination": "efs://alias/in"},
        {"source": "efs://nested/d0", "destination": "efs://alias/in"},
    ),
    INSIDE_S3: (
        {"destination": "s3://source-alias/tree/in/"},
        {"destination": "s3://source-alias/tree/in/d0/"},
        {"destination": "s3://source-alias/tree/"},
        {"source": "s3://source-alias/tree/", "destination": "s3://source-bucket/tree/in/"},
        {"source": "s3://work-bucket/runs/"},
        {"destination": "s3://work-bucket/locks/"},
    ),
    S3_TO_MOUNT: ({"source": "s3://work-bucket/runs/"}, {"source": "s3://work-bucket/"}),
    MOUNT_TO_S3: ({"destination": "s3://work-bucket/staged/"},),
    WITHIN_MOUNT: (),
}
# Only a run whose ledger is there finds it out.
WORK_ALIAS: dict[str, tuple[Ends, ...]] = {
    S3_TO_MOUNT: ({"source": "s3://work-alias/runs/"},),
    MOUNT_TO_S3: ({"destination": "s3://work-alias/locks/"},),
}
MODES: tuple[dict[str, Any], ...] = (
    {"mode": "move"},
    {"mode": "move", "verify": "content"},
    {"mode": "sync", "delete_guard": {"max_percent": 100.0}},
    {"mode": "copy"},
)


def refused(
    draw: Random, direction: str, trees: tuple[tuple[Spec, ...], ...], in_s3: bool, acts: tuple[Act, ...]
) -> tuple[Act, ...]:
    """The acts with such a run before the last one, now and then; ``in_s3`` says where the ledger lies."""
    ends = [(one, draw.choice(MODES)) for one in ONE_PLACE[direction]]
    ends += [(one, draw.choice(MODES)) for one in WORK_ALIAS.get(direction, ()) if in_s3]
    for end, scheme, mode, specs in zip(("source", "destination"), ("in", "out"), ("move", "sync"), trees, strict=True):
        for note in (spec.path for spec in specs if spec.path.endswith(f"/{PUBLISHER}")):
            mount = "archive" if direction == TWO_MOUNTS and end == "destination" else "data"
            ends.append(({end: f"efs://{mount}/{scheme}/{note.removesuffix(PUBLISHER)}v1"}, {"mode": mode}))
    if not ends or draw.random() > 0.15:
        return acts
    one, mode_of_it = draw.choice(ends)
    faults = _faults(draw) if draw.random() < 0.4 else ()
    return (*acts[:-1], Act("run", REFUSED_RUN, {**one, **mode_of_it}, faults), acts[-1])


def _faults(draw: Random) -> tuple[Fault, ...]:
    """What goes wrong while the ends are looked at."""
    troubles = (
        Fault("any", soon(draw, 60), "kill", draw.random() < 0.5),
        Fault("check/any", soon(draw, 40), "kill", draw.random() < 0.5),
        Fault("check/any", soon(draw, 40), "twice"),
        Fault("check/any", soon(draw, 40), "late"),
        Fault("ledger", soon(draw, 30), "no answer of the ledger", times=draw.choice((1, 2, 9))),
        Fault(
            draw.choice(("check/os:stat", "check/os:open", "check/os:mkdir", "check/os:scandir")),
            soon(draw, 12),
            draw.choice(REFUSALS),
            times=draw.choice((1, 2, 1000)),
        ),
    )
    return tuple(draw.sample(troubles, draw.choice((1, 1, 2))))


def judge_refused(lab: Lab, act: Act, machine: Machine) -> Iterator[Finding]:
    """Carry the run out; it must be refused by name, or fail of its faults, and leave everything as it is."""
    before, told = _everything(lab), Counter(lab.conductor.told)
    result = machine.run()
    after = _everything(lab)
    troubled = lab.conductor.told != told
    for left in sorted(lab.base.rglob(f"{STAGING}{act.run}")):
        if not troubled:
            yield Finding("staged", f"run {act.run} {act.options} left {left.relative_to(lab.base)}")
        shutil.rmtree(left)
    for text in result.unnamed:
        yield Finding("unnamed error", f"run {act.run}, {text}")
    named = troubled or "InvalidRequest" in str(result.error)
    if result.status != "FAILED" or not named:
        yield Finding("one place", f"run {act.run} {act.options} ended {result.status}: {result.error}")
    changed = sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))
    # The directory that the request names as its destination may be there by now, with nothing in it.
    made = f"/{str(act.options.get('destination', '')).rstrip('/').rpartition('/')[2]}/"
    changed = [path for path in changed if path in before or not f"/{path.partition(': ')[2]}".endswith(made)]
    if changed:
        yield Finding("one place", f"run {act.run} {act.options} changed {changed}")


def _everything(lab: Lab) -> dict[str, tuple[Any, ...]]:
    """Both mounts and all buckets but the ledger's, without what is staged."""
    with lab.conductor.paused():
        found: dict[str, Version] = {}
        for place in (lab.source, lab.destination):
            found |= {f"in {place.name}: {path}": one for path, one in place.snapshot().items()}
            found |= {f"around {place.name}: {path}": one for path, one in place.around().items()}
        return {path: _seen(one) for path, one in found.items() if STAGING not in path}


def _seen(one: Version) -> tuple[Any, ...]:
    mtime_ns = None if one.kind == "directory" else one.mtime_ns  # which what is staged moves
    return one.kind, one.data, one.mode, one.uid, one.gid, mtime_ns, one.mark
