"""Tries a mount: makes the operations of a run on files of its own, below a hidden directory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from fanout.adapters.posix.paths.directories import DIRECTORY_FLAGS
from fanout.facts import units
from fanout.model.path_rules import DOCTOR_PREFIX
from fanout.ports.finding import Finding, fail, ok, warn

# Chosen: with less than this free a run is likely to end in "no space".
FREE_BYTES = units.GIB
FREE_INODES = 10_000
_IDENTITY = "check the access point's PosixUser, and owner and mode of its root directory"


def probe_mount(name: str, path: Path, nonce: str) -> Iterator[Finding]:
    """Findings on one mount; ``nonce`` keeps probes at the same time apart."""
    title = f"mount {name}"
    if not path.is_dir():
        remedy = "check the function's FileSystemConfigs and that the mount targets are available"
        yield fail(title, f"{path} is not there", remedy)
        return
    yield ok(title, f"{path} is there")
    yield from _write(name, path, f"{DOCTOR_PREFIX}{nonce}")
    yield from _space(name, path)


def _write(name: str, path: Path, own: str) -> Iterator[Finding]:
    """Try it in a directory ``own`` that is made here. Nothing is removed in it but what was made through it."""
    title = f"mount {name}: write"
    step = "mkdir"
    directory = -1
    try:
        (path / own).mkdir(mode=0o700)
        directory = os.open(path / own, DIRECTORY_FLAGS)
        step = "create"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open("new", flags, 0o600, dir_fd=directory)
        try:
            step = "write"
            os.write(descriptor, b"probe")
            step = "fsync"
            os.fsync(descriptor)
            step = "rename"
            os.rename("new", "placed", src_dir_fd=directory, dst_dir_fd=directory)
            yield ok(title, "a file was created, written, synced and renamed")
            yield _owner(name, descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        yield fail(title, f"{step}: {error.strerror}", _IDENTITY)
    finally:
        if directory >= 0:
            for one in ("new", "placed"):
                with suppress(OSError):
                    os.unlink(one, dir_fd=directory)
            os.close(directory)
            with suppress(OSError):  # of another that somebody put there, which holds something
                (path / own).rmdir()


def _owner(name: str, descriptor: int) -> Finding:
    title = f"mount {name}: owners"
    found = os.fstat(descriptor)
    wanted = (found.st_uid + 1, found.st_gid + 1)
    remedy = "deploy with PosixUserId=0 if owners are to be kept"
    try:
        os.fchown(descriptor, *wanted)
    except OSError as error:
        return warn(title, f"cannot be kept: {error.strerror}", remedy)
    after = os.fstat(descriptor)
    if (after.st_uid, after.st_gid) != wanted:
        return warn(title, f"cannot be kept: the access point makes every file {after.st_uid}:{after.st_gid}", remedy)
    return ok(title, "can be kept")


def _space(name: str, path: Path) -> Iterator[Finding]:
    title = f"mount {name}: space"
    found = os.statvfs(path)
    free = found.f_bavail * found.f_frsize
    if free < FREE_BYTES:
        yield fail(title, f"{free:,} bytes are free", "free space, or raise the quota")
    elif found.f_files and found.f_favail < FREE_INODES:  # EFS counts none
        yield warn(title, f"{found.f_favail:,} inodes are free", "remove files that are no longer needed")
    else:
        yield ok(title, f"{free:,} bytes are free")
