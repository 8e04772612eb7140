"""The forecast of a run, made when it is known what is to be copied, and held against what it took."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fanout.domain import ledger_keys as keys
from fanout.domain.forecast import Forecast, forecast
from fanout.domain.forecast_row import forecast_row, with_actual
from fanout.domain.partitioning import Shard
from fanout.domain.plan import Plan
from fanout.domain.rows import SCHEMA_VERSION, Json
from fanout.domain.workload import Work
from fanout.ledger import Ledger
from fanout.steps.context import Context
from fanout.steps.measure import measured_file_systems


def work_of(listed: int, big_files: int, shards: Sequence[Shard]) -> Work:
    """What the shards hold; the parts of a big file have its bytes, and the file counts once."""
    return Work(
        listed=listed,
        entries=sum(shard.entries for shard in shards if shard.blocks is None) + big_files,
        bytes=sum(shard.bytes for shard in shards),
        shards=len(shards),
        longest_seconds=max((shard.seconds for shard in shards), default=0.0),
    )


def write_forecast(plan: Plan, work: Work, context: Context) -> Forecast:
    """Write forecast.json; its pace says how many functions are to work at once."""
    found = forecast(plan.request, work, plan.rates, measured_file_systems(context.ledger))
    row = forecast_row(found, context.clock.now())
    context.ledger.write_json(keys.FORECAST, {"schema_version": SCHEMA_VERSION} | row)
    return found


def forecast_and_actual(ledger: Ledger, seconds: Mapping[str, float]) -> Json | None:
    """``forecast`` of summary.json; ``None`` for a run that broke off before it had one."""
    if not ledger.has(keys.FORECAST):
        return None
    row: Json = ledger.read_json(keys.FORECAST)
    return with_actual({name: value for name, value in row.items() if name != "schema_version"}, seconds)
