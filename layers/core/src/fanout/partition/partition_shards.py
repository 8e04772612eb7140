"""PartitionShards: joins the loose ends, orders the shards, longest first, and forecasts the run."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import chain

from msgspec.structs import replace

from fanout.checksums.progress import begin_computing
from fanout.efs.load import Work
from fanout.forecast.choosing import choose_plan
from fanout.forecast.choosing.finish import Finish
from fanout.forecast.run_forecast import write_forecast
from fanout.forecast.spending import refuse_over_budget
from fanout.ledger import keys
from fanout.ledger.ledger import Ledger
from fanout.model.columns import Listed, count_and_bytes
from fanout.model.document import Json
from fanout.model.shard import Rates, Shard
from fanout.pacing.pace_copy import begin_pacing
from fanout.partition.group_hard_links import compare_names, place_names
from fanout.partition.refusals import refuse
from fanout.partition.whole_tree import WholeTree, whole_tree, work_in
from fanout.request.options import Verify
from fanout.request.plan import Plan
from fanout.request.request import Request
from fanout.shards.big_files import cut
from fanout.shards.held import to_bring_back, write_copies_at_once
from fanout.shards.packing import pack, target_seconds
from fanout.shards.partitioned import BIG_FILES, LINKS, SHARDS, Links, ListedBigFiles, MapItem
from fanout.shards.round_records import ListedBigFile
from fanout.verifying.earlier_proofs import note_earlier_proofs
from fanout.work.context import Context

# Chosen: up to so many loose ends are joined whatever their size, which makes the fewest shards.
LOOSE_ENDS_READ = 100
# The use of shards whose objects S3 looks at first.
_COMPUTE = "compute"


def partition_shards(context: Context) -> Json:
    """Check the guard, join what was listed, choose the number of functions, forecast the run, write shards.json.

    Returns the key, the number of shards, and how many run at once: the request's limit, or fewer if they reach the
    limit of a measured file system.

    Raises ``DeleteRefused`` before anything is copied if a sync or a move would delete more than its guard allows, or
    a version to publish would be empty, ``BudgetRefused`` if the forecast is over ``limits.max_dollars``, and
    ``FinishRefused`` if no plan ends by ``limits.finish_by``.
    """
    ledger = context.ledger
    plan = ledger.read_plan()
    context = context.within(plan)
    tree = whole_tree(plan, ledger)
    refuse(plan, tree, ledger)
    note_earlier_proofs(plan, ledger)
    full = [*tree.full, *_shards_of_names(tree.names, plan, context)]
    outlined = partial(_outlined, full, tree, plan, ledger)
    chosen = choose_plan.choose_for(plan, outlined, ledger, context.clock.now())
    target = _target_seconds([*full, *tree.loose], tree.big_files, choose_plan.functions_for(chosen, plan), plan)
    shards = full + _join(tree.loose, target, plan, ledger) + _cut(tree.big_files, target, plan, ledger)
    shards.sort(key=lambda shard: (-shard.seconds, shard.id))
    functions = plan.request.limits.max_concurrency
    if not ledger.is_verification:
        functions = _forecast(work_in(shards, tree, plan, ledger), chosen, plan, context)
    ledger.write(BIG_FILES, ListedBigFiles(list(tree.big_files)))
    shards = ledger.write_items(SHARDS, shards, MapItem)
    copies, held = write_copies_at_once(shards, ledger) if plan.request.course.writes else (SHARDS, 0)
    if shards and not plan.request.course.plans:
        context.begin(plan.request.course.work)
    following = _next(plan, len(shards))
    if following == _COMPUTE:
        begin_computing(ledger)
    return {
        "count": len(shards),
        "key": ledger.prefix + SHARDS,
        "next": following,
        "verify": _verifies_after(plan.request),
        "extras": tree.extras.extra.entries if plan.request.course.deletes_extras else 0,
        "max_concurrency": min(functions, max(1, len(shards))),
        "paced": len(shards) - held > 1,
        "copies": ledger.prefix + copies,
        **to_bring_back(held),
    }


def _shards_of_names(names: list[Shard], plan: Plan, context: Context) -> list[Shard]:
    """The shards of files with several names: to be compared, or to be copied once and linked."""
    if plan.request.course.compares:
        context.ledger.write(LINKS, Links([]))
        return compare_names(names, plan, context)
    return place_names(names, plan, context)


def _outlined(full: list[Shard], tree: WholeTree, plan: Plan, ledger: Ledger) -> choose_plan.Outline:
    """The work before it is cut."""
    work = work_in([*full, *tree.loose], tree, plan, ledger)
    return choose_plan.outline(work, full, tree.loose, [big.bytes for big in tree.big_files], plan)


def _forecast(work: Work, chosen: Finish | None, plan: Plan, context: Context) -> int:
    """Forecast the run, refuse it or note what was chosen, and begin its pacing; returns the functions at once."""
    ledger = context.ledger
    found, finish = write_forecast(plan, work, chosen, context)
    choose_plan.refuse_too_late(plan, finish, ledger)
    refuse_over_budget(plan, found.dollars.total, ledger)
    choose_plan.note_choice(finish, ledger)
    until = choose_plan.copied_by(plan, found, context.clock.now())
    return begin_pacing(plan, work, found.pace.max_concurrency, context, until)


def _verifies_after(request: Request) -> str:
    """Which way the verification after the copy takes: ``none``, ``copied``, or ``all`` for both whole trees."""
    verify = request.verifies_after
    return Verify.ALL.value if verify.whole_trees else verify.value


def _next(plan: Plan, count: int) -> str:
    """The use of the shards, or nothing if there is none: ``copy``, ``verify``, ``compute`` checksums before that.

    It is ``plan`` for a plan.
    """
    course = plan.request.course
    if count and course.compares and plan.request.computes_checksums:
        return _COMPUTE
    return course.work if count or course.plans else "nothing"


def _target_seconds(shards: Sequence[Shard], big_files: Sequence[ListedBigFile], functions: int, plan: Plan) -> float:
    limits = plan.request.limits
    total = sum(shard.seconds for shard in shards) + sum(plan.rates.seconds(1, big.bytes) for big in big_files)
    return target_seconds(total, functions, limits.shard_seconds)


def _cut(big_files: Sequence[ListedBigFile], target: float, plan: Plan, ledger: Ledger) -> list[Shard]:
    shards: list[Shard] = []
    for one in big_files:
        key = str(keys.big_file_key(one.id))
        shards += cut(ledger.read_big_file(key), key, plan.rates, target)
    return shards


def _join(loose: Sequence[Shard], target: float, plan: Plan, ledger: Ledger) -> list[Shard]:
    """Join the partly filled shards into shards of the right size; those of about that size stay as they are.

    So only small ones are read again: one function has no time to read those of very many segments.
    """
    small = target / 4 if len(loose) > LOOSE_ENDS_READ else target
    kept = [shard for shard in loose if (small <= shard.seconds or len(loose) == 1) and shard.seconds <= target]
    names = {shard.id for shard in kept}
    rest = [shard for shard in loose if shard.id not in names]
    joined: list[Shard] = []
    for lot in sorted({shard.lot for shard in rest}):
        rates = lot.rates(plan.rates)
        own = [shard for shard in rest if shard.lot == lot]
        for listed in pack(chain.from_iterable(map(ledger.read_listed, own)), rates, target):
            shard = _write_shard(f"joined-{len(joined):06d}", listed, rates, ledger)
            joined.append(replace(shard, **lot._asdict()))
    return kept + joined


def _write_shard(shard_id: str, listed: list[Listed], rates: Rates, ledger: Ledger) -> Shard:
    entries, size = count_and_bytes(listed)
    key = ledger.write_shard(shard_id, listed)
    return Shard(shard_id, key, entries, size, round(rates.seconds(entries, size), 3))
