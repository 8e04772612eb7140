"""The user's ledger on this machine: where it is, which runs it holds, and what they were asked."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path
from typing import Any

from fanout.adapters.directory.executions import RUNNING, DirectoryExecutions, execution_of
from fanout.adapters.directory.store import DirectoryWorkStore
from fanout.ledger.keys import PLAN, REQUEST, SUMMARY
from fanout.ledger.ledger import Ledger
from fanout.ledger.run_places import run_prefix
from fanout.model.errors import NotFound
from fanout.request.course import Mode
from fanout_cli.account import stated
from fanout_cli.command_error import CommandError
from fanout_cli.runs.run_ids import check_run_id
from fanout_cli.runs.work_bucket import document_in


def ledger_place(state: str) -> Path:
    """The directory of the ledger: ``--state``, or the user's own below the XDG state folder."""
    if state:
        return Path(os.path.realpath(state))
    home = os.environ.get("XDG_STATE_HOME", "")
    return (Path(home) if home.startswith("/") else Path.home() / ".local/state") / "fanout"


class HereLedger:
    """The runs of a ledger in a directory.

    ``words`` are the options that a command about one of its runs needs, as the user typed them.
    """

    def __init__(self, state: str, s3_endpoint: str = "") -> None:
        self.place = place = ledger_place(state)
        given = (("--state", str(place) if place != ledger_place("") else ""), ("--s3-endpoint", s3_endpoint))
        self.words = "".join(f" {name} {shlex.quote(value)}" for name, value in given if value) + stated()
        self.store = DirectoryWorkStore(str(place))
        self.executions = DirectoryExecutions(str(place))

    def of_run(self, run_id: str) -> Ledger:
        """The ledger of a run."""
        return Ledger(self.store, run_id)

    def directory_of(self, run_id: str) -> Path:
        """The files of a run's ledger."""
        return self.place / run_prefix(run_id).rstrip("/")

    def newest(self) -> str:
        """The run that began last. Raises ``CommandError`` where there is none."""
        try:
            found = [(one.stat().st_mtime_ns, one.name) for one in os.scandir(self.place / RUNNING)]
        except FileNotFoundError:
            found = []
        if not found:
            raise CommandError(
                f"{self.place} holds no run yet; begin one: fanout local copy SOURCE DESTINATION{self.words}"
            )
        return max(found)[1]

    def found(self, run_id: str | None) -> str:
        """The run that is named, or the newest one. Raises ``CommandError`` for one that is not in the ledger."""
        run_id = run_id or self.newest()
        check_run_id(run_id)
        if self.asked(run_id) is None:
            raise CommandError(f"{self.place} holds no run {run_id!r}; the newest one is {self.newest()}")
        return run_id

    def is_at_work(self, run_id: str) -> bool:
        """Whether a process carries the run out."""
        return self.executions.running(execution_of(run_id))

    def asked(self, run_id: str) -> Any:
        """The request of a run as it came; ``None`` without one."""
        asked = self.read(run_id, REQUEST)
        if asked is not None:
            return asked["request"]
        try:
            return self.executions.find(execution_of(run_id)).input
        except (NotFound, json.JSONDecodeError):
            return None

    def mode(self, run_id: str) -> Mode | None:
        """The mode of a run that has a plan."""
        plan = self.read(run_id, PLAN)
        return Mode(plan["request"]["mode"]) if plan else None

    def summary(self, run_id: str) -> Any:
        """The summary of a run that closed its books; else ``None``."""
        return self.read(run_id, SUMMARY)

    def read(self, run_id: str, name: str) -> Any:
        """A JSON file of a run's ledger; ``None`` if it is not there."""
        try:
            return document_in(self.store.get(run_prefix(run_id) + name), name)
        except NotFound:
            return None
