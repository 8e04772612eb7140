"""Fields of a request that are drawn beside the others, and what they promise.

They are attributes, report_entries, a window, and a time to end by or dollars that are not to be passed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from random import Random
from typing import Any

from msgspec.structs import replace

from fanout.model.document import Json, utc
from fanout.request.parts.window import parse_window
from tests.adversary.clock import BEGIN_SECONDS
from tests.adversary.deeds import soon
from tests.adversary.scope import REFUSED_BY_LIMITS, Finding, Record
from tests.adversary.script import INSIDE_S3, S3_TO_MOUNT, Act, Fault
from tests.adversary.vocabulary import STATES

_MINUTES = 1_440
_TROUBLE = ("failed", "rejected")


def more_fields(draw: Random, direction: str, options: dict[str, Any]) -> None:
    """Draw them, from a stream of their own."""
    chances = [draw.random() for _ in range(3)]
    given = _attributes(draw, direction, options)
    reports, begins = draw.choice(("all", "all", "failed")), draw.randrange(-40, 20)
    if direction != INSIDE_S3 and chances[0] < 0.25 and given:
        options["attributes"] = given
    if chances[1] < 0.35:
        options["report_entries"] = reports
    if chances[2] < 0.15:
        first = (BEGIN_SECONDS // 60 + begins) % _MINUTES
        times = (f"{one // 60:02d}:{one % 60:02d}" for one in (first, (first + 30) % _MINUTES))
        options["limits"] = {**options.get("limits", {}), "window": f"{'-'.join(times)} UTC"}
    told = _told(draw)
    if direction == S3_TO_MOUNT and told:
        options["attributes"] = {**options.get("attributes", {}), **told}
    ends, price = _ends(draw), draw.choice((0.0002, 0.0005, 0.001, 0.01))
    if ends:
        options["limits"] = {**options.get("limits", {}), **ends}
    if "max_dollars" in ends:
        options["prices"] = {"lambda_request": price}  # so that some are refused, and some stop in the middle
    if draw.random() < 0.2:
        options["vanished"] = "skip"
    if draw.random() < 0.3:  # as a command sends it
        options["allow_empty_source"] = False


def closing(draw: Random, acts: tuple[Act, ...], options: dict[str, Any]) -> tuple[Act, ...]:
    """The same with moments of the first run, in the middle of a task, at which its window closes or opens."""
    if "window" not in options.get("limits", {}) or acts[0].what != "run":
        return acts
    kinds = [f"{draw.choice(STATES)}/any" if draw.random() < 0.7 else "any" for _ in range(draw.randint(1, 4))]
    changes = tuple(Fault(kind, soon(draw, 40), "window changes", draw.random() < 0.3) for kind in kinds)
    return (replace(acts[0], faults=(*acts[0].faults, *changes)), *acts[1:])


def until_window_changes(window: str, now: float) -> float:
    """Seconds until a window closes or opens; 0 without one."""
    return parse_window(window).changes_at(now) - now if window else 0.0


def _attributes(draw: Random, direction: str, options: dict[str, Any]) -> dict[str, Any]:
    given: dict[str, Any] = {}
    for name, values in (
        ("uid", (0, 1000)),
        ("gid", (0, 1000)),
        ("file_mode", ("0600", "0640", "0444")),
        ("directory_mode", ("0750", "0700", "2750")),
    ):
        value = draw.choice(values)
        if draw.random() < 0.5:
            given[name] = value
    mtime, override = draw.choice(("last-modified", "now")), draw.random() < 0.5
    if direction == S3_TO_MOUNT and draw.random() < 0.3 and not options.keys() & {"overwrite", "backup_to"}:
        given["mtime"] = mtime
    if given and (override or direction != S3_TO_MOUNT):
        given["override"] = True
    return given


def _told(draw: Random) -> dict[str, Any]:
    """Whose attributes of objects are read, and whether their set-id bits are kept."""
    chances, tool = [draw.random() for _ in range(2)], draw.choice(("rclone", "s3fs", "s3cmd"))
    return {**({"from": tool} if chances[0] < 0.3 else {}), **({"set_ids": True} if chances[1] < 0.3 else {})}


def _ends(draw: Random) -> dict[str, Any]:
    """When the run is to have ended, and for how much: some of it is never reached, some had passed."""
    chances, at = [draw.random() for _ in range(2)], BEGIN_SECONDS + draw.choice((-60, 60, 300, 3_600, 90_000))
    times = (*("1m", "5m", "4h", "4h"), f"{at // 60 % _MINUTES // 60:02d}:{at // 60 % 60:02d} UTC", utc(at))
    by, dollars = draw.choice(times), draw.choice((0.01, 0.02, 5.0, 5.0))
    return {
        **({"finish_by": by} if chances[0] < 0.25 else {}),
        **({"max_dollars": dollars} if chances[1] < 0.1 else {}),
    }


def judge_end(record: Record) -> Iterator[Finding]:
    """A run that a limit refuses changes nothing; one that has ended says whether it did so in time."""
    result, limits = record.result, record.options.get("limits", {})
    error = "" if result.error is None else str(result.error)
    if any(name in error for name in REFUSED_BY_LIMITS) and not (record.touched or record.nested or record.told):
        changed = [path for path in record.before | record.after if record.before.get(path) != record.after.get(path)]
        if changed:
            yield Finding("refused and written", f"run {record.run} was refused ({error}), and changed {changed}")
    if "finish_by" not in limits or result.summary is None or result.status != "SUCCEEDED" or record.mode == "plan":
        return
    finish = (result.summary["forecast"] or {}).get("finish")
    if not finish or not finish["outcome"]:
        yield Finding("no end told", f"run {record.run} ends by {limits['finish_by']} and says {finish}")
    elif finish["reached"] is not (finish["ended_at"] <= finish["at"]):
        yield Finding("wrong end told", f"run {record.run} says {finish['outcome']}: {finish}")


def judge_report(record: Record) -> Iterator[Finding]:
    """The rows of ``report_entries`` are those of the books; of a run with faults an entry may have two."""
    asked, result = record.options.get("report_entries"), record.result
    if asked is None or result.summary is None or result.status not in ("SUCCEEDED", "FAILED_WITH_ITEMS"):
        return
    rows: defaultdict[str, list[Json]] = defaultdict(list)
    for row in result.reported:
        # A directory that a move leaves, because it is not empty, is in the books as copied or unchanged.
        if row.get("phase") != "delete" or row["outcome"] != "skipped":
            rows[row["path"]].append(row)
    for row in result.failures:
        if not any(one["reason"] == row["reason"] for one in rows[row["path"]]):
            yield Finding("not reported", f"run {record.run} reports {rows[row['path']]} of the failure {row}")
    if asked == "failed":
        others = [one for some in rows.values() for one in some if one["outcome"] not in _TROUBLE]
        if others:
            yield Finding("reported", f"run {record.run} reports {others}, asked for failures")
        return
    if record.mode == "plan":
        return
    totals, told = result.summary["totals"], record.told or record.resumed
    for outcome in ("copied", "unchanged", "skipped", "deleted"):
        number = sum(any(one["outcome"] == outcome for one in some) for some in rows.values())
        wanted = totals[outcome]["entries"]
        if number < wanted or (number > wanted and not told):
            yield Finding("reported", f"run {record.run} reports {number} {outcome} entries of {wanted}")
