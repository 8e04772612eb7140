"""Trees that tell the checksums that S3 computed of their objects, as if it kept them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from msgspec.structs import replace

from fanout.checksums.progress import jobs_of, reported
from fanout.checksums.rows import DESTINATION, SOURCE
from fanout.ledger.ledger import Ledger
from fanout.model.checksum import from_base64
from fanout.model.entry import Found, bare
from fanout.model.errors import NotFound
from fanout.model.location import S3Location
from fanout.model.shard import Shard
from fanout.ports.tree import ReadTree
from fanout.request.plan import Plan
from fanout.work.context import Context

# The CRC64NVME, as S3 writes it, by path and ETag.
ComputedSums = Mapping[tuple[str, str], str]


def with_computed(shard: Shard, context: Context) -> Context:
    """The same attempt, whose trees tell what S3 computed of a shard's objects; itself where it computed nothing."""
    ledger = context.ledger
    plan = ledger.read_plan()
    if not (plan.request.course.compares and plan.request.computes_checksums):
        return context
    known = _sums(shard, plan, ledger)
    source, destination = context.ends.source, context.ends.destination
    return context.with_trees(
        lambda plan: _telling(source(plan), known.get(SOURCE)),
        lambda plan: _telling(destination(plan), known.get(DESTINATION)),
    )


def _sums(shard: Shard, plan: Plan, ledger: Ledger) -> dict[str, ComputedSums]:
    jobs = jobs_of(shard, ledger)
    if not jobs:
        return {}
    entries = ledger.read_shard(shard) if shard.blocks is None else [ledger.read_big_file(shard.key).entry]
    wanted = {SOURCE: {one.path for one in entries}, DESTINATION: {one.placed.path for one in entries}}
    ends = {SOURCE: plan.request.source, DESTINATION: plan.request.destination}
    found: dict[str, ComputedSums] = {}
    for end, job_id in jobs.items():
        place = ends.get(end)
        if isinstance(place, S3Location):
            try:
                found[end] = reported(job_id, place, wanted[end], plan.origin.bucket, ledger)
            except (NotFound, ValueError):
                continue  # its objects are read
    return found


_Tree = TypeVar("_Tree", bound=ReadTree)


def _telling(tree: _Tree | None, sums: ComputedSums | None) -> _Tree | None:
    return cast("_Tree", ComputedTree(tree, sums)) if sums and tree is not None else tree


class ComputedTree:
    """A ``Tree`` to compare: an object that has the ETag of one that S3 computed a checksum of tells that checksum."""

    def __init__(self, tree: ReadTree, sums: ComputedSums) -> None:
        self._tree, self._sums = tree, sums
        self.overlaps = tree.overlaps

    def __getattr__(self, name: str) -> Any:
        """All else."""
        return getattr(self._tree, name)

    def find_stored(self, path: str) -> Found | None:
        found = self._tree.find_stored(path)
        if found is None or found.crc64nvme is not None:
            return found
        checksum = self._sums.get((path, bare(found.entry.etag)))
        return found if checksum is None else replace(found, crc64nvme=from_base64(checksum))
