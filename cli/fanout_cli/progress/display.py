"""Showing progress: lines that move on a terminal, a plain line now and then without one, or JSON lines."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Protocol, TextIO

from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.segment import Segment
from rich.text import Text

from fanout_cli.loudness import is_quiet
from fanout_cli.progress.run_progress import RunProgress
from fanout_cli.progress.text import clipped, details, failures_line, fitted, line_of, phases_line

# Chosen: between two lines of a log, and between two JSON lines.
LINE_SECONDS, JSON_SECONDS = 30.0, 5.0
BAR_COLUMNS = 60


class Display(Protocol):
    """Shows the progress of a run."""

    def show(self, progress: RunProgress) -> None:
        """Take what is known now."""


class _Lines:
    """The phases, a bar and its figures, as wide as the terminal is."""

    def __init__(self, progress: RunProgress, now: float) -> None:
        self._progress, self._now = progress, now

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        progress, width = self._progress, options.max_width
        yield Text(clipped(phases_line(progress), width))
        if progress.share is not None:
            yield ProgressBar(total=1.0, completed=progress.share, width=min(width, BAR_COLUMNS))
            yield Segment.line()
        if figures := details(progress, self._now):
            yield Text(fitted(figures, width))
        if failed := failures_line(progress):
            yield Text(clipped(failed, width), style="red")


class LiveDisplay:
    """On a terminal; gone when the run has ended."""

    def __init__(self, live: Live, now: Callable[[], float]) -> None:
        self._live, self._now = live, now

    def show(self, progress: RunProgress) -> None:
        self._live.update(_Lines(progress, self._now()), refresh=True)


class LineDisplay:
    """Without a terminal: a line every ``LINE_SECONDS``, and one as soon as the run waits for another one."""

    def __init__(self, tell: Callable[[str], None], clock: Callable[[], float], now: Callable[[], float]) -> None:
        self._tell, self._clock, self._now = tell, clock, now
        self._told_at = clock()
        self._waits_for = ""

    def show(self, progress: RunProgress) -> None:
        waits_for = progress.waiting.holder if progress.waiting else ""
        is_new, self._waits_for = bool(waits_for) and waits_for != self._waits_for, waits_for
        if is_new or self._clock() - self._told_at >= LINE_SECONDS:
            self._told_at = self._clock()
            self._tell(line_of(progress, self._now()))


class JsonDisplay:
    """A JSON object a line, at most one every ``JSON_SECONDS``."""

    def __init__(self, out: TextIO, clock: Callable[[], float], now: Callable[[], float]) -> None:
        self._out, self._clock, self._now = out, clock, now
        self._told_at = float("-inf")

    def show(self, progress: RunProgress) -> None:
        if self._clock() - self._told_at >= JSON_SECONDS:
            self._told_at = self._clock()
            at = datetime.fromtimestamp(int(self._now()), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            self._out.write(json.dumps({"at": at, **progress.document()}) + "\n")
            self._out.flush()


class NoDisplay:
    """Shows nothing."""

    def show(self, progress: RunProgress) -> None:
        pass


@contextmanager
def display_on(console: Console, json_lines: TextIO | None = None) -> Iterator[Display]:
    """The display that suits a console; JSON lines go elsewhere, and then the console shows nothing."""
    if json_lines is not None:
        yield JsonDisplay(json_lines, time.monotonic, time.time)
    elif is_quiet():
        yield NoDisplay()
    elif console.is_terminal:
        with Live(console=console, transient=True, auto_refresh=False) as live:
            yield LiveDisplay(live, time.time)
    else:
        tell = lambda line: console.print(line, markup=False, highlight=False, soft_wrap=True)  # noqa: E731
        yield LineDisplay(tell, time.monotonic, time.time)
