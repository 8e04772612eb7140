"""Resuming: what of an earlier run a new one takes over, as pure rules.

| entry of the earlier run                  | in the run that resumes it                        |
|-------------------------------------------|---------------------------------------------------|
| copied, and it is still there             | unchanged, ``Reason.DONE_EARLIER``                |
| unchanged, and it is still there          | the same again, with the same reason              |
| copied or unchanged, gone or changed      | copied again                                      |
| copied, and ``verify: copied`` found that |                                                   |
| it differs                                | copied again                                      |
| copied, and not verified yet, in a run    |                                                   |
| with ``verify: copied``                   | unchanged, and verified; over 8 GiB: copied again |
| left as it is by ``overwrite``            | the same again, or copied where it is gone        |
| skipped, rejected                         | the same again, with the same reason              |
| failed while it was copied, or no outcome | copied, pinned to what the earlier run listed     |
| failed because it could not be read       | copied, pinned to its size and mtime alone        |
| skipped because it is held                | the same: it may be back by now                   |
| failed while it was listed                | listed again                                      |
| a manifest's row without an entry         | looked for again, and the same if there is none   |
| a name of a file with several             | as above if all names of the file are done,       |
|                                           | else the file is copied and linked again          |
| in a part of the tree not listed yet      | listed                                            |
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import Struct
from msgspec.structs import fields, replace

from fanout.ledger.kind import ObjectKind
from fanout.listing.deciding.decisions import may_be_same_kind, times_agree
from fanout.model.entry import Entry, Kind
from fanout.model.entry_outcome import Outcome
from fanout.model.errors import InvalidRequest
from fanout.model.outcome import Reason, Result
from fanout.model.path_rules import PlainName
from fanout.model.segment import Segment, after_subtree
from fanout.model.shard import Shard
from fanout.request.fields.traits import Decides
from fanout.request.request import Request, fields_up_to

OR_AGAIN = "leave the field out, or start the request again without resume_from"
# Chosen: what one ListSegment takes over, in entries; far below what it has time for, and fewer than it lists.
CARRIED_ENTRIES = 200_000


class CarriedOutcomes(Struct, frozen=True, tag_field="kind", tag="outcomes"):
    """A file of outcomes of entries that needed no copy."""

    key: str


class CarriedBigFile(Struct, frozen=True, tag_field="kind", tag="big_file"):
    """A big file that was begun; ``counted`` if the listing counts it."""

    key: str
    counted: bool


class CarriedDirectories(Struct, frozen=True, tag_field="kind", tag="directories"):
    """A file of attributes of directories that were made, and its rows if they are known."""

    key: str
    rows: int | None


class CarriedShard(Struct, frozen=True, tag_field="kind", tag="shard"):
    """A shard of entries to copy."""

    shard: Shard


class CarriedLinks(Struct, frozen=True, tag_field="kind", tag="links"):
    """A shard of further names, and the shard that copies their files."""

    shard: Shard
    copies: Shard | None


class CarriedNames(Struct, frozen=True, tag_field="kind", tag="names"):
    """A file of listed names of files with several hard links."""

    key: str
    entries: int


CarriedPart = CarriedOutcomes | CarriedBigFile | CarriedDirectories | CarriedShard | CarriedLinks | CarriedNames


class Carried(Struct, frozen=True):
    """The work that one ListSegment takes over from an earlier run."""

    run_id: PlainName
    parts: list[CarriedPart]


# What one segment takes over.
carried_key = ObjectKind("segments/carried-{number:06d}.json", Carried, by=("PlanTransfer",), early=True)


def resumed_document(given: dict[str, Any], earlier: dict[str, Any]) -> dict[str, Any]:
    """The earlier run's request with the fields that the new one gives; limits are laid over one by one."""
    merged = {**earlier, **given}
    if isinstance(given.get("limits"), dict) and isinstance(earlier.get("limits"), dict):
        merged["limits"] = {**earlier["limits"], **given["limits"]}
    return merged


