"""What a tree is, and a directory of a mount as the script fills, changes and looks at it."""

from __future__ import annotations

import os
import shutil
import stat
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from tests.adversary.beforehand import CLOSE_VAULT, OPEN_VAULT, put_vault
from tests.adversary.clock import LabClock
from tests.adversary.forgers import FORGE, FORGERIES, KEPT_IN, backups_of, forge, pose_as_kept
from tests.adversary.script import STAGING, Change, Spec, bytes_of
from tests.adversary.swappers import swap_private
from tests.adversary.thieves import WORDS, is_thieves, steal


@dataclass(frozen=True)
class Version:
    """What stood at a path at some moment. ``mark`` tells two versions with the same bytes apart (inode, ETag).

    ``carried`` are an object's headers but for POSIX attributes, ``tags`` its tags.
    ``archived``: S3 reads no byte of it.
    """

    kind: str
    data: bytes = b""
    mode: int | None = None
    mtime_ns: int | None = None
    uid: int | None = None
    gid: int | None = None
    mark: str = ""
    changed_ns: int = 0
    carried: frozenset[tuple[str, str]] = frozenset()
    tags: str = ""
    archived: bool = False

    @property
    def content(self) -> tuple[str, bytes]:
        """What a copy must carry in any case."""
        return self.kind, self.data


Snapshot = dict[str, Version]


class Place(Protocol):
    """A tree and all that lies around it; its name tells it from the other end's."""

    name: str

    def build(self, specs: tuple[Spec, ...]) -> None:
        """Fill the tree, and put canaries around it."""

    def snapshot(self) -> Snapshot:
        """The tree, without what runs stage."""

    def around(self) -> Snapshot:
        """Everything outside the tree."""

    def change(self, change: Change) -> None:
        """Have somebody else change it; what cannot be done is left."""

    def staged(self, run: str) -> list[str]:
        """What a run left staged."""

    def path_of(self, about: str) -> str:
        """The path in the tree that an operation is about; empty for one outside."""


