"""Progress as lines for people. Pure: a value and a width in, text out."""

from __future__ import annotations

from datetime import UTC, datetime

from fanout.model.books import Count
from fanout.model.outcome import Reason
from fanout.report.text import size, visible
from fanout.shards.held import BACK_FROM, HeldProgress
from fanout.turns.waiting import Waiting
from fanout_cli.progress.run_progress import WITH_SHARDS, PhaseState, RunProgress

# Classes of failures that a line names.
CLASSES_SHOWN = 3
_ELLIPSIS = "..."


def phases_line(progress: RunProgress) -> str:
    """``plan ok | list 20,210 | copy 62% | next: finish, summarise``."""
    said = [_phase(phase, progress) for phase in progress.phases if phase.state != "next"]
    to_come = [phase.name for phase in progress.phases if phase.state == "next"]
    return " | ".join([*said, f"next: {', '.join(to_come)}"] if to_come else said)


def _phase(phase: PhaseState, progress: RunProgress) -> str:
    is_now = phase.state == "now"
    if phase.name == "list" and (progress.listed.entries or not is_now):
        return f"list {progress.listed.entries:,}"
    if is_now and progress.share is not None and phase.name in WITH_SHARDS:
        return f"{phase.name} {percent(progress.share)}"
    return f"{phase.name} ..." if is_now else f"{phase.name} ok"


def percent(share: float) -> str:
    """Rounded down: 100% is only what is done."""
    return f"{int(share * 100)}%"


def details(progress: RunProgress, now: float | None = None) -> list[str]:
    """The lines below the phases, the most important first; ``now`` is in seconds since 1970."""
    if progress.waiting is not None:
        return [waiting_text(progress.waiting, now)]
    parts = [f"paused until {progress.paused_until}"] if progress.paused_until else []
    if progress.held is not None:
        parts.append(held_text(progress.held))
    if progress.phase == "list" and progress.total_segments > 1:
        parts.append(f"{progress.segments:,} of {progress.total_segments:,} segments")
    if progress.share is not None:
        if progress.eta_seconds is not None:
            parts.append(f"{duration(progress.eta_seconds)} left")
        parts += _amounts(progress.done, progress.total)
        if progress.staged != Count():
            where = "read at the source" if progress.phase == "verify" else "staged"
            parts.append(f"{size(progress.staged.bytes)} {where}")
        parts += _rates(progress)
    if progress.workers:
        parts.append(f"{progress.workers:,} worker{'s' if progress.workers != 1 else ''}")
    return parts


def _amounts(done: Count, total: Count) -> list[str]:
    entries = [f"{done.entries:,} of {total.entries:,} entries"] if total.entries else []
    return [*entries, f"{size(done.bytes)} of {size(total.bytes)}"] if total.bytes else entries


def _rates(progress: RunProgress) -> list[str]:
    found = []
    if progress.entries_per_second and progress.total.entries:
        each = progress.entries_per_second
        found.append(f"{each:,.0f} entries/s" if each >= 10 else f"{each:,.1f} entries/s")
    if progress.bytes_per_second and progress.total.bytes:
        found.append(f"{size(progress.bytes_per_second)}/s")
    return found


def failures_line(progress: RunProgress) -> str:
    """How many entries failed so far, for which reasons; empty if none did."""
    if not progress.failures:
        return ""
    most = sorted(progress.failures.items(), key=lambda item: (-item[1], item[0]))
    named = [f"{words_of(name)} {count:,}" for name, count in most[:CLASSES_SHOWN]]
    others = len(most) - len(named)
    if others > 0:
        named.append(f"{others} more reason{'s' if others != 1 else ''}")
    return f"{sum(progress.failures.values()):,} failed so far: {', '.join(named)}"


def words_of(name: str) -> str:
    """The words of a reason by its name; other names as they are."""
    return Reason[name].value if name in Reason.__members__ else visible(name)


def waiting_text(waiting: Waiting, now: float | None = None) -> str:
    """``waiting for slow1, which writes efs://data/slow``, and when it is asked for again."""
    text = f"waiting for {visible(waiting.holder)}, which writes {visible(waiting.destination)}"
    if now is None:
        return text
    tries_in = max(0.0, waiting.next_try - now)
    since = max(0.0, now - waiting.since)
    return f"{text}; for {duration(since)} so far, next try within {duration(tries_in)}"


def held_text(held: HeldProgress) -> str:
    """``waiting for 12,000 objects (1.2 TiB)`` and where they come from, ``asked 21:10, expected by 09:10 UTC``."""
    waiting = held.waiting
    asked, by = (datetime.fromtimestamp(int(at), UTC) for at in (held.asked_at, held.expected_at))
    days = "%Y-%m-%d %H:%M" if by.date() != asked.date() else "%H:%M"
    objects = f"{waiting.entries:,} object{'s' if waiting.entries != 1 else ''} ({size(waiting.bytes)})"
    return f"waiting for {objects} from {BACK_FROM}, asked {asked:{days}}, expected by {by:{days}} UTC"


def line_of(progress: RunProgress, now: float | None = None) -> str:
    """All of it in one line, for logs."""
    parts = [phases_line(progress), ", ".join(details(progress, now)), failures_line(progress)]
    return "; ".join(part for part in parts if part)


def fitted(parts: list[str], width: int) -> str:
    """As many of the parts as fit into the width, the first ones; the first one is cut if it must be."""
    line = ""
    for part in parts:
        longer = f"{line}, {part}" if line else part
        if len(longer) > width:
            break
        line = longer
    return line or clipped(parts[0] if parts else "", width)


def clipped(text: str, width: int) -> str:
    """The text, cut to the width."""
    return text if len(text) <= width else text[: max(0, width - len(_ELLIPSIS))] + _ELLIPSIS[: max(0, width)]


def duration(seconds: float) -> str:
    """Seconds as people say them."""
    whole = round(seconds)
    if whole < 90:
        return f"{whole} s"
    return f"{round(whole / 60)} min" if whole < 5_400 else f"{whole // 3600} h {whole % 3600 // 60:02d} min"
