"""A kernel with NFS client and server, and the first file system of the guest; made once, below ``.fanout/nfs``.

The kernel is Debian's for virtual machines, downloaded by apt; where there is no such package it is the host's own.
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
from pathlib import Path

HERE = Path(__file__).parent
CACHE = HERE.parents[2] / ".fanout" / "nfs"
PACKAGE = "linux-image-cloud-amd64"
# What the guest loads; those that they need come before them.
MODULES = (
    *("virtio_pci", "virtio_console", "virtiofs", "overlay", "loop"),
    *("ext4", "quota_v2", "nfsd", "nfs", "nfsv4", "veth", "sch_netem"),
)
DECOMPRESSED: dict[str, Callable[[bytes], bytes]] = {"": bytes, ".xz": lzma.decompress, ".gz": gzip.decompress}


def kernel() -> Path:
    """The kernel's image. Raises ``RuntimeError`` where none can be had."""
    if not (CACHE / "initrd").exists():
        _make()
    return CACHE / "kernel"


def _make() -> None:
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as at:
        image, modules = _debian(Path(at)) or _host()
        shutil.copy(image, CACHE / "kernel")
        made = Path(at) / "initrd"
        made.write_bytes(gzip.compress(cpio(_first_files(modules)), compresslevel=1))
        made.rename(CACHE / "initrd")


def _debian(work: Path) -> tuple[Path, Path] | None:
    """The image and the directory of modules of Debian's package."""
    told = subprocess.run(["apt-cache", "depends", PACKAGE], capture_output=True, text=True, check=False).stdout
    found = re.search(r"Depends: linux-image-(\S+)", told)
    if found is None:
        return None
    release = found[1]
    fetched = ["apt-get", "-qq", "-o", "APT::Sandbox::User=root", "download", f"linux-image-{release}"]
    subprocess.run(fetched, cwd=work, check=True)
    subprocess.run(["dpkg", "-x", next(work.glob("*.deb")), work / "tree"], check=True)
    subprocess.run(["depmod", "-b", work / "tree", release], check=True)
    return work / f"tree/boot/vmlinuz-{release}", work / f"tree/lib/modules/{release}"


def _host() -> tuple[Path, Path]:
    release = os.uname().release
    image, modules = Path(f"/boot/vmlinuz-{release}"), Path(f"/lib/modules/{release}")
    if not (os.access(image, os.R_OK) and (modules / "modules.dep").exists()):
        raise RuntimeError(f"neither apt's {PACKAGE} nor {image} with its modules can be had")
    return image, modules


def _first_files(modules: Path) -> Iterator[tuple[str, int, bytes]]:
    """Names, modes and bytes: busybox, the modules in the order in which they are loaded, and what runs first."""
    busybox = shutil.which("busybox")
    if busybox is None:
        raise RuntimeError("busybox is missing")
    for name in ("bin", "proc", "sys", "dev", "lib"):
        yield name, 0o040755, b""
    yield "bin/busybox", 0o100755, Path(busybox).read_bytes()
    order = list(dict.fromkeys(_with_needs(modules)))
    for path in order:
        suffix = path.suffix if path.suffix in DECOMPRESSED else ""
        yield f"lib/{path.name.removesuffix(suffix)}", 0o100644, DECOMPRESSED[suffix]((modules / path).read_bytes())
    names = (path.name.partition(".ko")[0] for path in order)
    yield "modules.order", 0o100644, "".join(f"/lib/{name}.ko\n" for name in names).encode()
    yield "init", 0o100755, (HERE / "guest" / "init").read_bytes()


def _with_needs(modules: Path) -> Iterator[Path]:
    rows = (line.split(":") for line in (modules / "modules.dep").read_text().splitlines())
    needs = {name: others.split() for name, others in rows}
    by_name = {re.sub(r"\.ko.*", "", Path(name).name).replace("-", "_"): name for name in needs}
    for module in MODULES:
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
