"""docs/understand/cost.md: what runs cost, with examples that the estimator works out and the table of prices.

python -m benchmarks.cost_page        writes it anew
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from fanout.efs.load import Work
from fanout.facts.prices import DATE, PRICES, REGION, prices_with
from fanout.forecast.datasync import basic_verification
from fanout.forecast.estimate import Known, estimate, idle_state
from fanout.forecast.forecast import Forecast
from fanout.model.file_system import ThroughputMode
from fanout.report.text import dollars, duration, number, spoken
from fanout.request.parse import parse_request
from fanout.request.request import Request

PAGE = Path(__file__).parents[1] / "docs/understand/cost.md"
# As template.yaml sets MaxConcurrency.
CONCURRENCY = 100


class Example(NamedTuple):
    """A run: so many entries of so many bytes in all, from one end to the other."""

    title: str
    source: str
    destination: str
    entries: int
    bytes: int


EXAMPLES = (
    Example("A million files of 100 KB from S3 to EFS", "s3://my-data/in/", "efs:///copy", 10**6, 10**11),
    Example("The same back from EFS to S3", "efs:///copy", "s3://my-results/out/", 10**6, 10**11),
    Example("A thousand files of 1 GB from S3 to EFS", "s3://my-data/in/", "efs:///copy", 10**3, 10**12),
)

HEAD = """# What a run costs

Every run says beforehand what it will take and cost, and afterwards what the ledger counted: in `summary.json`
(`forecast`), the report and the terminal. [`fanout estimate`](../how-to/estimate.md) says it for a number of entries
and bytes, without an account. What the figures rest on: [decision 13](../develop/decisions/0013-forecast.md).

While nothing runs, only storage and [monitoring](../operate/monitoring.md#what-it-costs) cost. All figures leave out
logs, storage, KMS, transfer between regions or zones, and VPC endpoints of your own.
"""
FOOT = """
## Where the money goes

| service | what it charges for |
|---|---|
| EFS with Elastic throughput | most of it: every GB written or read, and at least 4 KiB for every request |
| S3 | a request or two for each object, and one for each 8 MiB of large ones; every tool pays them |
| Lambda | the seconds of the functions times 1.77 GB, also while they wait for a slow file system |
| Step Functions | four states for a shard of about a minute |
| work bucket | fifteen requests for a shard, six for its [progress](../reference/commands.md#watching-a-run) |
| CloudWatch | the metrics that PlanTransfer and PaceCopy ask for |
| KMS | two requests for a certificate; its key costs a dollar a month, which no forecast holds |

- EFS meters `cp` and DataSync in the same way. Bursting and provisioned throughput meter nothing.
- Functions that only wait cost, so a run starts no more than reach the limit of a measured file system.
- Deletions cost nothing at S3.
- `verify` costs a HEAD for each object, and every byte of a mount read, and metered, once more. Figures leave out
  reading objects without a CRC64NVME. With `certificate: true` every object is read again, and the figures hold it.
- What is unchanged costs a listing: one request for 1,000 keys. The first run after a copy also asks about each object
  once (`s3_get`, $0.40 a million; two from bucket to bucket), where no Last-Modified proves it unchanged. The forecast
  made after the listing holds these requests.

## Beside DataSync

A forecast shows the price of DataSync too, in the cheaper mode that can do the same work, and names it
([other differences](comparison.md)).

| | Basic | Enhanced |
|---|---|---|
| way of working | prepares, transfers and verifies one after the other | at the same time |
| its fee | $0.0125 a GB | $0.015 a GB, $0.55 an execution |
| items of a task | 50 million at most | practically no limit |
| transfers | all | all but S3 on Outposts; older pages say S3 to S3 alone |
| verification by default | all data, at both ends | what was transferred |
| `verify: none` | VerifyMode `NONE` | the same |
| `verify: copied` | reads the destination again | the same |
| `verify: content`, `all`, `mode: verify` | reads both ends again | not possible |

Where our run does not verify, Basic is set to `NONE`, in its favour; the line below each example says what its
default takes. Requests and metering of its copy are taken to be ours, without what stages between two file systems.
Neither has been measured on AWS.

## Other prices

Your region's, or those that you have agreed on: `"prices": {"efs_written_gb": 0.07}` in a request, or the parameter
`Prices` ([parameters](../reference/parameters.md)) for a whole stack; the request's come first. An unknown name is
refused.
"""


def predicted(example: Example) -> Forecast:
    """The estimate of an example, on a file system with elastic throughput."""
    states = {"data": idle_state(ThroughputMode.ELASTIC)}
    return estimate(_request(example), Known(example.entries, example.bytes, states=states))


def _request(example: Example) -> Request:
    document = {"source": example.source, "destination": example.destination}
    return parse_request(document, ("data",), CONCURRENCY)


def verification(example: Example) -> float:
    """The dollars that DataSync's Basic mode takes to read both ends once more."""
    work = Work(example.entries, example.entries, example.bytes, 1, 0.0)
    states = {"data": idle_state(ThroughputMode.ELASTIC)}
    return basic_verification(_request(example), work, states, prices_with({}))


def document() -> str:
    """The page."""
    return "\n".join([HEAD, *_examples(), FOOT, *_prices(), ""])


def _examples() -> Iterator[str]:
    yield "## Three examples\n"
    prices = f"prices of {DATE} in {REGION}"
    yield f"Elastic throughput, {CONCURRENCY} functions at most, {prices}, everything new at the destination.\n"
    for example in EXAMPLES:
        found = predicted(example)
        money = found.dollars
        other = found.datasync
        theirs = {"s3": other.s3, "efs": other.efs}
        ours = {"s3": money.s3, "work_bucket": money.ledger, "efs": money.efs, "lambda": money.compute}
        ours |= {"step_functions": money.states, "cloudwatch": money.metrics}
        yield f"### {example.title}\n"
        yield f'```sh\necho \'{{"source": "{example.source}", "destination": "{example.destination}"}}\' > request.json'
        yield f".venv/bin/fanout estimate request.json --entries {example.entries} --bytes {example.bytes}\n```\n"
        functions = found.pace.max_concurrency
        yield (
            f"About {duration(sum(found.seconds.values()))} with {number(functions)} functions;"
            f" what binds: {found.binding.value}.\n"
        )
        yield f"| service | this run | DataSync, {other.mode} |"
        yield "|---|---|---|"
        for name, cost in ours.items():
            yield f"| {spoken(name)} | {dollars(cost)} | {dollars(theirs[name]) if name in theirs else ''} |"
        yield f"| DataSync's own fee | | {dollars(other.fee)} |"
        yield f"| total | {dollars(money.total)} | {dollars(other.total)} |\n"
        yield f"Basic's verification, where it is left on: {dollars(verification(example))} more.\n"


def _prices() -> Iterator[str]:
    yield f"Prices in dollars, read in {DATE} for {REGION}, second-hand: the page named is the one that counts.\n"
    yield "| name | dollars | for a | page |"
    yield "|---|---|---|---|"
    for name, price in PRICES.items():
        figure = f"{price.dollars:.10f}".rstrip("0")
        yield f"| `{name}` | {figure} | {price.unit} | aws.amazon.com/{price.page} |"


if __name__ == "__main__":
    PAGE.write_text(document(), encoding="utf-8")