class MountPlace:
    """A directory of a mount."""

    def __init__(self, mount: Path, name: str, clock: LabClock, *, keeps_mtimes: bool) -> None:
        """With ``keeps_mtimes`` the files of a directory that is turned have the times of those before."""
        self.mount, self.name, self._clock, self._keeps_mtimes = mount, name, clock, keeps_mtimes
        self.root = mount / name

    def build(self, specs: tuple[Spec, ...]) -> None:
        self.root.mkdir(parents=True, exist_ok=True)
        for name in ("canary", "attic", f"{self.name}x"):
            (self.mount / name).mkdir(exist_ok=True)
        for name in ("canary/secret", "canary/d1", f"{self.name}x/d1", "top"):
            if not (self.mount / name).exists():
                (self.mount / name).write_text(f"canary {name}")
        for spec in specs:
            with suppress(OSError):  # a name may stand under a file
                self._make(spec)
        for spec in reversed(specs):
            if spec.kind == "directory":
                with suppress(OSError):
                    _dress(self.root / spec.path, spec)

    def _make(self, spec: Spec) -> None:
        path = self.root / spec.path
        path.parent.mkdir(parents=True, exist_ok=True)
        if spec.kind == "directory":
            path.mkdir(exist_ok=True)
            return
        if spec.kind == "link":
            os.link(self.root / spec.target, path, follow_symlinks=False)
            return
        if spec.kind == "symlink":
            path.symlink_to(spec.target)
        elif spec.kind == "fifo":
            os.mkfifo(path)
        else:
            path.write_bytes(spec.data())
        _dress(path, spec)

    def snapshot(self) -> Snapshot:
        found: Snapshot = {}
        _walk(self.root, "", found, skip_staging=True)
        return found

    def around(self) -> Snapshot:
        found: Snapshot = {}
        for name in sorted(os.listdir(self.mount)):
            if name in ("in", "out", "attic", KEPT_IN):
                continue
            found[name] = _version(self.mount / name)
            _walk(self.mount / name, f"{name}/", found, skip_staging=False)
        return found

    def kept(self, run: str) -> Snapshot:
        """What a run kept in ``backup_to``; without a name, what all runs did."""
        found: Snapshot = {}
        for place, prefix in backups_of(self.mount / KEPT_IN, run):
            _walk(place, prefix, found, skip_staging=True)
        return found

    def staged(self, run: str) -> list[str]:
        name = f"{STAGING}{run}"
        return [name] if name in os.listdir(self.root) and not is_thieves(self.root / name) else []

    def path_of(self, about: str) -> str:
        root = f"{self.root}/"
        return about.removeprefix(root) if about.startswith(root) else ""

    def change(self, change: Change) -> None:
        path = self.root / change.path.rstrip("/")
        if any(one.is_symlink() for one in path.parents if one.is_relative_to(self.root)):
            return
        with suppress(OSError, ValueError, RecursionError):  # ``copytree`` ends in a deep tree
            if change.what in (OPEN_VAULT, CLOSE_VAULT):
                put_vault(self.root, change)
            elif change.what in WORDS:
                steal(change.what, self.root, change.seed)
            elif change.what in FORGERIES:
                forge(self.root, change.seed) if change.what == FORGE else pose_as_kept(self.root)
            elif STAGING not in change.path:
                getattr(self, f"_{change.what.replace('-', '_')}")(path, change.seed)

    # A method a change, by its name.

    def _rewrite(self, path: Path, seed: int) -> None:
        """Other bytes of the same size in place, the mtime put back."""
        seen = _plain_file(path)
        with path.open("r+b") as file:
            file.write(bytes_of(seed, seen.st_size))
        os.utime(path, ns=(seen.st_atime_ns, seen.st_mtime_ns))

    _spoil = _rewrite

    def _rewrite_now(self, path: Path, seed: int) -> None:
        self._rewrite(path, seed)
        self._touch(path)

    def _append(self, path: Path, seed: int) -> None:
        _plain_file(path)
        with path.open("ab") as file:
            file.write(bytes_of(seed, 1 + seed % 5000))
        self._touch(path)

    def _truncate(self, path: Path, seed: int) -> None:
        seen = _plain_file(path)
        os.truncate(path, seen.st_size // 2)
        self._touch(path)

    def _replace(self, path: Path, seed: int) -> None:
        """Another file of the same size and mtime renamed over."""
        seen = _plain_file(path)
        other = self.mount / "attic" / f"new{seed}"
        other.write_bytes(bytes_of(seed, seen.st_size))
        other.chmod(stat.S_IMODE(seen.st_mode))
        os.chown(other, seen.st_uid, seen.st_gid)
        os.utime(other, ns=(seen.st_atime_ns, seen.st_mtime_ns))
        other.rename(path)

    def _delete(self, path: Path, seed: int) -> None:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()

    _free = _delete  # by an operator, who follows a remedy

    def _chmod(self, path: Path, seed: int) -> None:
        modes = (0o600, 0o640, 0o755, 0o700, 0o4755, 0o444)
        if not path.is_symlink():
            path.chmod(modes[seed % len(modes)])

    def _to_symlink(self, path: Path, seed: int) -> None:
        self._aside(path, seed)
        path.symlink_to(self.mount / "canary" if seed % 2 else "../canary/secret")

    def _to_fifo(self, path: Path, seed: int) -> None:
        self._aside(path, seed)
        os.mkfifo(path)

    def _to_directory(self, path: Path, seed: int) -> None:
        self._aside(path, seed)
        path.mkdir()
        (path / "inner").write_bytes(bytes_of(seed, 10))

    def _to_file(self, path: Path, seed: int) -> None:
        self._aside(path, seed)
        path.write_bytes(bytes_of(seed, seed % 9000))

    def _create(self, path: Path, seed: int) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            path.write_bytes(bytes_of(seed, seed % 9000))

    def _rename(self, path: Path, seed: int) -> None:
        path.rename(path.with_name(f"{path.name[:40]}-{seed}"))

    def _turn(self, path: Path, seed: int) -> None:
        """A directory goes aside, and one with files of other bytes but the same names, sizes and times comes."""
        if path.is_symlink() or not path.is_dir():
            return
        kept = self.mount / "attic" / f"turned-{path.name}"
        if kept.exists():
            path.rename(f"{kept}-other{seed}")
            kept.rename(path)
            return
        path.rename(kept)
        shutil.copytree(kept, path, symlinks=True)
        for file in sorted(path.rglob("*")):
            if file.is_file() and not file.is_symlink():
                self._rewrite(file, seed + len(file.name))
                seen = file.lstat()
                if not self._keeps_mtimes:
                    os.utime(file, ns=(seen.st_atime_ns, seen.st_mtime_ns + 1 + seed))

    _turn_back = _turn

    def _swap_private(self, path: Path, seed: int) -> None:
        swap_private(self.mount / "attic", path, seed)

    def _aside(self, path: Path, seed: int) -> None:
        if os.path.lexists(path):
            path.rename(self.mount / "attic" / f"aside-{seed}-{len(os.listdir(self.mount / 'attic'))}")

    def _touch(self, path: Path) -> None:
        now = self._clock.now_ns()
        os.utime(path, ns=(now, now))


def _plain_file(path: Path) -> os.stat_result:
    seen = path.lstat()
    if not stat.S_ISREG(seen.st_mode):
        raise ValueError(f"{path} is no file")
    return seen


def _dress(path: Path, spec: Spec) -> None:
    if os.geteuid() == 0 and spec.uid is not None and spec.gid is not None and spec.uid < 2**32 - 1:
        os.chown(path, spec.uid, spec.gid, follow_symlinks=False)
    if spec.kind != "symlink" and spec.mode is not None:
        path.chmod(spec.mode)
    os.utime(path, ns=(spec.mtime_ns, spec.mtime_ns), follow_symlinks=False)


def _walk(directory: Path, prefix: str, found: Snapshot, *, skip_staging: bool) -> None:
    left = [(directory, prefix)] if directory.is_dir() and not directory.is_symlink() else []
    while left:
        above, before = left.pop()
        for name in sorted(os.listdir(above)):
            if skip_staging and above == directory and name.startswith(STAGING):
                continue
            version = _version(above / name)
            if version.kind == "directory":
                found[f"{before}{name}/"] = version
                left.append((above / name, f"{before}{name}/"))
            else:
                found[f"{before}{name}"] = version


def _version(path: Path) -> Version:
    seen = path.lstat()
    kind, data = "special", b""
    if stat.S_ISREG(seen.st_mode):
        kind, data = "file", path.read_bytes()
    elif stat.S_ISDIR(seen.st_mode):
        kind = "directory"
    elif stat.S_ISLNK(seen.st_mode):
        kind, data = "symlink", os.fsencode(os.readlink(path))
    mode = stat.S_IMODE(seen.st_mode)
    return Version(kind, data, mode, seen.st_mtime_ns, seen.st_uid, seen.st_gid, str(seen.st_ino), seen.st_ctime_ns)
