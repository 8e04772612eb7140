"""Deeds of another client while a run relies on what its own client saw, and worlds that wait for a state."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from fanout.adapters.posix.tree import PosixTree
from fanout.model.document import Json
from fanout.request.options import Overwrite
from tests.support.flow import World

Deed = Callable[[Path], object]


@dataclass
class Clients:
    """One directory as the run's client sees it, and another client; ``elsewhere`` is around what that one does."""

    here: Path
    there: Path
    elsewhere: Callable[[], AbstractContextManager[None]] = nullcontext

    def does(self, deed: Deed) -> None:
        """The other client does something, and closes what it wrote."""
        with self.elsewhere():
            deed(self.there)


@dataclass
class Watched(World):
    """A world that does something as a state is entered for the first time."""

    deeds: dict[str, Callable[[], object]] = field(default_factory=dict)

    def enter(self, state: str) -> None:
        """See ``World``."""
        super().enter(state)
        if state in self.deeds:
            self.deeds.pop(state)()


def nothing(_root: Path) -> None:
    """Nobody else does anything."""


def watched(
    clients: Clients, state: str = "", deed: Deed = nothing, run_id: str = "run-1", **options: object
) -> Watched:
    """A run of the client between ``in`` and ``out``, and what the other client does at the beginning of a state."""
    source = PosixTree(clients.here, "in", run_id, "source", "source")
    destination = PosixTree(clients.here, "out", run_id, "n", **options)  # type: ignore[arg-type]
    deeds: dict[str, Callable[[], object]] = {state: lambda: clients.does(deed)} if state else {}
    return Watched(source=source, destination=destination, run_id=run_id, deeds=deeds)


def fill(clients: Clients, *extras: str) -> None:
    """Files at the source, and extras at the destination."""
    with clients.elsewhere():
        for number in range(6):
            put(clients.there / f"in/d/f{number}", b"one-%d" % number)
        for end in ("in", "out"):  # a destination of nothing but extras is refused
            put(clients.there / end / "stays", b"stays")
        for extra in extras:
            put(clients.there / "out" / extra, b"extra")


def put(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def held(clients: Clients) -> dict[str, bytes]:
    """The bytes of all files, as another client sees them."""
    with clients.elsewhere():
        found = [path for path in clients.there.rglob("*") if path.is_file() and not path.is_symlink()]
        return {str(path.relative_to(clients.there)): path.read_bytes() for path in found}


# What becomes of the file at a path, which the run has looked at; each leaves NEW somewhere that must stay.
NEW = b"TWO-2"


def in_place(path: Path) -> None:
    """The same size."""
    path.write_bytes(NEW)


def appended(path: Path) -> None:
    with path.open("ab") as file:
        file.write(NEW)


def renamed_over(path: Path) -> None:
    put(path.parent / "new", NEW)
    (path.parent / "new").rename(path)


def renamed_over_linked(path: Path) -> None:
    """The file that was there has another name, so that a client which knows it by this one finds it."""
    os.link(path, path.parents[2] / "kept")
    renamed_over(path)


def moved_away(path: Path) -> None:
    times = path.stat()
    path.rename(path.parents[2] / "kept")
    put(path, NEW)
    os.utime(path.parents[2] / "kept", ns=(times.st_atime_ns, times.st_mtime_ns))


def directory_replaced(path: Path) -> None:
    shutil.copytree(path.parent, path.parents[2] / "new", symlinks=True)
    path.parent.rename(path.parents[2] / "kept")
    (path.parents[2] / "new" / path.name).write_bytes(NEW)
    (path.parents[2] / "new").rename(path.parent)


FILES: dict[str, Deed] = {
    one.__name__: one for one in (in_place, appended, renamed_over, renamed_over_linked, moved_away, directory_replaced)
}
MOVE: Json = {"source": "efs:///in", "destination": "efs:///out", "mode": "move"}
SYNC: Json = {"source": "efs:///in", "destination": "efs:///out", "mode": "sync", "delete_guard": {"max_percent": 99.0}}
COPY: Json = {"source": "efs:///in", "destination": "efs:///out"}
IF_NEWER = Overwrite.IF_NEWER
