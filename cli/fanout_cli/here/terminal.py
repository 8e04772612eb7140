"""The output of a command of this machine: directories are shown by their paths."""

from __future__ import annotations

from typing import Any

from rich.text import Text

from fanout_cli.here.ends import in_paths
from fanout_cli.terminal import Terminal


class HereTerminal(Terminal):
    """A ``Terminal`` that shows ``efs://local/srv`` as ``/srv``, in whatever sentence it is."""

    def render_str(self, text: str, **how: Any) -> Text:
        """Render a text, with directories as they are on this machine."""
        return super().render_str(in_paths(text), **how)
