"""Which round of finishing is next, and whether the one before it is done."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from msgspec import Struct

from fanout.facts import tuning
from fanout.finishing.divide import (
    ClosedFile,
    FinishShard,
    LinkRange,
    ToFinish,
    divide_closed,
    divide_directories,
    divide_files,
)
from fanout.finishing.finish_shard import Stand, stand_of
from fanout.ledger import keys
from fanout.ledger.ledger import Ledger
from fanout.request.plan import Plan
from fanout.shards.made_directories import made_directories
from fanout.shards.partitioned import is_partitioned, links_of
from fanout.work.parallel import ahead


class FinishItem(Struct, frozen=True):
    """An item of what FinishShards reads."""

    shard: FinishShard


class Round(Struct, frozen=True):
    """A round of finishing: its number and its shards."""

    number: int
    shards: list[FinishShard]


def to_finish(plan: Plan, ledger: Ledger) -> ToFinish:
    """All that the run leaves to finish. Raises ``LedgerBroken``."""
    with ThreadPoolExecutor(3) as pool:
        beginning = pool.submit(lambda: list(ledger.keys(keys.BIG_FILES_BEGUN)))
        linking = pool.submit(lambda: links_of(ledger) if is_partitioned(ledger) else [])
        making = pool.submit(made_directories, ledger)
    begun = [] if plan.request.course.compares else beginning.result()
    ranges = [LinkRange(link.shard, link.copied_by, 0, link.shard.entries) for link in linking.result()]
    return ToFinish(begun, ranges, making.result())


def last_round(ledger: Ledger) -> Round | None:
    """The last round that was written; none where one function finishes all. Raises ``LedgerBroken``."""
    number = sum(1 for _ in ledger.keys(keys.FINISH_ROUNDS)) - 1
    return None if number < 0 else _read_round(number, ledger)


def not_done(shards: Sequence[FinishShard], ledger: Ledger) -> list[FinishShard]:
    """The shards that the ledger does not show as done."""
    return [shard for shard, stand in _stands(shards, ledger) if not stand.done]


def first_round(left: ToFinish, plan: Plan, ledger: Ledger) -> Round | None:
    """Write the first round of all that is left; none if that is nothing."""
    functions = plan.request.limits.max_concurrency
    return _written(0, divide_files(0, left, functions) or divide_directories(0, left.directories, functions), ledger)


def next_round(last: Round, plan: Plan, ledger: Ledger) -> Round | None:
    """Write the round after ``last``, whose shards are all done; none if nothing is left."""
    number, functions = last.number + 1, plan.request.limits.max_concurrency
    if last.shards[0].big_files or last.shards[0].links:
        return _written(number, divide_directories(number, made_directories(ledger), functions), ledger)
    return _written(number, divide_closed(number, _closed_left(last, ledger), functions), ledger)


def _written(number: int, shards: list[FinishShard], ledger: Ledger) -> Round | None:
    if not shards:
        return None
    ledger.write_documents(keys.finish_round_key(number), map(FinishItem, shards))
    return Round(number, shards)


def _closed_left(last: Round, ledger: Ledger) -> list[ClosedFile]:
    """The closed directories that the round of directories left, less those that later rounds have set."""
    passed = [file.depth for shard in last.shards for file in shard.closed]
    number = last.number
    while number >= 0 and not (found := _read_round(number, ledger)).shards[0].directories:
        number -= 1
    if number < 0:
        return []
    closed = [file for _, stand in _stands(found.shards, ledger) for file in stand.closed]
    return [file for file in closed if not passed or file.depth < min(passed)]


def _read_round(number: int, ledger: Ledger) -> Round:
    items = ledger.read_documents(keys.finish_round_key(number), FinishItem)
    return Round(number, [item.shard for item in items])


def _stands(shards: Sequence[FinishShard], ledger: Ledger) -> list[tuple[FinishShard, Stand]]:
    return list(ahead(lambda shard: stand_of(shard, ledger), shards, tuning.LEDGER_FILES_AHEAD))
