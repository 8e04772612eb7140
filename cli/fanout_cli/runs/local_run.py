"""Runs a request through the state machine on this machine."""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rich.console import Console

from fanout.adapters.s3.client.client import S3Client
from fanout.books.step import Verb
from fanout.ledger.keys import SUMMARY
from fanout.ledger.ledger import Ledger
from fanout.ledger.run_places import run_prefix
from fanout.model.location import S3Location
from fanout.runtime.settings import DataEndpoint
from fanout_cli.local.clients import Clients
from fanout_cli.local.errors import LocalRunError
from fanout_cli.local.keeper import read_up
from fanout_cli.local.paths import LocalPaths
from fanout_cli.local.s3_data import data_client, load
from fanout_cli.local.stack import LocalStack
from fanout_cli.local.toolchain import find_toolchain
from fanout_cli.progress.watch import watch_run
from fanout_cli.runs.advice import command_for, step_after
from fanout_cli.runs.ending import say_result
from fanout_cli.runs.reports import write_deleted
from fanout_cli.runs.results import RunResult, result_of
from fanout_cli.runs.run_ids import new_run_id
from fanout_cli.runs.runs import start_run, with_ledger
from fanout_cli.runs.work_bucket import BucketStore
from fanout_cli.stacks import Stack, stack_at


@dataclass(frozen=True, slots=True)
class LocalOptions:
    """The options of runs on the emulator, without their requests."""

    mounts: Mapping[str, Path]
    s3_endpoint: str = ""
    loads: list[tuple[Path, S3Location]] = field(default_factory=list)
    output: Path | None = None

    def words(self, paths: LocalPaths) -> str:
        """The options that name the same mounts, S3 and state to another command."""
        mounts = [f"{name}={directory}" for name, directory in self.mounts.items()]
        words = [word for mount in mounts for word in ("--mount", mount)]
        words += ["--s3-endpoint", self.s3_endpoint] if self.s3_endpoint else []
        return "".join(f" {shlex.quote(word)}" for word in words) + self.state_words(paths)

    def state_words(self, paths: LocalPaths) -> str:
        """``--state``, where it is not the default."""
        is_default = paths.state == LocalPaths.find().state
        return "" if is_default else f" --state {shlex.quote(str(paths.state))}"


class LocalRuns:
    """The local stack, up, and what is timed while it is."""

    def __init__(self, stack: LocalStack, options: LocalOptions, paths: LocalPaths, console: Console) -> None:
        self.stack, self._options, self._paths, self._console = stack, options, paths, console
        self._seconds: dict[str, float] = {}
        self._up = dict(stack.seconds)

    def run(self, request: Any, name: str = "run") -> RunResult:
        """Load, run, bring the ledger here."""
        began = time.monotonic()
        with self._timed("load"):
            load_all(self.stack.clients, self._options.s3_endpoint, self._options.loads, self._say)
        run_id = new_run_id(name)
        stack = stack_at(self.stack.clients, self.stack.outputs)
        start_run(stack, request, run_id)
        ended = watch_run(stack, run_id, self._console)
        store = BucketStore(stack.client("s3"), stack.work_bucket)
        with self._timed("collect"):
            ledger = self._collect(store, run_id)
            if (ledger / SUMMARY).is_file():
                write_deleted((ledger / SUMMARY).read_bytes(), Ledger(store, run_id), ledger)
        up, self._up = self._up, {}
        seconds = {**up, **self._seconds, "total": sum(up.values()) + time.monotonic() - began}
        result = result_of(ended, run_id, ledger, seconds)
        result = with_ledger(replace(result, is_local=True), Ledger(store, run_id))
        options = self._options
        say_local_end(stack, result, options.words(self._paths), options.state_words(self._paths), self._console)
        return result

    def _say(self, text: str) -> None:
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)

    def _collect(self, store: BucketStore, run_id: str) -> Path:
        """Copy the run's ledger out of the work bucket."""
        target = (self._options.output or self._paths.state / "runs") / run_id
        prefix = run_prefix(run_id)
        target.mkdir(parents=True, exist_ok=True)
        for key in store.list(prefix):
            file = target / key.removeprefix(prefix)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(store.get(key))
        return target

    @contextmanager
    def _timed(self, phase: str) -> Iterator[None]:
        began = time.monotonic()
        yield
        self._seconds[phase] = time.monotonic() - began


