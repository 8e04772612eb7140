"""The output of a command for people: every text goes through ``Terminal``, which shows control characters as escapes.

Names, paths and messages come from requests, stores and file systems. Printed as they are, they could move the cursor,
colour a failure green, or turn a line round (``\\x1b[2J``, ``\\u202e``).
"""

from __future__ import annotations

from rich.console import Console, HighlighterType, JustifyMethod, OverflowMethod
from rich.style import StyleType
from rich.text import Text

from fanout.report.text import visible
from fanout_cli.local.errors import LocalRunError


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

    def say_error(self, error: Exception) -> None:
        """Print what keeps a command from its work; of the local stack's errors the log's lines as lines."""
        text = str(error)
        for line in text.split("\n") if isinstance(error, LocalRunError) else [text]:
            self.print(line, style="red", soft_wrap=True)
