"""Kernels with NFS client and server, each with the first file system of a guest; made once, below ``.fanout/nfs``.

They are Debian's, downloaded by apt; one for a virtual machine may also be the host's own.
"""

from __future__ import annotations

import gzip
import lzma
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
CACHE = HERE.parents[2] / ".fanout" / "nfs"
SERVED = ("overlay", "loop", "ext4", "quota_v2", "nfsd", "nfs", "nfsv4", "veth", "sch_netem")
DECOMPRESSED: dict[str, Callable[[bytes], bytes]] = {"": bytes, ".xz": lzma.decompress, ".gz": gzip.decompress}
PRELOAD = ("gcc", "-O2", "-shared", "-fPIC", "-o")


@dataclass(frozen=True)
class Kernel:
    """``package`` of Debian, or what it depends on, has ``image`` and ``modules``, of which the guest loads ``loaded``.

    ``preload`` is compiled for a kernel that is a program.
    """

    name: str
    package: str
    image: str
    modules: str
    loaded: tuple[str, ...] = SERVED
    preload: str = ""

    @property
    def at(self) -> Path:
        """Where ``kernel``, ``initrd`` and ``preload`` are once it was fetched."""
        return CACHE / self.name

    def fetch(self) -> None:
        """Have it there. Raises ``RuntimeError`` where it cannot be had."""
        if (self.at / "initrd").exists():
            return
        self.at.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=self.at) as at:
            image, modules = self._debian(Path(at))
            shutil.copy(image, self.at / "kernel")
            if self.preload:
                _run(*PRELOAD, self.at / "preload", HERE / "guest" / self.preload)
            made = Path(at) / "initrd"
            made.write_bytes(gzip.compress(cpio(_first_files(modules, self.loaded)), compresslevel=1))
            made.rename(self.at / "initrd")

    def _debian(self, work: Path) -> tuple[Path, Path]:
        """The image and the directory of modules of Debian's package, or else the host's."""
        package = _with_release(self.package)
        if not package:
            return self._host()
        _run("apt-get", "-qq", "-o", "APT::Sandbox::User=root", "download", package, cwd=work)
        tree = work / "tree"
        _run("dpkg", "-x", next(work.glob("*.deb")), tree)
        image, modules = (next(tree.glob(pattern)) for pattern in (self.image, self.modules))
        if not (modules / "modules.dep").exists():
            _run("depmod", "-b", tree, modules.name)
        return image, modules

    def _host(self) -> tuple[Path, Path]:
        """The host's own, which has to be such a kernel."""
        root, release = Path("/"), os.uname().release
        image, modules = (root / one.replace("*", release) for one in (self.image, self.modules))
        if not (os.access(image, os.R_OK) and (modules / "modules.dep").exists()):
            raise RuntimeError(f"neither apt's {self.package} nor {image} with its modules can be had")
        return image, modules


VIRTUAL = Kernel(
    "virtual",
    "linux-image-cloud-amd64",
    "boot/vmlinuz-*",
    "lib/modules/*",
    ("virtio_pci", "virtio_console", "virtiofs", *SERVED),
)
USER_MODE = Kernel("user", "user-mode-linux", "usr/bin/linux.uml", "usr/lib/uml/modules/*", preload="preload.c")


def is_fetched() -> bool:
    """Whether any kernel is there."""
    return any((one.at / "initrd").exists() for one in (VIRTUAL, USER_MODE))


def _with_release(package: str) -> str:
    """The package with a release in its name that one without depends on, or else itself; empty if apt knows none."""
    if shutil.which("apt-cache") is None:
        return ""
    told = subprocess.run(["apt-cache", "depends", package], capture_output=True, text=True, check=False)
    found = re.search(r"Depends: (linux-image-\S+)", told.stdout)
    return found[1] if found else package * (told.returncode == 0)


def _run(*command: str | Path, cwd: Path | None = None) -> None:
    done = subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))}: {done.stdout}")


def _first_files(modules: Path, loaded: Iterable[str]) -> Iterator[tuple[str, int, bytes]]:
    """Names, modes and bytes: busybox, and the modules in the order in which they are loaded."""
    busybox = shutil.which("busybox")
    if busybox is None:
        raise RuntimeError("busybox is missing")
    for name in ("bin", "proc", "sys", "dev", "lib"):
        yield name, 0o040755, b""
    yield "bin/busybox", 0o100755, Path(busybox).read_bytes()
    order = list(dict.fromkeys(_with_needs(modules, loaded)))
    for path in order:
        suffix = path.suffix if path.suffix in DECOMPRESSED else ""
        yield f"lib/{path.name.removesuffix(suffix)}", 0o100644, DECOMPRESSED[suffix]((modules / path).read_bytes())
    names = (path.name.partition(".ko")[0] for path in order)
    yield "modules.order", 0o100644, "".join(f"/lib/{name}.ko\n" for name in names).encode()


def _with_needs(modules: Path, loaded: Iterable[str]) -> Iterator[Path]:
    rows = (line.split(":") for line in (modules / "modules.dep").read_text().splitlines())
    needs = {name: others.split() for name, others in rows}
    by_name = {re.sub(r"\.ko.*", "", Path(name).name).replace("-", "_"): name for name in needs}
    for module in loaded:
        if module in by_name:  # else it is part of the kernel
            yield from map(Path, [*reversed(needs[by_name[module]]), by_name[module]])


def cpio(files: Iterable[tuple[str, int, bytes]]) -> bytes:
    """The files as the kernel reads them (Documentation/driver-api/early-userspace/buffer-format.rst)."""
    return b"".join(_record(number, *one) for number, one in enumerate((*files, ("TRAILER!!!", 0, b"")), 1))


def _record(number: int, name: str, mode: int, data: bytes) -> bytes:
    encoded = name.encode() + b"\0"
    fields = (number, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(encoded), 0)
    head = b"070701" + b"".join(b"%08x" % field for field in fields) + encoded
    return _padded(head) + _padded(data)


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)
