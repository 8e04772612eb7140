"""A segment that is a part of a manifest, within its budget."""

from __future__ import annotations

from functools import partial

from fanout.facts import tuning
from fanout.listing.budget import Budget
from fanout.listing.lookups import LookupQueue
from fanout.listing.manifests.list_manifest import Lookups, list_manifest
from fanout.listing.manifests.manifest_lines import ManifestLines
from fanout.listing.segment_task import SegmentTask
from fanout.model.segment import Row, Segment


def list_rows(task: SegmentTask, queue: LookupQueue) -> tuple[list[Segment], list[str] | None]:
    """Look up the rows of the part until it ends or the time is up; returns what is left, and that no glob is told."""
    plan, looks = task.plan, task.entries.looks
    assert plan.request.manifest is not None and task.segment.manifest is not None
    deadline = task.context.deadline()
    lines = ManifestLines(task.context.ends.objects(plan), plan.request.manifest, task.segment.manifest, deadline)
    budget = Budget(tuning.SEGMENT_ENTRIES, deadline, task.notes)

    def refuse(row: Row) -> None:
        queue.run(partial(task.writer.refuse, row))

    def is_late(number: int) -> bool:
        return number == looks.rows or budget.used(1)

    lookups = Lookups(plan, task.source, looks.find)
    return list_manifest(lines, plan, lookups, queue.add, refuse, is_late), None
