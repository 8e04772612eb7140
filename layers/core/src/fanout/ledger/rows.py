"""The ledger's rows as JSON values, there and back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from fanout.facts import limits
from fanout.model.books import Count, no_counts
from fanout.model.document import Json
from fanout.model.entry import Attributes, Entry, Kind
from fanout.model.outcome import Outcome, Reason, Result
from fanout.model.segment import Segment, part_from_row, part_row
from fanout.model.shard import Name, Shard


def entry_row(entry: Entry) -> list[Any]:
    """An entry of a shard's file.

    After six values come inode and target, where one of them tells something, and what the entry replaces, where
    that is known: six to nine in all.
    """
    row = [entry.path, entry.kind.value, entry.size, entry.mtime_ns, entry.changed_ns, entry.etag]
    if entry.inode or entry.target:
        row += entry.inode, entry.target
    if entry.replaces:
        row.append(entry.replaces)
    return row


def _long_row(entry: Entry) -> list[Any]:
    """With inode and target in any case, so that what follows them keeps its place."""
    row = [entry.path, entry.kind.value, entry.size, entry.mtime_ns, entry.changed_ns, entry.etag]
    row += entry.inode, entry.target
    return [*row, entry.replaces] if entry.replaces else row


_KINDS = {kind.value: kind for kind in Kind}


def entry_from_row(row: list[Any]) -> Entry:
    """The entry of a row that is about nothing else."""
    path, kind, size, mtime_ns, changed_ns, etag = row[:6]
    inode, target = row[6:8] if len(row) > 7 else ("", "")
    replaces = row[-1] if len(row) in (7, 9) else ""
    return Entry(path, _KINDS[kind], size, mtime_ns, changed_ns, etag, inode, target=target, replaces=replaces)


def name_row(name: Name) -> list[Any]:
    """A listed name of a file with several at one end or both."""
    return [*_long_row(name.entry), name.unchanged, name.inode_there]


def name_from_row(row: list[Any]) -> Name:
    """The name of a row."""
    return Name(entry_from_row(row[:-2]), row[-2], row[-1])


def link_row(entry: Entry, first: str) -> list[Any]:
    """A further name and the path of the first one; the latter is empty for a name that is unchanged.

    In a run that compares: a name, and in which way its grouping differs.
    """
    return [*_long_row(entry), first]


def link_from_row(row: list[Any]) -> tuple[Entry, str]:
    """The further name of a row and the path of the first one."""
    return entry_from_row(row[:-1]), row[-1]


def outcome_row(outcome: Outcome, index: int | None = None) -> Json:
    """An outcome; ``index`` is the entry's place in its shard."""
    row: Json = {
        "path": outcome.path,
        "kind": outcome.kind,
        "size": outcome.size,
        "outcome": outcome.result.value,
    }
    if index is not None:
        row["index"] = index
    if outcome.reason is not None:
        row["reason"] = outcome.reason.value
    if outcome.message:
        row["message"] = outcome.message
    if outcome.crc64nvme is not None:
        row["crc64nvme"] = outcome.crc64nvme
    return row


def outcome_from_row(row: Json) -> Outcome:
    """The outcome of a row."""
    return Outcome(
        path=row["path"],
        kind=row["kind"],
        size=row["size"],
        result=Result(row["outcome"]),
        reason=Reason(row["reason"]) if "reason" in row else None,
        message=row.get("message", ""),
        crc64nvme=row.get("crc64nvme"),
    )


def same_row(paths: Sequence[str], kinds: Sequence[Kind], sizes: Sequence[int]) -> Json:
    """The outcomes of entries that are unchanged because they are the same, in columns.

    A run that finds nothing to do has no others.
    """
    same = {"outcome": Reason.SAME.result.value, "reason": Reason.SAME.value}
    return {**same, "paths": paths, "kinds": kinds, "sizes": sizes}


def listed_outcomes(row: Json) -> Iterator[Outcome]:
    """The outcomes of a row that a listing wrote: of one entry, or of the many of ``same_row``."""
    if "paths" not in row:
        yield outcome_from_row(row)
        return
    result, reason = Result(row["outcome"]), Reason(row["reason"])
    for path, kind, size in zip(row["paths"], row["kinds"], row["sizes"], strict=True):
        yield Outcome(path, kind, size, result, reason)


def count_row(count: Count) -> Json:
    """Entries and bytes."""
    return {"entries": count.entries, "bytes": count.bytes}


def count_from_row(row: Json) -> Count:
    """The count of a row."""
    return Count(row["entries"], row["bytes"])


def counts_row(counts: dict[Result, Count]) -> Json:
    """Counts by outcome."""
    return {result.value: count_row(count) for result, count in counts.items()}


def counts_from_row(row: Json) -> dict[Result, Count]:
    """The counts of a row."""
    return no_counts() | {Result(name): count_from_row(count) for name, count in row.items()}


def segment_row(segment: Segment) -> Json:
    """A segment, as it stands in a round's list."""
    row: Json = {"id": segment.id, "prefix": segment.prefix, "after": segment.after, "until": segment.until}
    row |= {
        "budget_entries": segment.budget_entries,
        "budget_seconds": segment.budget_seconds,
        "ways": segment.ways,
    }
    if segment.files_above:
        row["files_above"] = list(segment.files_above)
    if segment.manifest is not None:
        row["manifest"] = part_row(segment.manifest)
    if segment.carried:
        row["carried"] = segment.carried
    if segment.unlisted:
        row["unlisted"] = segment.unlisted
    return row


def segment_from_row(row: Json) -> Segment:
    """The segment of a row."""
    return Segment(
        row["id"],
        row["prefix"],
        row["after"],
        row["until"],
        files_above=tuple(row.get("files_above", ())),
        manifest=part_from_row(row["manifest"]) if "manifest" in row else None,
        carried=row.get("carried", ""),
        unlisted=row.get("unlisted", ""),
        budget_entries=row.get("budget_entries", limits.SEGMENT_ENTRIES),
        budget_seconds=row.get("budget_seconds", limits.SEGMENT_SECONDS),
        ways=row.get("ways", limits.FRONTIER_SEGMENTS),
    )


def shard_row(shard: Shard) -> Json:
    """A shard, as it stands in shards.json."""
    row: Json = {
        "id": shard.id,
        "key": shard.key,
        "entries": shard.entries,
        "bytes": shard.bytes,
        "seconds": round(shard.seconds, 3),
    }
    if shard.blocks is not None:
        row["blocks"] = list(shard.blocks)
    return row


def shard_from_row(row: Json) -> Shard:
    """The shard of a row."""
    blocks = (row["blocks"][0], row["blocks"][1]) if "blocks" in row else None
    return Shard(row["id"], row["key"], row["entries"], row["bytes"], row["seconds"], blocks)


def attributes_row(attributes: Attributes) -> list[int | None]:
    """What an entry of a file system carries beside its bytes."""
    return [attributes.mode, attributes.uid, attributes.gid, attributes.mtime_ns, attributes.atime_ns]


def attributes_from_row(row: list[int | None]) -> Attributes:
    """The attributes of a row."""
    mode, uid, gid, mtime_ns, atime_ns = row
    return Attributes(mode, uid, gid, mtime_ns, atime_ns)
