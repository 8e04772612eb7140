"""Runs a request through the state machine on this machine."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console

from fanout.adapters.s3.client.client import S3Client
from fanout.ledger.keys import run_prefix
from fanout.model.location import S3Location
from fanout_cli.local.errors import LocalRunError
from fanout_cli.local.keeper import read_up
from fanout_cli.local.paths import LocalPaths
from fanout_cli.local.stack import LocalStack
from fanout_cli.local.toolchain import find_toolchain
from fanout_cli.local.workers.worker import DataEndpoint
from fanout_cli.runs.progress import BucketStore, describe_totals
from fanout_cli.runs.results import RunResult, result_of
from fanout_cli.runs.run_ids import new_run_id
from fanout_cli.runs.runs import start_run
from fanout_cli.runs.watch import watch_run
from fanout_cli.s3_data import data_client, load, save
from fanout_cli.stacks import stack_at


@dataclass(frozen=True, slots=True)
class LocalOptions:
    """The options of ``fanout local`` beside the request."""

    mounts: Mapping[str, Path]
    s3_endpoint: str = ""
    loads: list[tuple[Path, S3Location]] = field(default_factory=list)
    saves: list[tuple[S3Location, Path]] = field(default_factory=list)
    output: Path | None = None


class LocalRuns:
    """The local stack, up, and what is timed while it is."""

    def __init__(self, stack: LocalStack, options: LocalOptions, paths: LocalPaths, console: Console) -> None:
        self.stack, self._options, self._paths, self._console = stack, options, paths, console
        self._seconds: dict[str, float] = {}
        self._up = dict(stack.seconds)

    def run(self, request: Any, name: str = "run") -> RunResult:
        """Load, run, bring the ledger here, save."""
        began = time.monotonic()
        client = self._data_client()
        with self._timed("load"):
            for directory, location in self._options.loads:
                self.make_bucket(location.bucket)
                count = load(client, directory, location, replace=not self._options.s3_endpoint)
                self._console.print(f"loaded {count:,} objects into {location}")
        run_id = new_run_id(name)
        stack = stack_at(self.stack.clients, self.stack.outputs)
        start_run(stack, request, run_id)
        ended = watch_run(stack, run_id, self._console)
        store = BucketStore(self.stack.clients.s3, self.stack.work_bucket)
        with self._timed("collect"):
            ledger = self._collect(store, run_id)
        with self._timed("save"):
            for location, directory in self._options.saves:
                count = save(client, location, directory)
                self._console.print(f"saved {count:,} objects of {location}")
        up, self._up = self._up, {}
        seconds = {**up, **self._seconds, "total": sum(up.values()) + time.monotonic() - began}
        result = result_of(ended, run_id, ledger, seconds)
        self._console.print(f"{result.status}: {describe_totals(result.totals) or 'nothing listed'}")
        for warning in result.warnings:
            self._console.print(f"warning: {warning}", style="yellow", soft_wrap=True)
        self._console.print(
            f"{seconds['total']:.1f} s, of them {result.engine_seconds:.1f} s for anything but listing and copying"
        )
        return result

    def _data_client(self) -> S3Client:
        endpoint = data_endpoint(self._options.s3_endpoint)
        if endpoint is not None:
            return data_client(endpoint.url, endpoint.access_key_id, endpoint.secret_access_key)
        return data_client(self.stack.endpoint, "test", "test", trusted=str(self.stack.clients.trusted))

    def make_bucket(self, bucket: str) -> None:
        """Make a bucket of the emulator's, unless it is there; one elsewhere is its owner's affair."""
        if self._options.s3_endpoint:
            return
        s3 = self.stack.clients.s3
        with suppress(s3.exceptions.BucketAlreadyOwnedByYou):
            s3.create_bucket(Bucket=bucket)

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


def data_endpoint(url: str) -> DataEndpoint | None:
    """The S3 server of the trees, with the caller's own credentials; ``None`` for the emulator's."""
    if not url:
        return None
    return DataEndpoint(
        url, os.environ.get("AWS_ACCESS_KEY_ID", "test"), os.environ.get("AWS_SECRET_ACCESS_KEY", "test")
    )


@contextmanager
def local_runs(options: LocalOptions, console: Console, state: Path | None = None) -> Iterator[LocalRuns]:
    """The local stack, started, and deployed if its sources changed. Raises ``LocalRunError``."""
    paths = LocalPaths.find(state=state)
    tell: Callable[[str], None] = lambda phase: console.print(f"{phase} ...")  # noqa: E731
    if read_up(paths) is not None:
        raise LocalRunError(
            "the local stack is up and holds the state: run `fanout start REQUEST.json --local --watch`, "
            "or end it with `fanout down`"
        )
    tools = find_toolchain(paths.repo)
    data = data_endpoint(options.s3_endpoint)
    with LocalStack(paths, tools, options.mounts, data=data, tell=tell) as stack:
        for limit in stack.isolation.unenforced:
            console.print(f"not limited as in Lambda: {limit}", style="yellow", soft_wrap=True)
        yield LocalRuns(stack, options, paths, console)
