"""The emulator as a child process: one port on loopback, its state in the local state directory."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from fanout_cli.local.access import NOT_RUNNING, Access
from fanout_cli.local.errors import LocalRunError, tail
from fanout_cli.local.loopback import HOST, free_port, healthy
from fanout_cli.local.paths import LocalPaths
from fanout_cli.local.tls.certificates import write_trusted
from fanout_cli.local.toolchain import Toolchain

START_SECONDS = 30.0
# S3 closes an idle connection after some seconds; AWS does not say how many.
IDLE_SECONDS = 20.0
STOP_SECONDS = 8.0
POLL_SECONDS = 0.02
PASSED_ON = ("PATH", "HOME", "LANG", "LC_ALL", "TZ", "NO_PROXY", "no_proxy")
LAUNCHER = Path(__file__).with_name("emulator_launcher.py")


class Emulator:
    """Runs MiniStack while the context lasts; ends with this process, however it ends.

    It speaks TLS alone, and enforces the policies of roles and buckets; the key of ``access`` is the account's root.
    Entering the context starts it; ``wait`` waits until it answers. ``data_url`` is the S3 server of the data, if that
    is not the emulator. A connection that is not used for ``idle_seconds`` is closed.
    """

    def __init__(
        self, tools: Toolchain, paths: LocalPaths, data_url: str = "", *, idle_seconds: float = IDLE_SECONDS
    ) -> None:
        self._tools = tools
        self._idle_seconds = idle_seconds
        self._data_url = data_url
        self._paths = paths
        self._process: subprocess.Popen[bytes] | None = None
        self._lock: IO[str] | None = None
        self._saved = paths.emulator / "saved"
        self.access = NOT_RUNNING

    def __enter__(self) -> Self:
        self._paths.keep_private()
        self._lock = hold(self._paths.lock)
        try:
            self._start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def log(self) -> Path:
        """The emulator's log."""
        return self._paths.log("emulator")

    def environment(self) -> dict[str, str]:
        """The environment for a child process that must reach the emulator and never AWS."""
        if not self.access.is_running:
            raise LocalRunError("the emulator is not running: a child process would call the real AWS")
        return {
            **{name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "PYTHON"))},
            **{name: f"{os.environ.get(name, '')},{HOST}".lstrip(",") for name in ("NO_PROXY", "no_proxy")},
            **self.access.environment(),
            "AWS_CA_BUNDLE": str(self._paths.trusted),
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        }

    @property
    def pid(self) -> int:
        """The process id of the emulator, 0 when it is not running."""
        return self._process.pid if self._process is not None else 0

    def save(self) -> None:
        """Save the resources that are there now; a later start finds these."""
        assert self._process is not None
        self._saved.unlink(missing_ok=True)
        self._process.send_signal(signal.SIGUSR1)
        deadline = time.monotonic() + START_SECONDS
        while not self._saved.exists():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise LocalRunError(f"the emulator did not save its state:\n{tail(self.log)}")
            time.sleep(POLL_SECONDS)

    def stop(self) -> None:
        """End the emulator and its workers, and give the state free."""
        process, self._process = self._process, None
        if process is not None:
            assert process.stdin is not None
            process.stdin.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(STOP_SECONDS)
            # Workers that are left are in the emulator's process group.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        if self._lock is not None:
            self._paths.access.unlink(missing_ok=True)
            self._lock.close()
            self._lock = None
        self.access = NOT_RUNNING

    def _start(self) -> None:
        shutil.rmtree(self._paths.temporary, ignore_errors=True)
        for folder in (self._paths.temporary, self._paths.objects, self.log.parent):
            folder.mkdir(parents=True, exist_ok=True)
        certificates = self._tools.certificates
        write_trusted(self._paths.trusted, certificates.authority, self._data_url)
        port = free_port()
        self.access = Access.new(f"https://{HOST}:{port}", certificates.authority)
        self.access.write(self._paths.access)
        environment = {
            # The workers inherit it, and have no business with the rest of the user's environment.
            **{
                name: value
                for name, value in self.environment().items()
                if name.startswith("AWS_") or name in PASSED_ON
            },
            # For what does not know AWS_CA_BUNDLE, as functions of an earlier version; sam also reaches other servers.
            "SSL_CERT_FILE": str(self._paths.trusted),
            "BIND_HOST": HOST,
            "GATEWAY_PORT": str(port),
            "USE_SSL": "1",
            "MINISTACK_SSL_CERT": str(certificates.certificate),
            "MINISTACK_SSL_KEY": str(certificates.key),
            "AUTH": "true",
            "IOT_MTLS_ENABLED": "0",
            "SFTP_ENABLED": "0",
            "PERSIST_STATE": "1",
            "STATE_DIR": str(self._paths.emulator / "state"),
            "S3_PERSIST": "1",
            "S3_DATA_DIR": str(self._paths.objects),
            "TMPDIR": str(self._paths.temporary),
            "LOG_LEVEL": "WARNING",
        }
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                # Isolated: the folder of the launcher must not be a place to import from.
                [self._tools.emulator_python, "-I", LAUNCHER, self._saved, str(self._idle_seconds)],
                env=environment,
                cwd=self._paths.emulator,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                umask=0o077,
            )

    def wait(self) -> None:
        """Wait until the emulator answers."""
        assert self._process is not None
        deadline = time.monotonic() + START_SECONDS
        while not healthy(self.access.endpoint, self._tools.certificates.authority):
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise LocalRunError(f"the emulator did not start; its log {self.log} ends:\n{tail(self.log)}")
            time.sleep(POLL_SECONDS)


def hold(path: Path) -> IO[str]:
    """Hold the lock until what is handed back is closed, or this process ends."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = path.open("a+", encoding="utf-8")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.seek(0)
        holder = lock.read().strip() or "unknown"
        lock.close()
        raise LocalRunError(
            f"another local run (process {holder}) uses {path.parent}: wait for it, or choose another state directory"
        ) from None
    lock.truncate(0)
    lock.write(str(os.getpid()))
    lock.flush()
    return lock
