"""PartitionShards: joins the loose ends, orders the shards, longest first, and forecasts the run."""

from __future__ import annotations

from collections.abc import Collection
from itertools import chain

from msgspec.structs import replace

from fanout.checksums.progress import begin_computing
from fanout.deleting.deletions import listed_extras
from fanout.deleting.guard import empty_source
from fanout.deleting.moves import refuse_over_guard
from fanout.efs.load import Work, reads_before_copying
from fanout.forecast.choosing import choose_plan
from fanout.forecast.run_forecast import work_of, write_forecast
from fanout.forecast.spending import refuse_over_budget
from fanout.ledger import keys
from fanout.ledger.ledger import Ledger
from fanout.model.books import Count
from fanout.model.columns import Listed, count_and_bytes
from fanout.model.document import Json
from fanout.model.errors import DeleteRefused
from fanout.model.outcome import Result
from fanout.model.shard import Rates, Shard
from fanout.pacing.pace_copy import begin_pacing
from fanout.partition.group_hard_links import compare_names, place_names
from fanout.request.options import Verify
from fanout.request.parts.publish import INSIDE_VERSIONS
from fanout.request.plan import Plan
from fanout.request.request import Request
from fanout.shards.big_files import cut
from fanout.shards.crowds import Crowds
from fanout.shards.held import held_of, to_bring_back, write_copies_at_once
from fanout.shards.packing import pack, target_seconds
from fanout.shards.partitioned import Links, ListedBigFiles, MapItem
from fanout.shards.round_records import ListedBigFile, whole_listing
from fanout.shards.sizes import groups_of
from fanout.work.context import Context

# Chosen: up to so many loose ends are joined whatever their size, which makes the fewest shards.
LOOSE_ENDS_READ = 100
# The use of shards whose objects S3 looks at first.
_COMPUTE = "compute"
# Listed entries that a move leaves at the source.
_STAYS = frozenset({Result.SKIPPED, Result.FAILED, Result.REJECTED})


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
    extra = _guarded(plan, ledger)
    full: list[Shard] = []
    loose: list[Shard] = []
    big_files: list[ListedBigFile] = []
    names: list[Shard] = []
    sizes: list[dict[str, list[int]]] = []
    listed, there, published, heads, crowds = Count(), Count(), Count(), 0, Crowds()
    for done in whole_listing(ledger):
        listed, there, published = listed + done.listed, there + done.destination, published + done.published
        heads += done.heads
        sizes.append(done.sizes)
        crowds.merge(done.crowds)
        full += done.shards
        loose += done.loose
        big_files += done.big_files
        names += done.names
    if published.entries:
        ledger.note("published", [_published_note(published)])
    _refuse_empty_version(plan, ledger)
    if plan.request.course.compares:
        ledger.write(keys.LINKS, Links([]))
        full += compare_names(names, plan, context)
    else:
        full += place_names(names, plan, context)

    def work_in(shards: list[Shard]) -> Work:
        compared = there if reads_before_copying(plan.request) else Count()
        to_delete = _to_delete(plan, extra, ledger)
        waiting = held_of(shards, lambda key: ledger.read_big_file(key).entry)
        known = crowds.largest, to_delete, waiting, compared, heads, groups_of(sizes), there
        return work_of(listed, len(big_files), shards, *known, has_directories=not plan.request.source.is_keyed)

    def outlined() -> choose_plan.Outline:
        return choose_plan.outline(work_in(full + loose), full, loose, [big.bytes for big in big_files], plan)

    chosen = choose_plan.choose_for(plan, outlined, ledger, context.clock.now())
    target = _target_seconds(full + loose, big_files, choose_plan.functions_for(chosen, plan), plan)
    shards = full + _join(loose, target, plan, ledger) + _cut(big_files, target, plan, ledger)
    shards.sort(key=lambda shard: (-shard.seconds, shard.id))
    functions = plan.request.limits.max_concurrency
    if not ledger.is_verification:
        work = work_in(shards)
        found, finish = write_forecast(plan, work, chosen, context)
        choose_plan.refuse_too_late(plan, finish, ledger)
        refuse_over_budget(plan, found.dollars.total, ledger)
        choose_plan.note_choice(finish, ledger)
        until = choose_plan.copied_by(plan, found, context.clock.now())
        functions = begin_pacing(plan, work, found.pace.max_concurrency, context, until)
    ledger.write(keys.BIG_FILES, ListedBigFiles(big_files))
    ledger.write_documents(keys.SHARDS, map(MapItem, shards))
    copies, held = write_copies_at_once(shards, ledger) if plan.request.course.writes else (keys.SHARDS, 0)
    if shards and not plan.request.course.plans:
        context.begin(plan.request.course.work)
    following = _next(plan, len(shards))
    if following == _COMPUTE:
        begin_computing(ledger)
    return {
        "count": len(shards),
        "key": ledger.prefix + keys.SHARDS,
        "next": following,
        "verify": _verifies_after(plan.request),
        "extras": extra,
        "max_concurrency": min(functions, max(1, len(shards))),
        "paced": len(shards) - held > 1,
        "copies": ledger.prefix + copies,
        **to_bring_back(held),
    }


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


