"""Both ends of a script while it is carried out: what they held, and which entries somebody else changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

from tests.adversary.alike import ALIKE, SPOIL
from tests.adversary.beforehand import MADE
from tests.adversary.damage import damage
from tests.adversary.given import of_implied, without_set_ids
from tests.adversary.lab import Lab
from tests.adversary.leftovers import GIVE, OWNED, RENAMES
from tests.adversary.manifests import write_anew
from tests.adversary.oracle import fixed
from tests.adversary.scope import Finding
from tests.adversary.script import Change, Script
from tests.adversary.swapped import judge_swapped, swapped_paths
from tests.adversary.swappers import SWAP_PRIVATE
from tests.adversary.thieves import WORDS
from tests.adversary.trees import MountPlace, Snapshot
from tests.adversary.views import view
from tests.adversary.wideness import allow
from tests.support.nfs_client import NfsClient

# Changes that move a directory: a function that holds it open writes there, as if before the move.
ASIDE = frozenset({"rename", "turn", "turn-back", "to-symlink", "to-fifo", "to-file", "to-directory"})
ASIDE |= {SWAP_PRIVATE, *RENAMES}


@dataclass
class Outcome:
    """What became of a script: findings, how each run ended, and which faults happened."""

    findings: list[Finding] = field(default_factory=list)
    statuses: list[tuple[str, str]] = field(default_factory=list)
    told: Counter[str] = field(default_factory=Counter)
    operations: int = 0

    @property
    def kinds(self) -> set[str]:
        """The classes of what was found."""
        return {finding.kind for finding in self.findings}


class Scene:
    """The ends, their history, and what is excused."""

    lab: Lab
    client: NfsClient | None = None
    _around: tuple[Any, Any]

    def __init__(self, script: Script) -> None:
        self.script = script
        self.outcome = Outcome()
        self.history: list[Snapshot] = []
        self._touched: set[str] = set()
        self._moved: set[str] = set()
        self._aside: set[str] = set()
        self._before: dict[str, Snapshot] = {}
        self._foreign: Snapshot = {}
        self._alike: dict[str, str] = {}
        self._wide: dict[str, int] = {}

    def _find(self, kind: str, text: str) -> None:
        finding = Finding(kind, text)
        if finding not in self.outcome.findings:
            self.outcome.findings.append(finding)

    def _find_all(self, findings: Iterable[Finding]) -> None:
        for finding in findings:
            self._find(finding.kind, finding.text)

    def _copies(self, there: Snapshot) -> set[str]:
        """What a run has copied, and is whole: all else a later run may decide as if there had been none before it."""
        here, before = self.lab.source.snapshot(), list(self._before.values())
        whole = {path for path, one in there.items() if path in here and here[path].content == one.content}
        return {path for path in whole if any(one.get(path) != there[path] for one in before)}

    def _change(self, change: Change) -> None:
        with self.client.elsewhere() if self.client is not None else nullcontext():
            self._changed(change)

    def _deed(self, change: Change) -> None:
        place = self.lab.destination
        deeds = OWNED | MADE
        if change.what not in deeds:
            place.change(change)
        elif isinstance(place, MountPlace) and not self.script.plain:
            deeds[change.what](place.root, place.root / change.path, change.seed)

    def _changed(self, change: Change) -> None:
        lab = self.lab
        if self.script.plain and change.what == "chmod":
            return  # a source that the function's user may not read is denied, rightly
        if change.path == "@":
            place = lab.destination if change.end == "destination" else lab.source
            change = Change(change.what, place.path_of(lab.conductor.about()), change.seed, change.end)
            if not change.path:
                return
        if change.end == "ledger":
            damage(lab, change)
        elif change.end == "list":
            self._find_all(write_anew(self.script, lab, change.seed))
        elif change.end == "product":
            lab.product.upgrade()
        elif change.what in ("free", GIVE, *WORDS):
            self._deed(change)  # before a run that looks again: nothing of it is excused
        elif change.end == "destination":
            before = lab.destination.snapshot()
            self._deed(change)
            after = lab.destination.snapshot()
            changed = {path for path in before | after if before.get(path) != after.get(path)}
            self._foreign |= {path: after[path] for path in changed & after.keys()}
            self._touched |= changed
            if change.what in ALIKE:
                copies = self._copies(before) if change.what == SPOIL else after.keys()
                self._alike |= dict.fromkeys(changed & after.keys() & copies, change.what)
            self._moved |= {path for path in changed if path.endswith("/") and path not in before}
            self._touched |= {change.path, f"{change.path.rstrip('/')}/"}
            self._moved |= {f"{change.path}/"} if change.what in RENAMES else set()
            above = [path for path in before | after if path.startswith(f"{change.path.rstrip('/')}/")]
            self._touched |= set(above)
            if change.what in ASIDE:
                self._aside |= {f"{change.path.rstrip('/')}/"} & before.keys()
            allow(self._wide, after)
            self._around = lab.source.around(), lab.destination.around()
        else:
            if lab.conductor.looked and lab.source.path_of(lab.conductor.looked) == change.path:
                # Nothing unlinks on a condition: what changes after the last look can go (docs/how-to/move.md).
                self._touched.add(change.path)
            lab.source.change(change)
            self.history.append(lab.source.snapshot())
            self._allow_source()

    def _put_right(self, place: MountPlace) -> None:
        """Judge the directories that were swapped, and put their names right, which is a change that others make."""
        there = {path: fixed(one) for path, one in place.snapshot().items()} if swapped_paths(place.root) else {}
        self._find_all(judge_swapped(place.root))
        if there:  # what came into the private one is what it was, under the same name: the rest is another's
            self._foreign |= {path: one for path, one in place.snapshot().items() if there.get(path) != fixed(one)}

    def _allow_source(self) -> None:
        """An entry may have the mode of the source, and the one that the request gives it."""
        implied = of_implied(self.script.options)
        allow(self._wide, self.history[-1], implied)
        allow(self._wide, self._view(self.history[-1], self.script.options), implied)

    def _kept(self, run: str = "") -> Snapshot:
        place = self.lab.destination
        return place.kept(run) if isinstance(place, MountPlace) else {}

    def _share(self, after: Snapshot) -> None:
        """Know the further names of a file that somebody else put at the destination with the copy's size and mtime."""
        if not isinstance(self.lab.destination, MountPlace):
            return
        marks = {one.mark for path, one in self._foreign.items() if path in after and after[path].mark == one.mark}
        for path, version in after.items():
            if version.kind == "file" and version.mark in marks:
                self._touched.add(path)
                self._foreign[path] = version

    def _views(self, options: dict[str, Any]) -> list[Snapshot]:
        return [self._view(tree, options) for tree in self.history]

    def _view(self, tree: Snapshot, options: dict[str, Any]) -> Snapshot:
        shown = view(tree, self.script.direction, options)
        is_bound = self.script.services.no_set_ids and isinstance(self.lab.destination, MountPlace)
        return without_set_ids(shown) if is_bound else shown

    def _paths(self) -> frozenset[str]:
        with self.lab.conductor.paused():
            return frozenset(self.lab.destination.snapshot())

    def _staged(self, run: str) -> list[str]:
        found = self.lab.destination.staged(run)
        with self.lab.conductor.paused():
            return found + [key for key in self.lab.store.plain.list("staged/") if f"/{run}/" in key]

    def _leave(self, now: Snapshot) -> None:
        """Know what a move has left at the source; the names of a file are told apart by their inode alone."""
        if self.history[-1].keys() != now.keys():
            self.history.append(now)
