"""The ledger's rows as JSON values, there and back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import convert
from msgspec.structs import replace

from fanout.model.columns import FileColumns, Listed
from fanout.model.document import Json
from fanout.model.entry import Attributes, Entry, Kind, MadeEntry
from fanout.model.entry_outcome import Outcome
from fanout.model.outcome import TROUBLE, Reason, Result
from fanout.model.shard import Name, Receipt


def entry_row(entry: Entry) -> list[Any]:
    """An entry of a shard's file.

    Six values come first, then inode and target if either is set, then the replaced entry if it is known: six to nine
    values in all.
    """
    if entry.inode or entry.target:
        return _long_row(entry)
    row = [entry.path, entry.kind.value, entry.size, entry.mtime_ns, entry.changed_ns, entry.etag]
    return [*row, entry.replaces] if entry.replaces else row


def listed_row(listed: Listed) -> list[Any] | Json:
    """``entry_row``, or files in columns: a third of the bytes, and no step of Python for any."""
    if isinstance(listed, Entry):
        return entry_row(listed)
    row = {name: getattr(listed, name) for name in _COLUMNS}
    return row | {name: value for name in _RARE if (value := getattr(listed, name))}


def _long_row(entry: Entry) -> list[Any]:
    """With inode and target in any case, so that what follows them keeps its place."""
    row = [entry.path, entry.kind.value, entry.size, entry.mtime_ns, entry.changed_ns, entry.etag]
    row += entry.inode, entry.target
    return [*row, entry.replaces] if entry.replaces else row


_COLUMNS = ("directory", "names", "sizes", "mtimes_ns", "changed_ns")
_RARE = ("etags", "replaces")
_KINDS = {kind.value: kind for kind in Kind}


def listed_from_row(row: list[Any] | Json) -> Listed:
    """The entry or the files of a row. Raises ``ValueError`` for columns that are no files of one directory."""
    if isinstance(row, list):
        return entry_from_row(row)
    files = convert(row, FileColumns)
    lengths = {len(files.names), len(files.sizes), len(files.mtimes_ns), len(files.changed_ns)}
    whole = lengths | {len(files.etags or files.names)} == {len(files.names)} != {0}
    named = "" not in files.names and "/" not in "".join(files.names) and files.directory[-1:] in ("", "/")
    if not (whole and named):
        raise ValueError("its columns are not those of files of one directory")
    return files


def entry_from_row(row: list[Any]) -> Entry:
    """The entry of a row that is about nothing else."""
    path, kind, size, mtime_ns, changed_ns, etag = row[:6]
    inode, target = row[6:8] if len(row) > 7 else ("", "")
    replaces = row[-1] if len(row) in (7, 9) else ""
    return Entry(path, _KINDS[kind], size, mtime_ns, changed_ns, etag, inode, target=target, replaces=replaces)


def looked_up_row(path: str, entry: Entry | None) -> list[Any]:
    """The row of a path that was looked up: its entry, or the path alone for nothing."""
    return [path] if entry is None else entry_row(entry)


def looked_up_from_row(row: list[Any]) -> tuple[str, Entry | None]:
    """The path of a row, and what is there."""
    return row[0], None if len(row) == 1 else entry_from_row(row)


def name_row(name: Name) -> list[Any]:
    """A listed name of a file with several at one end or both."""
    return [*_long_row(name.entry), name.unchanged, name.inode_there]


def name_from_row(row: list[Any]) -> Name:
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
    if outcome.seconds is not None:
        row["seconds"] = round(outcome.seconds, 4)
    if outcome.digests is not None:
        row["digests"] = [f"{one:x}" for one in outcome.digests]
    if outcome.certified is not None:
        row["certified"] = outcome.certified
    return row


def outcome_from_row(row: Json) -> Outcome:
    return Outcome(
        path=row["path"],
        kind=row["kind"],
        size=row["size"],
        result=Result(row["outcome"]),
        reason=Reason(row["reason"]) if "reason" in row else None,
        message=row.get("message", ""),
        crc64nvme=row.get("crc64nvme"),
        seconds=row.get("seconds"),
        digests=_digests(row["digests"]) if "digests" in row else None,
        certified=_certified(row["certified"]) if "certified" in row else None,
    )


def _digests(row: list[str]) -> tuple[int, int]:
    source, destination = row
    return int(source, 16), int(destination, 16)


def _certified(row: list[str]) -> tuple[str, str]:
    kind, sha256 = row
    return kind, sha256


def big_file_outcome_row(big_file_id: str, outcome: Outcome, at: float) -> Json:
    """The outcome of a big file, of which no record is, and by when it was settled, in seconds since 1970."""
    row = {"id": big_file_id, "at": at, **outcome_row(outcome)}
    return row | {"unread": dict(outcome.unread)} if outcome.unread else row


def big_file_outcome_from_row(row: Json) -> tuple[str, Outcome]:
    """The id of a big file, and its outcome, with what was not read of its metadata."""
    return row["id"], replace(outcome_from_row(row), unread=tuple(row.get("unread", {}).items()))


def big_file_time_from_row(row: Json) -> tuple[str, float]:
    """The id of a big file, and by when it was whole, in seconds since 1970; 0 where an older version wrote the row."""
    return row["id"], row.get("at", 0.0)


def indexed_outcome_from_row(row: Json) -> tuple[int, Outcome]:
    """The place of an entry in its shard, and its outcome."""
    return row["index"], outcome_from_row(row)


def trouble_from_row(row: Json) -> list[Outcome]:
    """The outcome of a row if it is failed or rejected."""
    return [outcome_from_row(row)] if row["outcome"] in TROUBLE else []


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


def attributes_row(attributes: Attributes) -> list[Any]:
    row = [attributes.mode, attributes.uid, attributes.gid, attributes.mtime_ns, attributes.atime_ns]
    return [*row, dict(attributes.unreadable)] if attributes.unreadable else row


def attributes_from_row(row: list[Any]) -> Attributes:
    mode, uid, gid, mtime_ns, atime_ns, *unreadable = row
    return Attributes(mode, uid, gid, mtime_ns, atime_ns, unreadable=dict(*unreadable))


def made_row(made: MadeEntry) -> list[Any]:
    row = [made.path, made.mode, made.uid, made.gid, made.size, made.mtime_ns, made.inode, made.changed_ns]
    return [*row, made.target] if made.target else row


def made_from_row(row: list[Any]) -> MadeEntry:
    return MadeEntry(*row)


def receipt_row(receipt: Receipt) -> Json:
    """The outcome of a block, as the ledger records it."""
    row: Json = {"index": receipt.index, "crc64nvme": f"{receipt.crc64nvme:016x}"}
    if receipt.etag:
        row["etag"] = receipt.etag
    if receipt.reason is not None:
        row |= {"reason": receipt.reason.value, "message": receipt.message}
    if receipt.sha256:
        row["sha256"] = receipt.sha256
    return row


def receipt_from_row(row: Json) -> Receipt:
    reason = Reason(row["reason"]) if "reason" in row else None
    etag, message, sha256 = (row.get(name, "") for name in ("etag", "message", "sha256"))
    return Receipt(row["index"], int(row["crc64nvme"], 16), etag, reason, message, sha256)