def _guarded(plan: Plan, ledger: Ledger) -> int:
    """The number of entries that a sync deletes. Raises ``DeleteRefused`` if they, or those of a move, are too many."""
    if plan.request.course.deletes_proven:
        refuse_over_guard(plan, _to_move(ledger), "nothing was copied or deleted")
    if not plan.request.course.deletes_extras:
        return 0
    extras = listed_extras(ledger, plan.request)
    problem = extras.refusal(plan.request) or ("" if extras.found.source else empty_source(extras.found))
    if problem:
        raise DeleteRefused(f"{problem}; nothing was copied or deleted")
    if in_the_way := extras.found.extra - extras.extra.entries:
        ledger.note(
            "in-the-way", [f"{in_the_way:,} entries are of another kind than the source's; the sync replaces them"]
        )
    return extras.extra.entries


def _refuse_empty_version(plan: Plan, ledger: Ledger) -> None:
    """Raise ``DeleteRefused`` where readers of the link would find nothing; a plan only notes it."""
    if plan.request.publish is None or plan.request.course.compares or _listed_but({Result.SKIPPED}, ledger):
        return
    scope = "" if plan.request.filters.take_all else " that the filters take"
    problem = f"the source holds nothing{scope}; an empty version is never published"
    if not plan.request.course.plans:
        raise DeleteRefused(f"{problem}; nothing was copied, and the link is as it was")
    ledger.note("publish-nothing", [f"a copy would be refused: {problem}"])


def _published_note(kept: Count) -> str:
    what = f"{kept.entries:,} entries ({kept.bytes:,} bytes) of published trees are not at the source"
    return f"{what}; a sync leaves them: each tree is failed under the name of its {INSIDE_VERSIONS}"


def _to_move(ledger: Ledger) -> int:
    """The number of entries that a move deletes at the source if all of them are proven."""
    return _listed_but(_STAYS, ledger)


def _listed_but(left_out: Collection[Result], ledger: Ledger) -> int:
    """The number of listed entries but those of these results."""
    rounds = list(whole_listing(ledger))
    out = sum(done.outcomes[result].entries for done in rounds for result in left_out if result in done.outcomes)
    return sum(done.listed.entries for done in rounds) - out


def _to_delete(plan: Plan, extra: int, ledger: Ledger) -> int:
    """The number of entries for the forecast of the deletion; for a plan, of the one that a sync would do."""
    if plan.request.course.deletes_proven:
        return _to_move(ledger)
    return listed_extras(ledger, plan.request).extra.entries if plan.request.course.plans else extra


def _target_seconds(shards: list[Shard], big_files: list[ListedBigFile], functions: int, plan: Plan) -> float:
    limits = plan.request.limits
    total = sum(shard.seconds for shard in shards) + sum(plan.rates.seconds(1, big.bytes) for big in big_files)
    return target_seconds(total, functions, limits.shard_seconds)


def _cut(big_files: list[ListedBigFile], target: float, plan: Plan, ledger: Ledger) -> list[Shard]:
    shards: list[Shard] = []
    for one in big_files:
        key = keys.big_file_key(one.id)
        shards += cut(ledger.read_big_file(key), key, plan.rates, target)
    return shards


def _join(loose: list[Shard], target: float, plan: Plan, ledger: Ledger) -> list[Shard]:
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
