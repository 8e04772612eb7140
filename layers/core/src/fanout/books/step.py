"""A next step after a run, and the command line for it."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from msgspec import Struct

from fanout.request.command_line import command_of
from fanout.request.course import Mode


class Verb(StrEnum):
    """The command to continue with; ``NONE`` where none does."""

    NONE = ""
    RETRY = "retry RUN"
    AGAIN = "retry RUN --again"
    COPY = "copy SOURCE DESTINATION"
    COPY_CHECKSUM = "copy SOURCE DESTINATION --compare checksum"
    PLAN_SYNC = "sync SOURCE DESTINATION --dry-run"
    COPY_ALWAYS = "retry RUN --set compare=always"
    FIELD = "retry RUN --set FIELD=VALUE"
    SOURCE = "retry RUN --set source=SOURCE"
    DOLLARS = "retry RUN --set limits.max_dollars=DOLLARS"
    FINISH = "retry RUN --set limits.finish_by=TIME"
    WATCH = "watch RUN"
    WATCH_HOLDER = "watch HOLDER"

    @property
    def asks_for_value(self) -> bool:
        """Whether the reader fills in a value of the request."""
        return self in (Verb.FIELD, Verb.SOURCE, Verb.DOLLARS, Verb.FINISH)

    @property
    def names_ends(self) -> bool:
        """Whether the command says what the run's request says, with the run's own ends and options."""
        return self in _LINES


class _Wording(Struct, frozen=True):
    """How a verb that names the ends is said: its mode, the fields it changes, more words, and else which ``retry``."""

    mode: Mode | None
    fields: Mapping[str, Any]
    more: str
    retry: str


_LINES = {
    Verb.COPY: _Wording(Mode.COPY, {}, "", "retry RUN --set mode=copy"),
    Verb.COPY_CHECKSUM: _Wording(
        Mode.COPY, {"compare": "checksum"}, "", "retry RUN --set mode=copy --set compare=checksum"
    ),
    Verb.PLAN_SYNC: _Wording(Mode.SYNC, {}, " --dry-run", "retry RUN --set mode=plan"),
    Verb.FIELD: _Wording(None, {}, "", Verb.FIELD.value),
}


class NextStep(Struct, frozen=True):
    """A next step, and the command for it."""

    text: str
    verb: Verb

    def command(self, run_id: str, holder: str = "", request: Any = None) -> str:
        """The command line, without its stack; empty where there is none.

        ``request`` is the document of the run, as it came: a line that names its ends has its options too.
        """
        words, line = self.verb.value, _LINES.get(self.verb)
        if line is not None:
            asked = {**request, **line.fields} if isinstance(request, dict) else None
            if said := command_of(asked, line.mode):
                return said + line.more
            words = line.retry
        words = words.replace("RUN", run_id).replace("HOLDER", holder)
        return f"fanout {words}" if words else ""
