"""Runs a command in a virtual machine whose ``/`` is this machine's and which has mounts of an NFSv4.1 server."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from tests.nfs.lab.kernel import CACHE, HERE, cpio, kernel

DAEMONS = ("/usr/libexec/virtiofsd", "/usr/lib/qemu/virtiofsd", "/usr/lib/virtiofsd")
QEMU = "qemu-system-x86_64"
TOOLS = (QEMU, "busybox", "depmod", "rpc.nfsd", "rpc.mountd", "exportfs", "mount.nfs4", "mkfs.ext4", "setquota", "tc")
MEMORY = "4G"
# Chosen: nested virtualisation may be offered and hang. Translated, a guest on a busy machine is up within 25 seconds.
KVM_SECONDS = 30.0
TRANSLATED_SECONDS = 240.0


def lacks() -> str:
    """Why no guest can run here; empty if one can."""
    path = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
    missing = [tool for tool in TOOLS if shutil.which(tool, path=path) is None]
    if not any(map(os.path.exists, DAEMONS)):
        missing.append("virtiofsd")
    if missing:
        return f"missing: {', '.join(missing)}; tests/nfs/lab/packages names Debian's packages"
    return "" if os.geteuid() == 0 else "only root can give the guest this machine's files"


def run(command: str, results: Path, seconds: float, out: IO[bytes] | None = None) -> int | None:
    """The status of a shell command in a guest of its own, in which ``results`` is ``/run/results``; None if it is
    not done in time. What the guest says goes to ``results/console`` and to ``out``.

    Raises ``RuntimeError`` where no guest comes up.
    """
    image = kernel()
    for name, options in _accelerators():
        with tempfile.TemporaryDirectory(prefix="nfs-") as at, _host_files(Path(at)) as socket:
            initrd = Path(at) / "initrd"
            files = [("results", 0o100644, str(results.resolve()).lstrip("/").encode())]
            files.append(("serve", 0o100644, (HERE / "guest" / "serve").read_bytes()))
            files.append(("command", 0o100644, command.encode()))
            initrd.write_bytes(_four((CACHE / "initrd").read_bytes()) + cpio(files))
            guest = _Guest([*options, *_machine(socket, image, initrd)], results / "console", out)
            if not guest.up.wait(KVM_SECONDS if name == "kvm" else TRANSLATED_SECONDS):
                guest.end()
                if name != "kvm":
                    said = (results / "console").read_text(errors="replace")
                    raise RuntimeError(f"not up within {TRANSLATED_SECONDS:.0f} s:\n{said[-5000:]}")
                (CACHE / "no-kvm").touch()
                continue
            guest.wait(seconds)
        break
    status = results / "status"
    return int(status.read_text()) if status.exists() else None


def accelerator() -> str:
    """``kvm``, or ``tcg`` where the processor is translated, some ten to twenty times as slowly."""
    return _accelerators()[0][0]


def _accelerators() -> list[tuple[str, list[str]]]:
    kvm = os.access("/dev/kvm", os.R_OK | os.W_OK) and not (CACHE / "no-kvm").exists()
    translated = ("tcg", ["-accel", "tcg,thread=multi", "-cpu", "max"])
    return [("kvm", ["-accel", "kvm", "-cpu", "host"]), translated] if kvm else [translated]


def _machine(socket: Path, image: Path, initrd: Path) -> list[str]:
    memory = f"memory-backend-memfd,id=memory,size={MEMORY},share=on"
    shared = ["-object", memory, "-numa", "node,memdev=memory", "-chardev", f"socket,id=files,path={socket}"]
    shared += ["-device", "vhost-user-fs-pci,chardev=files,tag=host"]
    booted = ["-kernel", str(image), "-initrd", str(initrd), "-append", "console=ttyS0 panic=-1 quiet"]
    return ["-smp", "2", "-m", MEMORY, *shared, *booted, "-nographic", "-no-reboot", "-nic", "none"]


class _Guest:
    """A virtual machine at work; its console is written down as it speaks."""

    def __init__(self, options: list[str], console: Path, out: IO[bytes] | None) -> None:
        self.up = threading.Event()
        self._process = subprocess.Popen(
            [QEMU, *options], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        self._reader = threading.Thread(target=self._read, args=(console, out))
        self._reader.start()

    def _read(self, console: Path, out: IO[bytes] | None) -> None:
        assert self._process.stdout is not None
        with console.open("wb", buffering=0) as kept:
            for line in self._process.stdout:
                kept.write(line)
                if out is not None:
                    out.write(line)
                    out.flush()
                if b"guest: up" in line:
                    self.up.set()

    def wait(self, seconds: float) -> None:
        """Wait for its end, which comes after so many seconds at the latest."""
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.end()
        self._reader.join()

    def end(self) -> None:
        """End it, whatever it does."""
        self._process.kill()
        self._process.wait()
        self._reader.join()


@contextmanager
def _host_files(at: Path) -> Iterator[Path]:
    """The socket of a process that gives the guest this machine's files."""
    socket = at / "socket"
    program = next(one for one in DAEMONS if Path(one).exists())
    options = [f"--socket-path={socket}", "-o", "source=/", "-o", "cache=auto", "-o", "sandbox=chroot"]
    with (at / "files").open("wb") as said:
        daemon = subprocess.Popen([program, *options], stdout=said, stderr=said, start_new_session=True)
    try:
        until = time.monotonic() + 10
        while not socket.exists():
            if daemon.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"{program} did not begin: {(at / 'files').read_text()}")
            time.sleep(0.05)
        yield socket
    finally:
        if daemon.poll() is None:
            os.killpg(daemon.pid, signal.SIGTERM)
        daemon.wait()


def _four(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)
