"""Carries a script out, and asks the oracle after each of its runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fanout.ledger.ledger import Ledger
from fanout.model.outcome import Reason
from tests.adversary.aftermath import changed_paths, judge_outside, judge_zombies
from tests.adversary.alike import STRIP, judge_alike
from tests.adversary.attempts import judge_recovered, judge_superseded
from tests.adversary.caches import client_of
from tests.adversary.conductor import Attempt, classes_of
from tests.adversary.elsewhere import missing_of_kept
from tests.adversary.fields import until_window_changes
from tests.adversary.lab import laboratory
from tests.adversary.limited import CARRYING_OVER, Proofs, judge_limit, opened_of
from tests.adversary.machine import Machine
from tests.adversary.manifests import judge_skipped, named, put_manifest, version_now
from tests.adversary.metadata import judge_let_go
from tests.adversary.moves import judge_move
from tests.adversary.oracle import HEAD_LIES, judge
from tests.adversary.plain_user import all_rights, opened_at_the_end
from tests.adversary.published import judge_published
from tests.adversary.refused import REFUSED_RUN, judge_refused
from tests.adversary.remedies import RETRIED
from tests.adversary.result import Deletion
from tests.adversary.robbed import judge_forgers, judge_thieves
from tests.adversary.scene import Outcome, Scene
from tests.adversary.scope import Record, Scope
from tests.adversary.script import Act, Fault, Script
from tests.adversary.states import Endless
from tests.adversary.stopped_events import BY_HAND
from tests.adversary.strays import stray
from tests.adversary.trees import MountPlace, Snapshot
from tests.adversary.twins import judge_twins
from tests.adversary.vocabulary import NO_INDEX, WATCHED_ENTRIES, WRITING
from tests.adversary.wideness import allow, too_wide

__all__ = ["Outcome", "carry_out"]
# Runs in which nothing goes wrong, and those that follow them.
QUIET = frozenset({"last", "check", RETRIED})


class Experiment(Scene):
    """One script at work."""

    def __init__(self, script: Script, base: Path) -> None:
        super().__init__(script)
        self._base = base
        self._machines: list[Machine] = []
        self._began: dict[str, int] = {}
        self._nested: set[str] = set()
        self._vouched: Snapshot = {}
        self._zombies: list[tuple[str, Snapshot]] = []
        self._indexed = False
        self._listed_at: dict[str, tuple[int, int]] = {}
        self._told: dict[str, set[str]] = {}
        self._denied: set[str] = set()
        self._proofs = Proofs()
        self._lists: dict[str, frozenset[str] | None] = {}
        self._versions: dict[str, str] = {}
        self._asked: dict[str, dict[str, Any]] = {}

    def carry_out(self) -> Outcome:
        """All acts of the script."""
        with client_of(self.script, self._base) as client, laboratory(self.script, self._base, self._perform) as lab:
            self.lab, self.client = lab, client
            if client is not None:
                client.is_at_work = lambda: lab.conductor.current is not None
            lab.watching = self._watching
            self._find_all(put_manifest(self.script, lab))
            self.history.append(lab.source.snapshot())
            self._around = lab.source.around(), lab.destination.around()
            if isinstance(lab.destination, MountPlace):
                allow(self._wide, lab.destination.snapshot())
                self._allow_source()
                lab.conductor.watch = self._watch if client is None else client.as_another(self._watch)
            for act in self.script.acts:
                self._act(act, quiet=act is self.script.acts[-1] or act.run in QUIET)
            self.outcome.told = lab.conductor.told
        return self.outcome

    def _act(self, act: Act, *, quiet: bool = False) -> None:
        if act.what == "wait":
            self.lab.clock.wait(act.seconds)
            if self.client is not None:
                self.client.later(act.seconds)
        elif act.change is not None:
            self._change(act.change)
        elif act.run == REFUSED_RUN:
            self._refused(act)
        else:
            self._run(act, quiet=quiet)

    def _refused(self, act: Act) -> None:
        machine = Machine(self.lab, act, act.options)
        self._machines.append(machine)
        self._find_all(judge_refused(self.lab, act, machine))
        self._machines.remove(machine)
        self.history.append(self.lab.source.snapshot())  # what was staged moved the time of a directory
        self._allow_source()  # an empty directory that it was to write to may stay in it
        self._around = self.lab.source.around(), self.lab.destination.around()
        self.outcome.statuses.append((act.run, machine.result.status))

    def _run(self, act: Act, *, quiet: bool = False) -> None:
        lab = self.lab
        options = {**self.script.options, **act.options}
        resumed = options.pop("resume_from", "")
        carried = resumed if options.get("mode", "copy") in CARRYING_OVER else ""  # others list both ends anew
        began = self._began.get(carried, len(self.history) - 1)
        self._began[act.run] = began
        self._lists[act.run] = self._lists.get(carried) if carried else named(self.script, options, lab)
        self._versions[act.run] = self._versions.get(carried, "") if carried else version_now(lab)
        self._asked[act.run] = options
        if options.get("mode") in ("verify", "plan"):
            options.pop("delete_guard", None)
        if options.get("mode") == "plan":
            options.pop("certificate", None)
            options.pop("checksums", None)
        before, staged, kept = lab.destination.snapshot(), self._staged(act.run), self._kept()
        self._before[act.run] = before
        told = Counter(lab.conductor.told)
        machine = Machine(lab, act, options)
        self._machines.append(machine)
        touched, self._touched, self._aside = self._touched, set(), set()
        zombies = len(self._zombies)
        try:
            result = machine.run()
        except Endless as error:
            self._find("endless", f"run {act.run}: {error}")
            result = machine.result
        finally:
            self._machines.remove(machine)
        after = lab.destination.snapshot()
        # A function that holds a directory which somebody renames writes there, and gives it its own source's mode.
        self._touched |= {path for path in after if any(path.startswith(one) for one in self._moved)}
        self._touched |= {path for tree in self._views(options) for path in tree if path.startswith(tuple(self._aside))}
        allow(self._wide, {path: one for path, one in after.items() if path in self._touched})
        self._share(after)
        happened = lab.conductor.told - told
        own = machine.listed or (began, began)
        earlier = self._listed_at.get(carried, own)
        self._listed_at[act.run] = min(own[0], earlier[0]), max(own[1], earlier[1])
        record = Record(
            act.run,
            options,
            before,
            after,
            self._views(options)[began:],
            result,
            [one for one in self._staged(act.run) if one not in staged],
            self._touched | (touched if carried else set()),
            self._lists[act.run],
            quiet,
            bool(carried),
            act.run in self._nested,
            classes_of(happened) | (self._told.get(resumed, set()) & HEAD_LIES),
            self._views(options),
            self._indexed and options == self.script.options,
            self.history[-1],
            self._vouched,
            dict(self._foreign),
            self._listed_at[act.run],
            machine.deletions,
            [] if self.script.ledger_in_s3 else [one for one in WRITING if machine.running.counts[one]],
            self._kept(act.run),
            frozenset(self._denied),
        )
        self._told[act.run] = record.told
        self._denied |= {row["path"] for row in result.failures if row["reason"] == Reason.SOURCE_DENIED.value}
        self._touched |= touched
        self.outcome.statuses.append((act.run, result.status))
        self._find_all(judge(self.script, record))
        self._find_all(judge_superseded(record))
        self._find_all(judge_recovered(record))
        self._find_all(judge_limit(record, Scope(self.script, record)))
        opened = opened_of(machine.running.opened, self.script, lab)
        with lab.conductor.paused():
            self._find_all(self._proofs.judge(record, resumed, opened, Ledger(lab.store.plain, act.run)))
        self._find_all(judge_skipped(act.run, result.status, machine.holder, self._versions))
        self._find_all(judge_twins(act.run, result.status, machine.holder, self._asked))
        if isinstance(lab.destination, MountPlace):
            with lab.conductor.paused(), all_rights():
                self._find_all(judge_thieves(lab.destination.root))
                self._find_all(judge_forgers(lab.destination.root))
                self._put_right(lab.destination)
        self._find_all(judge_alike(self.script, record, self._alike, self._foreign))
        if record.resumed:  # its retry lists again, and may take for a copy what has its size and mtime
            self._alike = {path: what for path, what in self._alike.items() if what == STRIP}
        leaves = not options.keys() & NO_INDEX and options.get("on_conflict") != "escape" and not carried
        leaves = leaves and options == self.script.options and result.status == "SUCCEEDED"
        if leaves and not self._indexed:
            self._vouched = {path: one for path, one in after.items() if before.get(path) == one}
        self._indexed = self._indexed or leaves
        to_bucket = not isinstance(lab.destination, MountPlace)
        self._find_all(judge_zombies(act.run, self._zombies[zombies:], after, before, to_bucket=to_bucket))
        del self._zombies[zombies:]
        self._judge_places(record)
        if isinstance(lab.destination, MountPlace):
            self._find_all(judge_published(act.run, before, after, self._touched))
        if result.status == "SUCCEEDED" and self.script.plain:
            for path in opened_at_the_end(before, after, self._touched.union(*self.history)):
                self._find("mode left open", f"run {act.run} left {path!r} with the mode {after[path].mode or 0:04o}")
        for path in missing_of_kept(kept, self._kept()):
            self._find("kept and gone", f"run {act.run} changed or deleted {path!r}, which an earlier run kept")

    @contextmanager
    def _watching(self, machine: Machine, state: str) -> Iterator[None]:
        """What the source held while a function worked, and what one that deletes took away."""
        first = len(self.history) - 1
        if state in ("look", "look at directories"):
            machine.looked = first  # between two mounts the look is a function of its own, before that which deletes
        deletes = state in ("delete", "remove directories")
        before = self._paths() if deletes else frozenset()
        try:
            yield
        finally:
            self.lab.conductor.looked = ""
            last = len(self.history) - 1
            if state in ("list", "list destination") and not machine.verifies_after:
                machine.listed = (machine.listed or (first, last))[0], last
            if deletes:
                looked = first if machine.looked is None else machine.looked
                machine.deletions.append(Deletion(before - self._paths(), looked, last))

    def _judge_places(self, record: Record) -> None:
        """Nothing outside the roots changed, and the source is what its writers left."""
        lab, run, options, after = self.lab, record.run, record.options, record.after
        for end, place, before in zip(
            ("source", "destination"), (lab.source, lab.destination), self._around, strict=True
        ):
            now = place.around()
            self._find_all(judge_outside(run, end, before, now))
        now, then = lab.source.snapshot(), self.history[-1]
        if isinstance(lab.source, MountPlace):
            self._find_all(judge_published(run, then, now, set()))
        changed = changed_paths(then, now)
        if options.get("mode") == "move":
            self._find_all(judge_move(self.script, run, options, (then, now), after, self._touched, self.history))
            self._find_all(judge_let_go(self.script, record, then, now))
            self._leave(now)
            changed = [path for path in changed if path in now and now[path].kind != "directory"]
        if changed:
            self._find("source written", f"run {run} changed {changed} at the source")

    def _watch(self) -> None:
        place = self.lab.destination
        assert isinstance(place, MountPlace)
        if len(self._wide) > WATCHED_ENTRIES:
            return
        with self.lab.conductor.paused(), all_rights():
            self._find_all(too_wide(place, self._wide, self._touched))

    # What a fault does that is more than an error or a lie.

    def _perform(self, fault: Fault, attempt: Attempt) -> None:
        with all_rights():
            self._performed(fault, attempt)

    def _performed(self, fault: Fault, attempt: Attempt) -> None:
        machine = next(one for one in self._machines if one.running is attempt.run)
        if fault.what == "change" and fault.change is not None:
            self._change(fault.change)
        elif fault.what == "window changes":
            self.lab.clock.wait(until_window_changes(machine.window, self.lab.clock.now()))
        elif fault.what == "late":
            self.lab.clock.wait(880)
        elif fault.what == "twice":
            machine.twice(attempt)
        elif fault.what == "stray event":
            machine.again(*stray(fault.seed, machine.sent), attempt)
        elif fault.what in BY_HAND:
            BY_HAND[fault.what](fault.seed, machine, attempt)
        elif fault.what == "oversleep":
            machine.oversleep(fault.seed)
        elif fault.what == "freeze":
            machine.running.stopped = True
            self.lab.going.discard(machine.run_id)
            self._meanwhile(machine.run_id, fault.acts)
            later = self.outcome.statuses[-1] if self.outcome.statuses else ("", "")
            if later[1] in ("SUCCEEDED", "FAILED_WITH_ITEMS") and any(act.run == later[0] for act in fault.acts):
                self._zombies.append((later[0], self.lab.destination.snapshot()))
        elif fault.what == "another run":
            self._meanwhile(machine.run_id, fault.acts)

    def _meanwhile(self, run: str, acts: tuple[Act, ...]) -> None:
        self._nested.add(run)
        for act in acts:
            self._act(act)


def carry_out(script: Script, base: Path) -> Outcome:
    """Carry a script out in a directory that is not there yet."""
    base.mkdir(parents=True)
    return Experiment(script, base).carry_out()
