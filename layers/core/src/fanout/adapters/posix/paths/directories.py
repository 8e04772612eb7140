"""Directories below a root, opened step by step without ever following a symlink."""

from __future__ import annotations

import os
import stat
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from contextlib import suppress
from math import inf
from typing import cast

from fanout.adapters.posix.errors import GONE, NOTHING, STALE
from fanout.adapters.posix.paths.held_directory import HeldDirectory
from fanout.facts import tuning
from fanout.model.errors import ItemError
from fanout.model.outcome import Reason
from fanout.model.path_rules import UNFINISHED_MODE, parent_of, reason_against_name
from fanout.work.progress import FILES, moved

# Descriptors kept open: two of each directory that files are taken from, and some above. Two trees have under 1,024.
KEPT_DIRECTORIES = 2 * tuning.SPREAD_DIRECTORIES + 64
DIRECTORY_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def _no_objection(_path: str, _descriptor: int = -1) -> None:
    """Any directory may be made or entered."""


class Directories:
    """Descriptors of directories by path, each opened once from its parent's.

    A path is relative to ``base``, ends in ``/`` or is empty for the base itself.
    No component may be empty, ``.``, ``..`` or a symlink, so nothing opened here lies outside the base. ``follow``
    opens one all the same, for a source whose symlinks are followed; it answers for where they lead.
    No lock of all is held over a system call; a descriptor is closed only when no thread holds it.
    ``before_making`` is called with the path of a directory that is to be made, ``after_making`` once it is there, with
    its parent's descriptor; each of ``on_entering`` with the path and descriptor of one that was opened. Each may
    refuse it. ``on_denied`` is called with the path and descriptor of a directory in which an operation was denied, and
    says whether it may work now; those who change names in one ask it too. ``on_taken`` is called with a path, without
    ``/`` at its end, where an entry of another kind is in the way, and says whether it is free now. ``on_placing`` is
    called once with the path and descriptor of a directory that is held to ``create`` it, and whether it was made now:
    after those above it, and before anything is put into it.
    """

    def __init__(
        self,
        base: str,
        follow: Callable[[str], int] | None = None,
        mode_of: Callable[[str], int] = lambda _path: UNFINISHED_MODE,
        is_way: Callable[[str], bool] = lambda _path: False,
    ) -> None:
        """``mode_of`` gives the mode that a directory is made with; ``is_way`` tells one that is only gone through.

        Such a one is neither read nor changed. It is made before it is looked for, and entered without the two
        operations by which an NFS client opens a directory.
        """
        self.base = base
        self._mode_of = mode_of
        self._is_way = is_way
        self._follow = follow
        self._lock = threading.Lock()
        self._open: OrderedDict[str, HeldDirectory] = OrderedDict()
        self._opening: dict[str, threading.Event] = {}
        self.before_making: Callable[[str], None] = _no_objection
        self.after_making: Callable[[str, int], None] = _no_objection
        self.on_entering: list[Callable[[str, int], None]] = []
        self.on_denied: Callable[[str, int], bool] = lambda _path, _descriptor: False
        self.on_taken: Callable[[str], bool] = lambda _path: False
        self.on_placing: Callable[[str, int, bool], None] = lambda _path, _descriptor, _is_new: None
        self.new: set[str] = set()  # made, and not yet in use

    @property
    def follows(self) -> bool:
        """Whether a symlink may lead to a directory."""
        return self._follow is not None

    def hold(self, path: str, *, create: bool = False, opens: bool = True) -> HeldDirectory:
        """The descriptor of a directory, made with those above it if ``create``; for ``with`` or until ``let_go``.

        The first thread opens or makes it; others that want it wait for that thread. Raises
        ``OSError`` if it is not there, and ``ItemError`` if a component is a symlink or no name.

        Opening a directory has an NFS client ask the server for it, so that names in it are those that are there now.
        Without ``opens`` it is only entered, for names to be put into it: those above it are opened, so it is the one
        that is there now, but of the names in it the client may believe what it saw before.
        """
        with self._lock:
            held = self._kept(path, create, opens)
            if held is not None:
                held.users += 1
                if len(self._open) >= KEPT_DIRECTORIES:
                    self._open.move_to_end(path)
        return self._hold_from_above(path, create, opens) if held is None else held

    def _note(self, path: str, held: HeldDirectory) -> HeldDirectory:
        """Call ``on_placing`` once. Other threads wait: it may have to close the directory."""
        try:
            with held.noting:
                if not held.is_noted:
                    is_new = path in self.new
                    self.new.discard(path)
                    self.on_placing(path, held.descriptor, is_new)
                    held.is_noted = True
        except BaseException as error:
            if not isinstance(error, OSError) or error.errno not in GONE | STALE:
                held.let_go()
                raise
            held.is_noted = True  # nothing can be put into it
        return held

    def _kept(self, path: str, create: bool, opens: bool) -> HeldDirectory | None:
        """A directory that is open as it has to be: with ``create`` it and those above it are noted."""
        held = self._open.get(path)
        if held is None or not (held.is_opened or not opens):
            return None
        return held if held.is_noted or not create else None

    def _hold_from_above(self, path: str, create: bool, opens: bool) -> HeldDirectory:
        """As ``hold``: from the nearest directory above that is open, one level after the other."""
        missing = [path]
        held = None
        while held is None and missing[-1]:
            missing.append(parent_of(missing[-1]))
            with self._lock:
                held = self._kept(missing[-1], create, opens=True)
                if held is not None:
                    held.users += 1
                    missing.pop()
        while missing:
            try:
                below = self._hold_one(missing.pop(), held, create, opens or bool(missing))
            finally:
                if held is not None:
                    held.let_go()
            held = below
        return cast(HeldDirectory, held)

    def _hold_one(self, path: str, above: HeldDirectory | None, create: bool, opens: bool) -> HeldDirectory:
        """As ``hold``; ``above`` is the parent, ``None`` for the base itself."""
        while True:
            with self._lock:
                held = self._kept(path, create=False, opens=opens)
                if held is not None:
                    held.users += 1
                    break
                opening = self._opening.get(path)
                if opening is None:
                    opened = self._opening[path] = threading.Event()
                    break
            opening.wait()
        if held is not None:
            return self._note(path, held) if create else held
        idle: list[int] = []
        try:
            opened_at = time.monotonic() if above is None else above.asked_at
            descriptor = self._open_directory(path, above, create, opens)
            held = HeldDirectory(descriptor, self._release, is_opened=opens, asked_at=opened_at if opens else 0.0)
        finally:
            with self._lock:
                del self._opening[path]
                if held is not None:
                    held.users = 1
                    idle = self._drop([path])
                    self._open[path] = held
            opened.set()
            for descriptor in idle:
                os.close(descriptor)
        return self._note(path, held) if create else held

    def _open_directory(self, path: str, parent: HeldDirectory | None, create: bool, opens: bool) -> int:
        descriptor = self._opened(path, parent, create, opens)
        try:
            for look in self.on_entering:
                look(path, descriptor)
        except BaseException:
            self.new.discard(path)
            os.close(descriptor)
            raise
        return descriptor

    def _opened(self, path: str, parent: HeldDirectory | None, create: bool, opens: bool) -> int:
        if parent is None:
            return os.open(self.base, DIRECTORY_FLAGS & ~os.O_NOFOLLOW)
        # Without its "/" a path would lose the last letter of its name, and be another directory's.
        name, above = path[:-1].rpartition("/")[2] if path.endswith("/") else "", parent.descriptor
        reason = reason_against_name(name)
        if reason is not None:
            raise ItemError(reason, f"a directory of the path is no name: {path[-200:]!r}")
        try:
            return self._opened_in(path, name, above, create, opens)
        except PermissionError:
            if not create or not self.on_denied(parent_of(path), above):
                raise
        except (NotADirectoryError, ItemError) as error:
            in_the_way = not isinstance(error, ItemError) or error.reason is Reason.LINK_IN_PATH
            if not (create and in_the_way and self.on_taken(path[:-1])):
                raise
        return self._opened_in(path, name, above, create, opens)

    def _opened_in(self, path: str, name: str, above: int, create: bool, opens: bool) -> int:
        try:
            if not (create and self._is_way(path)):
                return self._enter(path, name, above, opens)
        except FileNotFoundError:
            if not create:
                raise
        self.before_making(path)
        with suppress(FileExistsError):  # another worker may make it at the same moment
            os.mkdir(name, self._mode_of(path), dir_fd=above)
            self.new.add(path)
        self.after_making(path, above)
        return self._enter(path, name, above, opens)

    def _enter(self, path: str, name: str, above: int, opens: bool) -> int:
        try:
            only_enters = self._is_way(path) or not opens
            return os.open(name, DIRECTORY_FLAGS | (os.O_PATH if only_enters else 0), dir_fd=above)
        except NotADirectoryError:
            if not stat.S_ISLNK(os.stat(name, dir_fd=above, follow_symlinks=False).st_mode):
                raise
        if self._follow is not None:
            return self._follow(path)
        raise ItemError(Reason.LINK_IN_PATH, f"a directory of the path is a symlink: {path[:-1][-200:]}")

    def _release(self, held: HeldDirectory) -> None:
        moved(FILES)
        with self._lock:
            held.users -= 1
            if not held.is_kept and not held.users:
                os.close(held.descriptor)
                return
            if len(self._open) <= KEPT_DIRECTORIES:
                return
            idle = next((path for path, other in self._open.items() if not other.users), None)
            closing = [] if idle is None else [self._open.pop(idle).descriptor]
        for descriptor in closing:
            os.close(descriptor)

    def forget(self, path: str) -> None:
        """Drop what is kept of a directory and all below it, because they were removed."""
        with self._lock:
            gone = [key for key, held in self._open.items() if key.startswith(path) and not held.users]
            closing = [self._open.pop(key).descriptor for key in gone]
        for descriptor in closing:
            os.close(descriptor)

    def renew(self, path: str) -> None:
        """Have a directory, and those above it, opened anew when they are next held: others removed one of them.

        Each is asked for at the server before what is below it is looked up: an NFS client may know the old one by its
        name for some time. Who holds one of them now keeps it until ``let_go``.
        """
        from fanout.adapters.posix.paths.fresh import refresh_attributes  # brings ctypes, for what is rare

        with self._lock:
            above = [key for key in self._open if key and path.startswith(key)]
            idle = self._drop(above)
        for descriptor in idle:
            os.close(descriptor)
        with suppress(OSError):  # one is not there: what is below it is not known by a name either
            for end in (at for at, letter in enumerate(f"/{path[:-1]}") if letter == "/"):
                with self.hold(path[:end]) as descriptor:
                    refresh_attributes(descriptor)

    def _drop(self, paths: Iterable[str]) -> list[int]:
        """Take directories out of the cache, under the lock; returns the descriptors to close, of those not in use."""
        dropped = [self._open.pop(path) for path in paths if path in self._open]
        for held in dropped:
            held.is_kept = False
        return [held.descriptor for held in dropped if not held.users]

    def nearest(self, path: str) -> str:
        """The deepest directory that is there at or above a path, in one pass. Raises as ``hold``, less ``NOTHING``."""
        below = []
        with self._lock:
            while path and path not in self._open:
                below.append(path)
                path = parent_of(path)
        try:
            while below:
                self.hold(below[-1]).let_go()
                path = below.pop()
        except OSError as error:
            if error.errno not in NOTHING:
                raise
        return path

    def asked_at(self, path: str) -> float:
        """``HeldDirectory.asked_at`` of a directory that is open; long ago for any other."""
        held = self._open.get(path)  # without the lock: one look-up
        return held.asked_at if held is not None and held.is_opened else -inf

    def close(self) -> None:
        """Close every descriptor that no thread holds."""
        self.forget("")

    __del__ = close  # a process that leaves many trees would run out of descriptors
