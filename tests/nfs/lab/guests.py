"""The guests, in the order in which they are tried: what each needs, and what starts it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tests.nfs.lab.kernel import CACHE, PRELOAD, USER_MODE, VIRTUAL, Kernel

# Daemons are not where a shell looks for programs.
PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin:/usr/libexec:/usr/lib/qemu:/usr/lib"
TOOLS = ("busybox", "depmod", "rpc.nfsd", "rpc.mountd", "exportfs", "mount.nfs4", "mkfs.ext4", "setquota", "tc")
QEMU = "qemu-system-x86_64"
KVM = "/dev/kvm"
MEMORY_GIB = 4

# What starts a guest from a kernel and an initrd, for as long as the context lasts.
Start = Callable[[Kernel, Path], AbstractContextManager[list[str]]]


@dataclass(frozen=True)
class Guest:
    """Up within ``seconds`` even on a busy machine, or not at all: it is not tried again then."""

    name: str
    kernel: Kernel
    tools: tuple[str, ...]
    seconds: float
    start: Start
    device: str = ""

    def lacks(self) -> str:
        """Why it cannot run here; empty if it may."""
        missing = [tool for tool in (*TOOLS, *self.tools) if shutil.which(tool, path=PATH) is None]
        if missing:
            return f"missing: {', '.join(missing)}"
        if self.device and not os.access(self.device, os.R_OK | os.W_OK):
            return f"{self.device} cannot be used"
        return f"{self._note.read_text()} ({self._note})" if self._note.exists() else ""

    def note(self, reason: str) -> None:
        """Keep why it did not come up."""
        self._note.parent.mkdir(parents=True, exist_ok=True)
        self._note.write_text(reason)

    @property
    def _note(self) -> Path:
        return CACHE / f"no-{self.name.replace(' ', '-')}"


@contextmanager
def _qemu(processor: list[str], kernel: Kernel, initrd: Path) -> Iterator[list[str]]:
    with _host_files() as socket:
        memory = f"memory-backend-memfd,id=memory,size={MEMORY_GIB}G,share=on"
        shared = ["-object", memory, "-numa", "node,memdev=memory", "-chardev", f"socket,id=files,path={socket}"]
        shared += ["-device", "vhost-user-fs-pci,chardev=files,tag=host"]
        booted = ["-kernel", str(kernel.at / "kernel"), "-initrd", str(initrd)]
        booted += ["-append", "console=ttyS0 panic=-1 quiet"]
        machine = ["-smp", "2", "-m", f"{MEMORY_GIB}G", "-nographic", "-no-reboot", "-nic", "none"]
        yield [QEMU, *processor, *machine, *shared, *booted]


@contextmanager
def _user_mode(kernel: Kernel, initrd: Path) -> Iterator[list[str]]:
    """A kernel that is a program; its memory is a file, its processes are traced ones of this machine."""
    shared = shutil.disk_usage("/dev/shm") if Path("/dev/shm").is_dir() else None
    fits = shared is not None and shared.free > MEMORY_GIB << 30
    with tempfile.TemporaryDirectory(prefix="nfs-memory-", dir="/dev/shm" if fits else None) as memory:
        environment = [f"TMPDIR={memory}", f"LD_PRELOAD={kernel.at / 'preload'}"]
        console = ["con=null", "con0=null,fd:1", "quiet", "panic=-1"]
        started = [str(kernel.at / "kernel"), f"mem={MEMORY_GIB}G", f"initrd={initrd}", "root=/dev/ram0"]
        yield ["env", *environment, *started, *console]


@contextmanager
def _host_files() -> Iterator[Path]:
    """The socket of a process that gives the guest this machine's files."""
    program = shutil.which("virtiofsd", path=PATH)
    assert program is not None
    options = ["-o", "source=/", "-o", "cache=auto", "-o", "sandbox=chroot"]
    with tempfile.TemporaryDirectory(prefix="nfs-") as at:
        socket, said = Path(at) / "socket", Path(at) / "files"
        with said.open("wb") as out:
            command = [program, f"--socket-path={socket}", *options]
            daemon = subprocess.Popen(command, stdout=out, stderr=out, start_new_session=True)
        try:
            until = time.monotonic() + 10
            while not socket.exists():
                if daemon.poll() is not None or time.monotonic() > until:
                    raise RuntimeError(f"{program} did not begin: {said.read_text()}")
                time.sleep(0.05)
            yield socket
        finally:
            if daemon.poll() is None:
                os.killpg(daemon.pid, signal.SIGTERM)
            daemon.wait()


_VIRTUAL_TOOLS = (QEMU, "virtiofsd")
# Chosen: nested virtualisation may be offered and hang. The others are up within 5 and 25 seconds.
GUESTS = (
    Guest("KVM", VIRTUAL, _VIRTUAL_TOOLS, 30, partial(_qemu, ["-accel", "kvm", "-cpu", "host"]), KVM),
    Guest("user mode", USER_MODE, (PRELOAD[0],), 60, _user_mode),
    # Some ten to twenty times as slow as the others.
    Guest("translated", VIRTUAL, _VIRTUAL_TOOLS, 240, partial(_qemu, ["-accel", "tcg,thread=multi", "-cpu", "max"])),
)
