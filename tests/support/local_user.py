"""Runs over one mount at whose destination another local user is at work when a state begins."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fanout.adapters.posix.tree import PosixTree
from fanout.model.document import Json
from fanout.ports.store import WorkStore
from fanout.work.context import Context
from tests.support.flow import World
from tests.support.memory_store import MemoryStore
from tests.support.mounts import REQUEST
from tests.support.nobody import NOBODY, as_nobody

Deed = Callable[[], object]


@dataclass
class AttackedWorld(World):
    """Each attempt has trees of its own, as a function has; ``deeds`` are the user's at the beginning of states."""

    deeds: dict[str, Deed] = field(default_factory=dict)
    done: list[str] = field(default_factory=list)
    trees: Callable[[str], tuple[PosixTree, PosixTree]] | None = None

    def context(self, state: str = "VerifyShard") -> Context:
        """With trees that know nothing of other attempts."""
        if self.trees is not None:
            self.source, self.destination = self.trees(f"t{next(_NUMBERS)}")
        return super().context(state)

    def enter(self, state: str) -> None:
        """The deed of a state comes once."""
        super().enter(state)
        deed = self.deeds.pop(state, None)
        if deed is not None:
            as_nobody(lambda: did(deed))
            self.done.append(state)


_NUMBERS = itertools.count()


def did(deed: Deed) -> bool:
    """The deed is done, with no mode taken from what it makes."""
    os.umask(0)
    deed()
    return True


def attacked(
    mount: Path,
    run_id: str = "run-1",
    store: WorkStore | None = None,
    deeds: Mapping[str, Deed] | None = None,
    **of: Any,
) -> AttackedWorld:
    """A run from ``in`` to ``out`` of a mount; ``of`` is what the destination is made with."""

    def trees(nonce: str) -> tuple[PosixTree, PosixTree]:
        source = PosixTree(mount, "in", run_id, f"s{nonce}", "source")
        return source, PosixTree(mount, "out", run_id, nonce, **of)

    source, destination = trees("n")
    return AttackedWorld(
        source=source,
        destination=destination,
        run_id=run_id,
        store=store or MemoryStore(),
        deeds=dict(deeds or {}),
        trees=trees,
    )


def given_away(*paths: Path) -> None:
    """Directories of the local user, who may write to them."""
    for path in paths:
        path.mkdir(parents=True, exist_ok=True)
        os.chown(path, NOBODY, NOBODY)


def read_by_user(root: Path) -> list[str]:
    """The content of every file that the local user can read below a directory."""

    def read() -> list[str]:
        return sorted(text for above, _, names in os.walk(root) for name in names if (text := _text(Path(above, name))))

    found: list[str] = as_nobody(read)
    return found


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


def requested(**more: Any) -> Json:
    """The request of such a run."""
    return {**REQUEST, **more}
