"""FinishTree: what can be done only when every file is in its place, in rounds where that is much."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress

from msgspec import Struct

from fanout.facts import tuning
from fanout.finishing.assemble_big_files import assemble_big_files
from fanout.finishing.divide import (
    ClosedFile,
    FinishItem,
    FinishShard,
    LinkRange,
    ToFinish,
    divide_closed,
    divide_directories,
    divide_files,
    finish_round_key,
)
from fanout.finishing.finish_directories import finish_directories
from fanout.finishing.finish_shard import FinishProgress, go_on_with, progress_of
from fanout.finishing.link_names import end_copies, link_names
from fanout.ledger import keys
from fanout.ledger.ledger import Ledger
from fanout.model.deadline import Deadline
from fanout.model.document import Json
from fanout.model.errors import FanoutError, ItemError, Superseded
from fanout.ports.tree import ReadTree
from fanout.request.plan import Plan
from fanout.shards.finished_tree import directory_files, is_whole, mark_finished, was_finished
from fanout.shards.made_directories import made_directories, with_placed
from fanout.shards.partitioned import LinkShard, is_partitioned, links_of
from fanout.shards.tasks.shard_task import nothing_done
from fanout.turns.withdrawal import clear, had_left, withdraw
from fanout.work.context import Context
from fanout.work.facts import Facts, asked
from fanout.work.parallel import ahead
from fanout.work.roots import made_by_run


class FinishRound(Struct, frozen=True):
    """A round of finishing: its number and its shards."""

    number: int
    shards: list[FinishShard]


class _Remaining(Facts):
    """The facts of what is left to finish."""

    def __init__(self, ledger: Ledger) -> None:
        super().__init__()
        self._ledger = ledger

    @asked
    def begun_files(self) -> list[str]:
        """The keys of big files that were begun."""
        return list(self._ledger.keys(keys.BIG_FILES_BEGUN))

    @asked
    def links(self) -> list[LinkShard]:
        """The shards of further names."""
        return links_of(self._ledger) if is_partitioned(self._ledger) else []

    @asked
    def directories(self) -> dict[str, int | None]:
        """The files of directories that were made, with their rows."""
        return made_directories(self._ledger) if is_partitioned(self._ledger) else {}


class _FinishFacts(Facts):
    """The facts of how far the finishing is."""

    def __init__(self, ledger: Ledger) -> None:
        super().__init__()
        self._ledger = ledger

    @asked
    def began(self) -> bool:
        """Whether it began."""
        return self._ledger.has(keys.phase_key("finish"))

    @asked
    def has_left(self) -> bool:
        """Whether the run gives up its right to write."""
        return had_left(self._ledger)

    @asked
    def plan(self) -> Plan:
        """The plan."""
        return self._ledger.read_plan()

    @asked
    def last(self) -> FinishRound | None:
        """The last round that was written."""
        return last_round(self._ledger)


def to_finish(plan: Plan, ledger: Ledger) -> ToFinish:
    """All that the run leaves to finish; before it is partitioned, which a limit may refuse, it has copied nothing.

    Raises ``LedgerBroken``.
    """
    with _Remaining(ledger) as left:
        left.ahead()
    begun = [] if plan.request.course.compares else left.begun_files
    ranges = [LinkRange(link.shard, link.copied_by, 0, link.shard.entries) for link in left.links]
    return ToFinish(begun, ranges, left.directories)


def last_round(ledger: Ledger) -> FinishRound | None:
    """The last round that was written; none where one function finishes all. Raises ``LedgerBroken``."""
    number = sum(key.endswith(".json") for key in ledger.keys(keys.FINISH_ROUNDS)) - 1
    return None if number < 0 else _read_round(number, ledger)


def not_done(shards: Sequence[FinishShard], ledger: Ledger) -> list[FinishShard]:
    """The shards that the ledger does not show as done."""
    return [shard for shard, progress in _progress_of_all(shards, ledger) if not progress.done]


def first_finish_round(left: ToFinish, plan: Plan, ledger: Ledger) -> FinishRound | None:
    """Write the first round of all that is left; none if that is nothing."""
    functions = plan.request.limits.max_concurrency
    return _written(0, divide_files(left, functions) or divide_directories(0, left.directories, functions), ledger)


def next_round(last: FinishRound, plan: Plan, ledger: Ledger) -> FinishRound | None:
    """Write the round after ``last``, whose shards are all done; none if nothing is left."""
    number, functions = last.number + 1, plan.request.limits.max_concurrency
    if last.shards[0].big_files or last.shards[0].links:
        made = with_placed(made_directories(ledger), ledger)
        return _written(number, divide_directories(number, made, functions), ledger)
    return _written(number, divide_closed(number, _closed_left(last, ledger), functions), ledger)


def _written(number: int, shards: list[FinishShard], ledger: Ledger) -> FinishRound | None:
    if not shards:
        return None
    return FinishRound(number, ledger.write_items(finish_round_key(number), shards, FinishItem))


def _closed_left(last: FinishRound, ledger: Ledger) -> list[ClosedFile]:
    """The closed directories that the round of directories left, less those that later rounds have set."""
    passed = [file.depth for shard in last.shards for file in shard.closed]
    number = last.number
    while number >= 0 and not (found := _read_round(number, ledger)).shards[0].directories:
        number -= 1
    if number < 0:
        return []
    closed = [file for _, progress in _progress_of_all(found.shards, ledger) for file in progress.closed]
    return [file for file in closed if not passed or file.depth < min(passed)]


def _read_round(number: int, ledger: Ledger) -> FinishRound:
    items = ledger.read(finish_round_key(number))
    return FinishRound(number, [item.shard for item in items])


def _progress_of_all(shards: Sequence[FinishShard], ledger: Ledger) -> list[tuple[FinishShard, FinishProgress]]:
    return list(ahead(lambda shard: progress_of(shard, ledger), shards, tuning.LEDGER_FILES_AHEAD))


def finish_tree(context: Context, *, deletes: bool = False, mapped: int = -1) -> Json:
    """Finish the destination: big files, links and directories, then what was staged goes, and with it the run's right
    to write, unless it ``deletes`` after this. Also after a run broke off, so that nothing half-written stays.

    A small tree is finished here. A larger one is divided: the answer names the ``key`` of a round of ``count`` shards
    for FinishShards, and ``round``. ``mapped`` is the last round that FinishShards worked on, -1 for none; what that
    left is finished here.
    Returns ``done``: false if a round needs a Map, or if the time was up and another task must continue.
    Raises ``Transient`` if nothing at all could be finished in the time of a task, and ``Superseded``.
    """
    try:
        return _finish_tree(context, deletes, mapped)
    except Superseded as error:
        plan = context.ledger.read_plan()
        if not was_finished(plan, context.ledger.now()):  # by another attempt at the same time
            clear(context.destination(plan), error)
            raise
        return _answer(mapped, done=True)


def unfinished(mapped: int) -> Json:
    """The answer of a task that did nothing, and that another one must continue."""
    return _answer(mapped, done=False)


def _finish_tree(context: Context, deletes: bool, mapped: int) -> Json:
    ledger = context.ledger
    with _FinishFacts(ledger) as state:
        state.ahead()
    if not state.began:
        context.begin("finish")
    plan = state.plan
    if is_whole(plan, ledger):
        _close(plan, context, deletes or state.has_left)
        if state.has_left:
            withdraw(plan, context)
        return _answer(mapped, done=True)
    if state.has_left:  # nothing can be finished any more, and nobody did
        raise Superseded(ledger.run_id)
    deadline = context.deadline()
    last = state.last
    left = to_finish(plan, ledger) if last is None else None
    if left is not None and left.seconds <= tuning.FINISH_ALONE_SECONDS:
        done = _finish_alone(plan, left, context, deadline)
    else:
        if left is not None:
            if left.links:
                end_copies(context.destination(plan), ledger)  # once, for all shards
            last = first_finish_round(left, plan, ledger)
        done = True
        while last is not None and done:
            shards = not_done(last.shards, ledger)
            if last.number > mapped and len(last.shards) > 1 and shards:
                return _to_map(last, plan, context)
            for shard in shards:
                done = done and go_on_with(shard, context) and not (shard is not shards[-1] and deadline.passed)
            if done:
                last = next_round(last, plan, ledger)
                done = last is None or not deadline.passed
        done = done and _finish_undivided(context, plan, deadline)
    if done:
        mark_finished(plan, directory_files(ledger), ledger)
        _close(plan, context, deletes)
    return _answer(mapped, done=done)


def _answer(mapped: int, *, done: bool) -> Json:
    return {"done": done, "count": 0, "key": "", "max_concurrency": 1, "round": mapped}


def _to_map(what: FinishRound, plan: Plan, context: Context) -> Json:
    return {
        "done": False,
        "count": len(what.shards),
        "key": context.ledger.prefix + finish_round_key(what.number),
        "max_concurrency": min(plan.request.limits.max_concurrency, len(what.shards)),
        "round": what.number,
    }


def _finish_alone(plan: Plan, left: ToFinish, context: Context, deadline: Deadline) -> bool:
    """Finish all of a small tree, or as much as there is time for; whether that is all."""
    files, done = assemble_big_files(context, plan, left.big_files, deadline)
    names = directories = 0
    if done:
        names, done = link_names(plan, context, left.links, deadline, has_whole_time=not files)
    if done:
        destination = context.destination(plan)
        with _clearing(destination):
            made = with_placed(left.directories, context.ledger) if left.big_files or left.links else left.directories
            directories, done = finish_directories(context, destination, deadline, made)
    if not done and not files + names + directories:
        nothing_done("nothing could be finished", context)
    return done


def _finish_undivided(context: Context, plan: Plan, deadline: Deadline) -> bool:
    """Set the directories that are in no round: of copies that went on after somebody had the tree divided."""
    ledger = context.ledger
    number, divided = 0, set[str]()
    while ledger.has(finish_round_key(number)):
        groups = (group for shard in _read_round(number, ledger).shards for group in shard.directories)
        divided.update(file.key for group in groups for file in group)
        number += 1
    made = {key: rows for key, rows in made_directories(ledger).items() if key not in divided}
    return finish_directories(context, context.destination(plan), deadline, made)[1] if made else True


@contextmanager
def _clearing(destination: ReadTree) -> Iterator[None]:
    """Remove what is staged meanwhile: nothing is put in its place any more. What is left goes with the directory."""
    files = destination.file_system
    with ThreadPoolExecutor(1, thread_name_prefix="clear") as pool:
        clearing = pool.submit(files.clear) if files is not None else None
        yield
    if clearing is not None:
        with suppress(FanoutError, ItemError):
            clearing.result()


def _close(plan: Plan, context: Context, deletes: bool) -> None:
    """The last of it: every shard is proven done in the ledger."""
    if plan.request.between_mounts:
        context.ledger.staged().remove("")
    if not deletes:
        withdraw(plan, context)
        _unmake_root(plan, context)
    elif (files := context.destination_files(plan)) is not None:
        files.close_opened()  # a comparison that follows looks at modes
        files.clear()


def _unmake_root(plan: Plan, context: Context) -> None:
    """Remove the root that CheckMount made, of a run between two mounts that was refused before anything was listed."""
    ledger, destination = context.ledger, context.destination(plan)
    is_refused = plan.request.between_mounts and next(ledger.keys(keys.SEGMENTS_DONE), None) is None
    if is_refused and destination.file_system is not None:
        destination.file_system.unmake(made_by_run(destination, ledger))