def check_resumed(request: Request, earlier: Request, run_id: str) -> None:
    """Raise ``InvalidRequest`` for a field that must be what it was in the earlier run."""
    if not earlier.course.resumable:
        problem = f"{run_id} is a run of mode {earlier.mode.value}, which cannot be resumed"
        raise InvalidRequest("resume_from", problem, "start its request again without resume_from")
    if request.course.carries_over and request.manifest is not None and request.verify.whole_trees:
        problem = f"{request.verify.value} compares whole trees, and this run copies only what is left of a manifest"
        again = "start its request again without resume_from"
        raise InvalidRequest("verify", problem, again if request.course.deletes_proven else "ask for copied")
    may_differ = fields_up_to(Decides.OBJECT)  # they affect neither the listing nor the decision about an entry
    for field in fields(Request):
        before, now = getattr(earlier, field.name), getattr(request, field.name)
        if field.name not in may_differ and before != now:
            raise InvalidRequest(field.name, f"{now} is not the {before} of {run_id}", OR_AGAIN)


def carried(outcome: Outcome) -> tuple[Reason, str] | None:
    """Reason and message of an entry with this outcome in the new run; ``None`` if it is to be done again."""
    if outcome.result is Result.FAILED or (outcome.reason is not None and outcome.reason.is_held):
        return None
    if outcome.result is Result.COPIED or outcome.reason is None:
        return Reason.DONE_EARLIER, ""
    return outcome.reason, outcome.message


def chunks(parts: Iterable[tuple[CarriedPart, int]]) -> Iterator[list[CarriedPart]]:
    """The parts in lists of about ``CARRIED_ENTRIES``, each part with its weight in entries."""
    held: list[CarriedPart] = []
    weight = 0
    for part, entries in parts:
        if held and weight + entries > CARRIED_ENTRIES:
            yield held
            held, weight = [], 0
        held.append(part)
        weight += entries
    if held:
        yield held


def segment_of_one(path: str) -> Segment:
    """The segment that holds the entry of one path and nothing else. Its id is empty: the next round numbers it."""
    if path.endswith("/"):
        return Segment("", path, until=path)
    return Segment("", path[: path.rfind("/") + 1], path_before(path), path)


def segments_again(path: str, *, alone: bool, unlistable: bool = False) -> list[Segment]:
    """The segments that list the entry of a path again; ``alone`` it and nothing below it.

    On a mount a directory may be there by now, whose path ends in "/" and which holds others: a symlink that is
    followed leads to one, or somebody replaced the file. In a bucket these are other keys, and no rows of a manifest.
    """
    if unlistable:
        return [Segment("", path)]
    one = segment_of_one(path)
    return [one] if alone or path.endswith("/") else [one, Segment("", f"{path}/")]


def path_before(path: str) -> str:
    """A bound that lies before a path, and after every other path that sorts before it."""
    raw = os.fsencode(path)
    return after_subtree(os.fsdecode(raw[:-1] + bytes([raw[-1] - 1]))) if raw[-1] else path[:-1]


def is_still_there(done: Entry, found: Entry | None, *, with_times: bool) -> bool:
    """Whether the destination still holds an entry that the earlier run copied or found there.

    Kind and size tell, and between file systems the mtime of a file or symlink, if ``with_times``.
    """
    if found is None or not may_be_same_kind(done.kind, found.kind):
        return False
    if done.kind is Kind.DIRECTORY:
        return True
    return done.size == found.size and (not with_times or times_agree(done, found))


def same_but_for_ctime(listed: Entry, found: Entry) -> bool:
    """Whether an entry of the source is as it was listed, in all but its ctime.

    A listing does not tell the inode of a row of a manifest, nor of a file with one name.
    """
    before = replace(listed, changed_ns=0, target="", replaces="", held="", inode=listed.inode or found.inode)
    return before == replace(found, changed_ns=0)
