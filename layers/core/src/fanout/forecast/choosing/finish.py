"""The plan that a run with ``limits.finish_by`` takes, and the words for people."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from fanout.efs.capacity import FileSystemState, baseline, published
from fanout.forecast.choosing.choices import (
    SPARE,
    Choice,
    choices_of,
    few,
    function_levels,
    taken,
    unbeaten,
)
from fanout.forecast.copying import Limit
from fanout.forecast.forecast import Forecast
from fanout.ledger.kind import ObjectKind
from fanout.model.document import utc
from fanout.model.file_system import ThroughputMode
from fanout.request.parts.finish_by import length_text, parse_finish_by
from fanout.request.parts.window import closed_seconds
from fanout.request.request import Request

# The forecast of a plan on file systems in some states; see ``Predict``.
PredictWith = Callable[[int, float, Mapping[str, FileSystemState]], tuple[Forecast, float]]
# The mode to compare with. What Provisioned costs a month is no cost of a run.
OTHER_MODE = {
    ThroughputMode.BURSTING: ThroughputMode.ELASTIC,
    ThroughputMode.PROVISIONED: ThroughputMode.ELASTIC,
    ThroughputMode.ELASTIC: ThroughputMode.BURSTING,
}


class FinishPlan(Struct, frozen=True):
    """A plan that no other beats in both: its functions, seconds of a shard, end and dollars, and what binds it."""

    functions: int
    shard_seconds: float
    seconds: float
    ends_at: str
    dollars: float
    binding_limit: Limit


class FinishMode(Struct, frozen=True):
    """A file system in another throughput mode: ``pays`` if the run would end in time for less, or only so.

    ``seconds`` and ``dollars`` are ``None`` where it would not end in time.
    """

    mount: str
    throughput_mode: ThroughputMode
    pays: bool
    seconds: float | None
    dollars: float | None
    sentence: str


class Finish(Struct, frozen=True):
    """``limits.finish_by`` of a forecast: when that is, the plan that is taken and why, and the others.

    ``functions`` is 0 where no plan ends in time; ``nearest`` is then what to type instead, else empty.
    ``seconds_left`` and ``predicted_seconds`` are from the choice on. ``ended_at``, ``reached`` and ``outcome`` are
    known after the run.
    """

    finish_by: str
    at: str
    seconds_left: float
    functions: int
    shard_seconds: float
    predicted_end: str
    predicted_seconds: float
    dollars: float
    why: str
    plans: list[FinishPlan]
    other_modes: list[FinishMode]
    nearest: str = ""
    ended_at: str | None = None
    reached: bool | None = None
    outcome: str = ""


FINISH = ObjectKind("pacing/finish.json", Finish, by=("PartitionShards",), sealed=False, area="pacing/*")


class Moments(Struct, frozen=True):
    """When a run began, when its plan is chosen, and when it is to have ended, seconds since 1970; as its text says."""

    text: str
    began: float
    now: float
    at: float

    @property
    def left(self) -> float:
        return self.at - self.now


def decide_finish(
    moments: Moments,
    most: int,
    shard_seconds: Sequence[float],
    predict: PredictWith,
    states: Mapping[str, FileSystemState],
) -> Finish:
    """The plan with at most so many functions, of a run on file systems in these states."""
    levels = function_levels(most)

    def front_with(states: Mapping[str, FileSystemState]) -> list[Choice]:
        return unbeaten(choices_of(levels, shard_seconds, lambda most, length: predict(most, length, states)))

    front = front_with(states)
    choice = taken(front, moments.left)
    shown = choice or front[0]
    return Finish(
        finish_by=moments.text,
        at=utc(moments.at),
        seconds_left=round(moments.left, 3),
        functions=choice.functions if choice else 0,
        shard_seconds=shown.shard_seconds,
        predicted_end=utc(moments.now + shown.seconds),
        predicted_seconds=round(shown.seconds, 3),
        dollars=round(shown.dollars, 6),
        why=_why(front, choice, moments),
        plans=[_plan(one, moments) for one in few(front, choice)],
        other_modes=_other_modes(states, choice, moments, front_with),
        nearest="" if choice else nearest(moments, front[0].seconds),
    )


def measured_of(request: Request, states: Mapping[str, FileSystemState]) -> Mapping[str, FileSystemState]:
    """Those of the file systems that the run works on."""
    mounts = {end.mount for end in (request.source, request.destination) if not end.is_keyed}
    return {mount: state for mount, state in states.items() if mount in mounts}


def reached(
    finish: Finish, at: float, ended: float, predicted: Mapping[str, float], actual: Mapping[str, float], *, whole: bool
) -> Finish:
    """The outcome: when the run ended, whether everything was done by then, and the phase that made it so."""
    # Told to the second, as both are.
    early, off = int(at) - int(ended), {name: took - predicted.get(name, 0.0) for name, took in actual.items()}
    phase = max(off, key=lambda name: abs(off[name]), default="")
    margin = f"{length_text(abs(early))} {'before' if early > 0 else 'after'} {utc(at)}" if early else "just in time"
    why = f"; {phase} took {_apart(off[phase])} than predicted" if phase else ""
    left = "" if whole else ", with work left"
    outcome = f"ended at {utc(ended)}{left}, {margin}; {finish.predicted_end} was predicted{why}"
    return replace(finish, ended_at=utc(ended), reached=whole and early >= 0, outcome=outcome)


def _apart(seconds: float) -> str:
    return f"{abs(seconds):,.0f} s {'more' if seconds >= 0 else 'less'}"


def nearest(moments: Moments, seconds: float) -> str:
    """The text to type so that a plan of so many seconds ends in time, with its spare, when it is started again."""
    again = moments.now - moments.began  # the new run plans and lists as this one did
    at = moments.now + again + seconds * (1 + SPARE)
    return parse_finish_by(moments.text).said_as(at, moments.began)


def seconds_left(found: Forecast, begins: float, window: str, done: frozenset[str] = frozenset()) -> float:
    """Seconds until the run of a forecast has ended, without the phases that are done, and with its closed hours."""
    working = sum(seconds for phase, seconds in found.seconds.items() if phase not in done)
    return working + (closed_seconds(window, begins, working) if window else 0.0)


def _why(front: list[Choice], choice: Choice | None, moments: Moments) -> str:
    first = front[0]
    fastest = f"the fastest plan ends at {utc(moments.now + first.seconds)} for {dollars_text(first.dollars)}"
    if choice is None:
        return f"no plan ends by {utc(moments.at)}: {fastest}; the {first.binding} binds it"
    if choice.with_spare > moments.left:
        return f"the fastest plan, since none leaves a tenth of its time to spare; the {choice.binding} binds it"
    if len(front) == 1:
        return f"no plan is faster or cheaper; the {choice.binding} binds it"
    cheaper = [one for one in front if one.dollars < choice.dollars]
    rest = fastest if choice is not first else "it is the fastest, too"
    if cheaper:
        slower = cheaper[0]
        rest = f"the next cheaper one would end at {utc(moments.now + slower.seconds)}"
    return f"the cheapest plan that ends in time with a tenth to spare; the {choice.binding} binds it; {rest}"


def _plan(one: Choice, moments: Moments) -> FinishPlan:
    return FinishPlan(
        one.functions,
        one.shard_seconds,
        round(one.seconds, 3),
        utc(moments.now + one.seconds),
        round(one.dollars, 6),
        one.binding,
    )


def state_in(state: FileSystemState, mode: ThroughputMode) -> FileSystemState:
    """The file system in another mode; a bursting one has no credits yet, and earns them."""
    permitted = published(mode, state.standard_bytes, 0.0, state.one_zone)
    if mode is ThroughputMode.BURSTING:
        return replace(state, mode=mode, permitted_bytes_per_second=baseline(state.standard_bytes), credits_bytes=0.0)
    return replace(
        state, mode=mode, permitted_bytes_per_second=permitted, credits_bytes=None, probed_bytes_per_second=None
    )


def _other_modes(
    states: Mapping[str, FileSystemState],
    choice: Choice | None,
    moments: Moments,
    front_with: Callable[[Mapping[str, FileSystemState]], list[Choice]],
) -> list[FinishMode]:
    """Each measured file system in its other mode, compared with the plan that is taken, if any."""
    found = []
    for mount, state in states.items():
        mode = OTHER_MODE.get(state.mode)
        if mode is not None and not state.puts_a_file:
            best = taken(front_with({**states, mount: state_in(state, mode)}), moments.left)
            found.append(_mode(mount, mode, best, choice, moments))
    return found


def _mode(mount: str, mode: ThroughputMode, best: Choice | None, choice: Choice | None, moments: Moments) -> FinishMode:
    name = f"with {mode.value} throughput of efs://{mount}/"
    if best is None:
        return FinishMode(mount, mode, False, None, None, f"{name} no plan would end in time; no run changes it")
    pays = choice is None or best.dollars < choice.dollars * 0.99
    by = f"{name} it would end at {utc(moments.now + best.seconds)} for {dollars_text(best.dollars)}"
    now = "which no plan does now" if choice is None else f"now {dollars_text(choice.dollars)}"
    verdict = "a change would pay" if pays else "a change would not pay"
    sentence = f"{by}, {now}: {verdict}; no run changes it"
    return FinishMode(mount, mode, pays, round(best.seconds, 3), round(best.dollars, 6), sentence)


def dollars_text(value: float) -> str:
    """Dollars to the cent, or of a small sum to a hundredth of one."""
    return f"${value:,.2f}" if value >= 1 else f"${value:.4f}"