def say_local_end(stack: Stack, result: RunResult, options: str, state: str, console: Console) -> None:
    """Print what ``fanout start`` does; what it advises works once the stack is up again.

    ``options`` and ``state`` are those of this command that the advised ones need too.
    """
    say: Callable[[str], None] = lambda text: console.print(text, markup=False, highlight=False, soft_wrap=True)  # noqa: E731
    say_result(result, console)
    rest = result.engine_seconds or 0.0
    work = f"{result.seconds['total'] - rest:.1f} s of loading, listing and copying"
    say(f"{work}; {rest:.1f} s for all else, such as starting the local stack")
    if result.paths.get("report"):
        say(f"report: {result.paths['report']}")
    if result.paths.get("deleted"):
        say(f"deleted: {result.paths['deleted']}")
    step = step_after(stack, result)
    if step.verb is Verb.NONE:
        return
    say(f"next: {step.text}")
    if step.verb.asks_for_value:
        say(f"  fanout up{options}")
        say(f"  fanout start REQUEST.json --local{state}")
    else:
        holder = result.skipped["holder"] if result.skipped else ""
        say(f"  fanout up{options}")
        say(f"  {command_for(stack, str(result.run_id), step, holder)} --local{state}")


def data_endpoint(url: str) -> DataEndpoint | None:
    """The S3 server of the trees, with the caller's own credentials; ``None`` for the emulator's."""
    if not url:
        return None
    return DataEndpoint(
        url, os.environ.get("AWS_ACCESS_KEY_ID", "test"), os.environ.get("AWS_SECRET_ACCESS_KEY", "test")
    )


def data_client_of(clients: Clients, s3_endpoint: str) -> S3Client:
    """A client of the S3 that holds the trees: the emulator's, or that of the URL."""
    endpoint = data_endpoint(s3_endpoint)
    if endpoint is not None:
        return data_client(endpoint.url, endpoint.access_key_id, endpoint.secret_access_key)
    given = clients.access
    return data_client(given.endpoint, given.access_key_id, given.secret_access_key, trusted=given.ca_bundle)


def load_all(
    clients: Clients, s3_endpoint: str, loads: Iterable[tuple[Path, S3Location]], say: Callable[[str], None]
) -> None:
    """Upload directories; in the emulator's S3 into buckets that are made, and in place of what was there."""
    for directory, location in loads:
        if not s3_endpoint:
            make_bucket(clients, location.bucket)
        count = load(data_client_of(clients, s3_endpoint), directory, location, replace=not s3_endpoint)
        say(f"loaded {count:,} objects into {location}")


def make_bucket(clients: Clients, bucket: str) -> None:
    """Make a bucket of the emulator's, unless it is there."""
    with suppress(clients.s3.exceptions.BucketAlreadyOwnedByYou):
        clients.s3.create_bucket(Bucket=bucket)


@contextmanager
def local_runs(options: LocalOptions, console: Console, state: Path | None = None) -> Iterator[LocalRuns]:
    """The local stack, started, and deployed if its sources changed. Raises ``LocalRunError``."""
    paths = LocalPaths.find(state=state)
    tell: Callable[[str], None] = lambda phase: console.print(f"{phase} ...")  # noqa: E731
    if read_up(paths) is not None:
        raise LocalRunError(
            "the local stack is up and holds the state: run `fanout start REQUEST.json --local`, "
            "or end it with `fanout down`"
        )
    tools = find_toolchain(paths.repo)
    data = data_endpoint(options.s3_endpoint)
    with LocalStack(paths, tools, options.mounts, data=data, tell=tell) as stack:
        for limit in stack.isolation.unenforced:
            console.print(f"not limited as in Lambda: {limit}", style="yellow", soft_wrap=True)
        yield LocalRuns(stack, options, paths, console)
