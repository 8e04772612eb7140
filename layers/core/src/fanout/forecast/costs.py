"""The dollars of a run by service."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

from fanout.efs.capacity import FileSystemState, Load
from fanout.efs.load import RequestCount
from fanout.efs.phase_cost import Overhead
from fanout.facts.units import GB
from fanout.forecast.way import Way
from fanout.model.file_system import ThroughputMode
from fanout.request.parts.limits import FunctionSize
from fanout.shards.tasks.attempt import NOTE_EVERY_SECONDS


class Dollars(Struct, frozen=True):
    """Dollars by service: ``s3`` and ``efs`` for the data itself, ``ledger`` for the requests to the work bucket.

    ``metrics`` are those of CloudWatch that the plan and the pacing ask for, ``signing`` the
    requests to KMS; ``services`` are the dollars of further ones, by their names in the summary.
    """

    s3: float
    ledger: float
    efs: float
    compute: float
    states: float
    metrics: float = 0.0
    services: Mapping[str, float] = field(default_factory=dict)
    signing: float = 0.0

    @property
    def total(self) -> float:
        overhead = self.metrics + sum(self.services.values()) + self.signing
        return self.s3 + self.ledger + self.efs + self.compute + self.states + overhead


def dollars_of(
    way: Way,
    requests: RequestCount,
    function_seconds: float,
    metering: float,
    price: Mapping[str, float],
    overhead: Overhead = Overhead(),  # noqa: B008
    services: Mapping[str, float] | None = None,
    function: FunctionSize = FunctionSize(),  # noqa: B008
) -> Dollars:
    """The dollars of a run whose functions list and work so long, without logs, and with ``metering`` of EFS."""
    seconds, counts = function_seconds + way.seconds, way.counts + overhead
    puts = counts.puts + function_seconds / NOTE_EVERY_SECONDS
    return Dollars(
        s3=request_dollars(requests, price),
        ledger=counts.gets * price["s3_get"] + puts * price["s3_put"],
        efs=metering,
        compute=(seconds * function.gigabytes + counts.gb_seconds) * price["lambda_gb_second"]
        + counts.calls * price["lambda_request"],
        states=counts.transitions * price["transition"],
        metrics=counts.metrics * price["metric"],
        services=services or {},
        signing=counts.signatures * price["kms_request"],
    )


def request_dollars(requests: RequestCount, price: Mapping[str, float]) -> float:
    return requests.gets * price["s3_get"] + (requests.puts + requests.lists) * price["s3_put"]


def metering_dollars(
    loads: Mapping[str, Load], states: Mapping[str, FileSystemState], price: Mapping[str, float]
) -> float:
    """The dollars that EFS meters: by the GB in the mode Elastic, else none. An unknown mode counts as Elastic."""
    metered = (ThroughputMode.ELASTIC, ThroughputMode.ASSUMED)
    found = [load for mount, load in loads.items() if states[mount].mode in metered]
    read = sum(load.read_bytes + load.more_read_bytes for load in found)
    written = sum(load.written_bytes + load.more_written_bytes for load in found)
    return read / GB * price["efs_read_gb"] + written / GB * price["efs_written_gb"]
