"""The user's ledger: where it is, which runs it holds, and what they were asked."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path
from typing import Any

from fanout.adapters.directory.executions import RUNNING, execution_of
from fanout.adapters.directory.store import DirectoryWorkStore
from fanout.ledger.keys import FAILURES, PLAN, REPORT, REQUEST, SUMMARY
from fanout.ledger.ledger import Ledger
from fanout.ledger.run_places import LOCKS, run_prefix
from fanout.model.errors import NotFound
from fanout.model.location import S3Location, parse_location
from fanout.request.course import Mode
from fanout.runtime.embedded.leases import LEASE_SECONDS
from fanout.runtime.embedded.machine import LedgerPlace, S3Here, ledger_in_bucket, ledger_in_directory
from fanout_cli.account import stated
from fanout_cli.command_error import CommandError
from fanout_cli.here.losing import lost_lease
from fanout_cli.here.s3 import check_answers, s3_here
from fanout_cli.runs.run_ids import check_run_id
from fanout_cli.runs.work_bucket import document_in


def state_place(state: str = "") -> Path:
    """The directory of the ledger: ``--state``, or the user's own below the XDG state folder."""
    if state:
        return Path(os.path.realpath(state))
    home = os.environ.get("XDG_STATE_HOME", "")
    return (Path(home) if home.startswith("/") else Path.home() / ".local/state") / "fanout"


class HereLedger:
    """The runs of a ledger in a directory, or with ``work`` below a prefix of a bucket.

    ``words`` are the options that a command about one of its runs needs, as the user typed them. ``reached`` is the S3
    of the ledger; ``None`` for a directory. Raises ``CommandError`` for a place that cannot hold a ledger.
    """

    def __init__(self, state: str = "", s3_endpoint: str = "", work: str = "") -> None:
        if state and work:
            raise CommandError("--state and --work both say where the ledger is; give one of them")
        self.directory = state_place(state)
        self.bucket = _work_location(work) if work else None
        given = {
            "--state": str(self.directory) if self.directory != state_place() and not work else "",
            "--work": str(self.bucket or ""),
            "--s3-endpoint": s3_endpoint,
        }
        self.words = "".join(f" {name} {shlex.quote(value)}" for name, value in given.items() if value) + stated()
        self.reached: S3Here | None = s3_here(s3_endpoint, is_used=True) if work else None
        self.place: LedgerPlace = self._place()
        self.store, self.executions = self.place.store, self.place.executions

    @property
    def name(self) -> str:
        """The place, for people."""
        return str(self.at)

    @property
    def at(self) -> Path | S3Location:
        """The directory or the prefix."""
        return self.bucket or self.directory

    def _place(self) -> LedgerPlace:
        if self.bucket is None or self.reached is None:
            return ledger_in_directory(self.directory)
        return ledger_in_bucket(self.reached, self.bucket.bucket, self.bucket.prefix, lost_lease)

    def check(self) -> None:
        """Raise for a bucket that does not answer or is not there; a directory is made with the first write."""
        if self.bucket is not None and self.reached is not None:
            check_answers(self.reached, str(self.bucket))
            next(iter(self.store.list(LOCKS)), None)

    def sweep(self) -> None:
        """Remove what killed processes left half written."""
        if isinstance(self.store, DirectoryWorkStore):
            self.store.sweep()

    def of_run(self, run_id: str) -> Ledger:
        """The ledger of a run."""
        return Ledger(self.store, run_id)

    def brought(self, run_id: str) -> Path:
        """The directory with the summary and the report of a run; those of a bucket are brought to ``fanout-RUN``."""
        if self.bucket is None:
            return self.directory / run_prefix(run_id).rstrip("/")
        directory = Path(f"fanout-{run_id}").absolute()
        for name in (SUMMARY, FAILURES, REPORT):
            try:
                data = self.store.get(run_prefix(run_id) + name)
            except NotFound:
                continue
            directory.mkdir(exist_ok=True)
            (directory / name).write_bytes(data)
        return directory

    def newest(self) -> str:
        """The run that began last. Raises ``CommandError`` where there is none, or where nobody knows."""
        if self.bucket is not None:
            raise CommandError(f"name the run: {self.name} holds runs of several machines")
        try:
            found = [(one.stat().st_mtime_ns, one.name) for one in os.scandir(self.directory / RUNNING)]
        except FileNotFoundError:
            found = []
        if not found:
            raise CommandError(
                f"{self.name} holds no run yet; begin one: fanout local copy SOURCE DESTINATION{self.words}"
            )
        return max(found)[1]

    def found(self, run_id: str | None) -> str:
        """The run that is named, or the newest one. Raises ``CommandError`` for one that is not in the ledger."""
        run_id = run_id or self.newest()
        check_run_id(run_id)
        if self.asked(run_id) is None:
            known = f"; the newest one is {self.newest()}" if self.bucket is None else ""
            raise CommandError(f"{self.name} holds no run {run_id!r}{known}")
        return run_id

    def is_at_work(self, run_id: str) -> bool:
        """Whether a process, or the execution of a stack, carries the run out."""
        plan = self.read(run_id, PLAN)
        execution = plan["origin"]["execution"] if plan and plan.get("origin") else execution_of(run_id)
        return self.executions.running(execution)

    def refuse_at_work(self, run_id: str) -> None:
        """Raise ``CommandError`` for a run that is at work."""
        if self.is_at_work(run_id):
            killed = "" if self.bucket is None else f" (one that was killed counts for {LEASE_SECONDS:.0f} s more)"
            follow, end = (f"fanout local {verb} {run_id}{self.words}" for verb in ("watch", "stop"))
            raise CommandError(f"{run_id} is still at work{killed}; follow it: {follow}; or stop it: {end}")

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


def _work_location(work: str) -> S3Location:
    found = parse_location("--work", work, ()) if work.startswith("s3://") else None
    if not isinstance(found, S3Location):
        raise CommandError(f"--work {work} is not in a bucket; give s3://bucket/prefix/, or --state DIRECTORY")
    return found
