"""The dollars of a run by service."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

from fanout.efs.load import S3Requests, Work
from fanout.efs.model import FileSystemState, Load
from fanout.efs.phase_cost import Beside
from fanout.facts.units import GB
from fanout.forecast.listing import ListingWalk
from fanout.model.file_system import ThroughputMode
from fanout.request.parts.function_size import FunctionSize
from fanout.shards.tasks.attempt import NOTE_EVERY_SECONDS

# Chosen: requests to the ledger, of a segment and of a shard: its rows, its record, its attempts and checkpoints.
SEGMENT_PUTS, SEGMENT_GETS = 4, 3
SHARD_PUTS, SHARD_GETS = 9, 6
# States around the rounds, of each round, and of each child of a Map.
TRANSITIONS, ROUND_TRANSITIONS, SEGMENT_TRANSITIONS, SHARD_TRANSITIONS = 10, 7, 2, 4
# Chosen: seconds of the functions around the Maps, each round's two and the seven others.
SMALL_SECONDS = 60


class Dollars(Struct, frozen=True):
    """By service. S3 and EFS are what the data takes whoever moves it, ``ledger`` the requests to the work bucket.

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
        """The dollars of the run."""
        beside = self.metrics + sum(self.services.values()) + self.signing
        return self.s3 + self.ledger + self.efs + self.compute + self.states + beside


def dollars_of(
    work: Work,
    requests: S3Requests,
    listing: ListingWalk,
    function_seconds: float,
    metering: float,
    price: Mapping[str, float],
    beside: Beside = Beside(),  # noqa: B008
    services: Mapping[str, float] | None = None,
    function: FunctionSize = FunctionSize(),  # noqa: B008
) -> Dollars:
    """The dollars of a run whose functions work so long in all, without logs, and with ``metering`` of EFS."""
    seconds = listing.function_seconds + function_seconds + SMALL_SECONDS * listing.rounds
    invocations = listing.segments + work.shards + 2 * listing.rounds
    transitions = TRANSITIONS + ROUND_TRANSITIONS * listing.rounds
    transitions += SEGMENT_TRANSITIONS * listing.segments + SHARD_TRANSITIONS * work.shards
    notes = (listing.function_seconds + function_seconds) / NOTE_EVERY_SECONDS
    puts = SEGMENT_PUTS * listing.segments + SHARD_PUTS * work.shards + notes
    gets = SEGMENT_GETS * listing.segments + SHARD_GETS * work.shards
    return Dollars(
        s3=request_dollars(requests, price),
        ledger=(gets + beside.gets) * price["s3_get"] + (puts + beside.puts) * price["s3_put"],
        efs=metering,
        compute=(seconds * function.gigabytes + beside.gb_seconds) * price["lambda_gb_second"]
        + (invocations + beside.calls) * price["lambda_request"],
        states=(transitions + beside.transitions) * price["transition"],
        metrics=beside.metrics * price["metric"],
        services=services or {},
        signing=beside.signatures * price["kms_request"],
    )


def request_dollars(requests: S3Requests, price: Mapping[str, float]) -> float:
    """The dollars of requests to S3."""
    return requests.gets * price["s3_get"] + (requests.puts + requests.lists) * price["s3_put"]


def metering_dollars(
    loads: Mapping[str, Load], states: Mapping[str, FileSystemState], price: Mapping[str, float]
) -> float:
    """The dollars that EFS meters: by the GB in the mode Elastic, else none. An unknown mode counts as Elastic."""
    metered = (ThroughputMode.ELASTIC, ThroughputMode.ASSUMED)
    found = [load for mount, load in loads.items() if states[mount].mode in metered]
    read, written = sum(load.read_bytes for load in found), sum(load.written_bytes for load in found)
    return read / GB * price["efs_read_gb"] + written / GB * price["efs_written_gb"]
