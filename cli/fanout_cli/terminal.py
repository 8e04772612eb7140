"""The output of a command for people: every text goes through ``Terminal``, which shows control characters as escapes.

Names, paths and messages come from requests, stores and file systems. Printed as they are, they could move the cursor,
colour a failure green, or turn a line round (``\\x1b[2J``, ``\\u202e``).
"""

from __future__ import annotations

import io
from datetime import UTC, datetime
from typing import Any

from rich.console import Console, HighlighterType, JustifyMethod, OverflowMethod
from rich.style import StyleType
from rich.text import Text

from fanout.report.text import visible
from fanout_cli.local.errors import LocalRunError
from fanout_cli.loudness import log_file


class Terminal(Console):
    """A console that takes texts as they are: no markup, no emoji, and what is not printable as an escape.

    That holds for what ``print`` is given and for the cells and titles of tables.
    """

    def render_str(
        self,
        text: str,
        *,
        style: str | StyleType = "",
        justify: JustifyMethod | None = None,
        overflow: OverflowMethod | None = None,
        emoji: bool | None = None,
        markup: bool | None = None,
        highlight: bool | None = None,
        highlighter: HighlighterType | None = None,
    ) -> Text:
        """See ``rich.console.Console``; all strings are rendered here."""
        return super().render_str(
            visible(text), style=style, justify=justify, overflow=overflow, emoji=False, markup=False, highlight=False
        )

    def print(self, *objects: Any, **how: Any) -> None:
        """See ``rich.console.Console``; the file of ``--log-file`` gets the same lines."""
        super().print(*objects, **how)
        if (path := log_file()) is not None:
            text = io.StringIO()
            Console.print(Terminal(file=text, width=self.width, color_system=None), *objects, **how)
            at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            with path.open("a", encoding="utf-8", errors="backslashreplace") as log:
                log.writelines(f"{at} {line}\n" for line in text.getvalue().splitlines())

    def say_error(self, error: Exception) -> None:
        """Print what keeps a command from its work; of the local stack's errors the log's lines as lines."""
        text = str(error)
        for line in text.split("\n") if isinstance(error, LocalRunError) else [text]:
            self.print(line, style="red", soft_wrap=True)
