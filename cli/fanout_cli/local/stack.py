"""The stack on this machine: started, deployed if its sources changed, and ready for StartExecution."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from fanout.runtime.settings import DataEndpoint
from fanout_cli.local.access import NOT_RUNNING
from fanout_cli.local.clients import Clients
from fanout_cli.local.deployment import DeployedStack, Deployment
from fanout_cli.local.emulator import Emulator
from fanout_cli.local.errors import LocalRunError
from fanout_cli.local.paths import MOUNT_NAME, LocalPaths
from fanout_cli.local.toolchain import Toolchain
from fanout_cli.local.workers.worker import Isolation, write_start

WORKERS_A_PROCESSOR = 2
POLL_SECONDS = 0.1
MOUNTS = 2


class LocalStack:
    """``with LocalStack(paths, tools, {"data": directory}) as stack: stack.start_execution(request, run_id)``.

    ``parameters`` are of the template, in addition to those that the local run gives.
    """

    def __init__(
        self,
        paths: LocalPaths,
        tools: Toolchain,
        mounts: Mapping[str, Path],
        *,
        data: DataEndpoint | None = None,
        max_concurrency: int | None = None,
        parameters: Mapping[str, str] | None = None,
        tell: Callable[[str], None] = lambda phase: None,
    ) -> None:
        self._paths = paths
        self._tools = tools
        self._mounts = {name: directory.resolve() for name, directory in mounts.items()}
        self._data = data
        self._tell = tell
        self._exit = ExitStack()
        self._forgotten: set[str] = set()
        concurrency = {"MaxConcurrency": str(max_concurrency or WORKERS_A_PROCESSOR * (os.cpu_count() or 1))}
        self._deployment = Deployment(paths, tools, {**concurrency, **(parameters or {})})
        self._deployed = DeployedStack("", {})
        self.clients = Clients(NOT_RUNNING)
        self.seconds: dict[str, float] = {}
        """Seconds of each phase: start, build, deploy."""
        self.emulator_pid = 0
        self.isolation = Isolation(mounted=False)
        """The things that the workers are kept from, and which limits of a function do not hold on this machine."""

    def __enter__(self) -> Self:
        if len(self._mounts) > MOUNTS:
            raise LocalRunError(f"{len(self._mounts)} mounts are given; a stack has at most {MOUNTS}")
        for name, directory in self._mounts.items():
            if not MOUNT_NAME.fullmatch(name):
                raise LocalRunError(f"mount {name!r}: a name is lower-case letters, digits and hyphens, a letter first")
            if not directory.is_dir():
                raise LocalRunError(f"mount {name}: {directory} is not a directory")
        with ExitStack() as undo:
            with self._phase("start"):
                emulator = undo.enter_context(Emulator(self._tools, self._paths, self._data.url if self._data else ""))
                # It may hold a secret of the data's S3 server.
                undo.callback(self._paths.worker.unlink, missing_ok=True)
                self.isolation = write_start(self._paths, self._tools.worker_python, self._mounts, self._data)
                self.clients = Clients(emulator.access)
                self.emulator_pid = emulator.pid
                deployed = self._deployment.current()
                emulator.wait()
            if deployed is None:
                with self._phase("build"):
                    self._deployment.build(emulator)
                with self._phase("deploy"):
                    deployed = self._deployment.deploy(emulator, self.clients)
            self._deployed = deployed
            self._exit = undo.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._exit.close()
        for bucket in self._forgotten:
            for directory in self._paths.objects.glob(f"*/{bucket}"):
                shutil.rmtree(directory, ignore_errors=True)

    @property
    def outputs(self) -> Mapping[str, str]:
        """The outputs of the stack."""
        return self._deployed.outputs

    @property
    def endpoint(self) -> str:
        """The URL of the emulator."""
        return self.clients.endpoint

    @property
    def state_machine_arn(self) -> str:
        """The state machine of the transfer."""
        return self.outputs["StateMachineArn"]

    @property
    def work_bucket(self) -> str:
        """The bucket that holds the ledger."""
        return self.outputs["WorkBucketName"]

    def start_execution(self, request: Mapping[str, Any], run_id: str) -> str:
        """Start a run; hand back the execution's ARN."""
        started = self.clients.stepfunctions.start_execution(
            stateMachineArn=self.state_machine_arn, name=run_id, input=json.dumps(request)
        )
        return str(started["executionArn"])

    def describe(self, execution_arn: str) -> dict[str, Any]:
        """Status, input, output, error and cause of a run."""
        described: dict[str, Any] = self.clients.stepfunctions.describe_execution(executionArn=execution_arn)
        return described

    def wait(self, execution_arn: str, progress: Callable[[dict[str, Any]], None] = lambda run: None) -> dict[str, Any]:
        """Wait until the run ends; show what is there to ``progress`` from time to time."""
        while (run := self.describe(execution_arn))["status"] == "RUNNING":
            progress(run)
            time.sleep(POLL_SECONDS)
        return run

    def forget(self, bucket: str) -> None:
        """Drop a bucket when the emulator has stopped. Each 1,000 objects that are kept cost a later start 0.1 s."""
        self._forgotten.add(bucket)

    @contextmanager
    def _phase(self, name: str) -> Iterator[None]:
        self._tell(name)
        begin = time.monotonic()
        yield
        self.seconds[name] = time.monotonic() - begin
