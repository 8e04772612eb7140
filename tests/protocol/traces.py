"""Carries scripts of the adversary out, and writes down what happened."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from tests.adversary import runner
from tests.adversary.conductor import Attempt, Running
from tests.adversary.lab import Lab, laboratory
from tests.adversary.runner import Experiment
from tests.adversary.scene import ASIDE
from tests.adversary.script import Act, Change, Script
from tests.adversary.worlds import script_of
from tests.protocol.recorded import place_recorder, recorded_files
from tests.protocol.recorder import Recorder

# A run is not recorded if the names at both ends differ, or if it writes elsewhere than to the destination's root.
UNLIKE = frozenset({"publish", "on_conflict", "symlinks"})


class Recorded(Experiment):
    """One script at work, and its trace."""

    def __init__(self, script: Script, base: Path) -> None:
        super().__init__(script, base)
        self.recorder = Recorder()

    def _change(self, change: Change) -> None:
        super()._change(change)
        self.recorder.changed()

    def _run(self, act: Act, *, quiet: bool = False) -> None:
        self.recorder.asked(act.run, {**self.script.options, **act.options})
        super()._run(act, quiet=quiet)
        self.recorder.stands()


class Going(set[str]):
    """The executions that go on."""

    def __init__(self, recorder: Recorder) -> None:
        super().__init__()
        self._recorder = recorder

    def discard(self, run: object) -> None:
        if run in self:
            self._recorder.ended(str(run))
        super().discard(run)


def attempts(attempt: Any, recorder: Recorder) -> Any:
    """The conductor's attempts, with a note of the first that lists."""

    @contextmanager
    def begun(run: Running, state: str) -> Iterator[Attempt]:
        with attempt(run, state) as mine:
            if state == "list":
                recorder.listing(run.name)
            yield mine

    return begun


def recorded_seeds(seeds: Iterable[int]) -> Iterator[int]:
    """Those of the seeds whose scripts can be recorded."""
    return (seed for seed in seeds if is_recorded(script_of(seed)))


def is_recorded(script: Script) -> bool:
    """Whether the model, which knows files by their paths alone, has words for all that the script asks for.

    A function that holds a directory goes on in it when somebody moves it, and so comes to other paths.
    """
    options: dict[str, Any] = dict(script.options)
    for act in script.acts:
        options |= act.options
    moved = any(fault.change is not None and fault.change.what in ASIDE for fault in script.faults())
    return not options.keys() & UNLIKE and not script.ledger_in_s3 and not moved


def trace_of(script: Script, base: Path) -> str:
    """The trace of a script; ``base`` is a directory that is not there yet."""
    base.mkdir(parents=True)
    experiment = Recorded(script, base / "lab")
    (base / "lab").mkdir()

    @contextmanager
    def recorded(*arguments: Any) -> Iterator[Lab]:
        with recorded_files(experiment.recorder), laboratory(*arguments) as lab:
            lab.going = Going(experiment.recorder)
            place_recorder(experiment.recorder, lab)
            with patch.object(lab.conductor, "attempt", attempts(lab.conductor.attempt, experiment.recorder)):
                yield lab

    with patch.object(runner, "laboratory", recorded):
        experiment.carry_out()
    return experiment.recorder.lines()
