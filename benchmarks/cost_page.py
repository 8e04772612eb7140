"""docs/understand/cost.md: what runs cost, with examples that the estimator works out and the table of prices.

python -m benchmarks.cost_page        writes it anew
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from fanout.efs.load import Work
from fanout.efs.seconds import DEFAULT_RATES
from fanout.facts import aws, tuning, units
from fanout.facts.prices import DATE, PRICES, REGION, prices_with
from fanout.forecast.datasync import TaskMode, basic_verification
from fanout.forecast.forecast import Forecast
from fanout.forecast.way import COLD_SECONDS, REQUEST_SECONDS, SHORT, WARM_SECONDS, short_seconds
from fanout.model.file_system import ThroughputMode
from fanout.report.text import dollars, duration
from fanout.request.parse import parse_request
from fanout.request.parts.limits import FunctionSize
from fanout.request.request import Request
from fanout_cli.estimates.from_totals import EstimateFacts, estimate, idle_state

PAGE = Path(__file__).parents[1] / "docs/understand/cost.md"
# As template.yaml sets MaxConcurrency.
CONCURRENCY = 100
# One processor, two, and the most that every region takes.
MEGABYTES = (tuning.FUNCTION_MEGABYTES, 2 * tuning.FUNCTION_MEGABYTES, aws.FUNCTION_MEMORY_MB)


class Example(NamedTuple):
    """A run: so many entries of so many bytes in all, and so many that are unchanged, from one end to the other."""

    title: str
    source: str
    destination: str
    entries: int
    bytes: int
    unchanged: int = 0

    @property
    def command(self) -> str:
        """The estimate on a command line."""
        known = f"--entries {self.entries} --bytes {self.bytes}"
        if self.unchanged:
            known = f"--mode sync --unchanged {self.unchanged}"
        return f".venv/bin/fanout estimate {self.source} {self.destination} {known}"


BUCKET, TREE = "s3://my-data/in/", "efs:///copy"
EXAMPLES = (
    Example("one file of 1 MB to EFS", BUCKET, TREE, 1, 10**6),
    Example("a nightly sync of a million that finds nothing", BUCKET, TREE, 0, 0, 10**6),
    Example("a million files of 100 KB to EFS", BUCKET, TREE, 10**6, 10**11),
    Example("the same back to S3", TREE, "s3://my-results/out/", 10**6, 10**11),
    Example("ten million files of 100 KB to EFS", BUCKET, TREE, 10**7, 10**12),
    Example("a thousand files of 1 GB to EFS", BUCKET, TREE, 10**3, 10**12),
)

HEAD = """# What a run costs

Every run forecasts its seconds and dollars, and counts them afterwards. [`fanout estimate`](../how-to/estimate.md)
forecasts without an account. Figures leave out logs, storage, KMS but for a certificate's two requests, transfer
between zones, a NAT gateway's, and your own VPC endpoints. They also leave out what storage classes cost beside
Standard: a PUT into another ($0.01 to $0.05 for 1,000), a GB read from Infrequent Access ($0.01) or Glacier Instant
Retrieval ($0.03), a GB read from EFS's Infrequent Access ($0.01) or Archive ($0.03).

While nothing runs, these cost a month: storage; a key of the stack ($1) and one more for `Certificates`;
[monitoring](../operate/monitoring.md#what-it-costs); with `AllFunctionsInVpc` in a new network its endpoints ($58, or
$73); with `EventBucketName` the polling of its queue (up to $0.30).
"""
FOOT = """
## Where the money goes

- EFS is most of it, with any tool: Elastic throughput charges for every GB written or read, at least 4 KiB an
  operation and 32 KiB for a file's data; a listing is 256 bytes an entry and 16 KiB a directory. Other modes meter
  nothing.
- S3: a request or two for each object, and one for each 8 MiB of large ones; deletions are free.
- Lambda: the functions' seconds times 1.77 GB, also while they wait. A stack with `Architecture=x86_64` reckons with
  $0.0000166667 a GB-second.
- A shard of about a minute takes four states and thirteen requests to the work bucket, six more for its
  [progress](../reference/commands.md#watching-a-run).
- A small run is three functions. A cold one is taken to begin in {cold:g} s, a warm one in {warm:g} s, a request to
  take {request:.0f} ms.
- `verify` costs a HEAD for each object, a LIST more for a directory's, and every byte of a mount read once more.
  Without `certificate: true` figures leave out reading objects for which S3 holds no checksum of the whole.
- What is unchanged costs a listing: one request for 1,000 keys. The first run after a copy
  [also asks about each object](../how-to/estimate.md#a-nightly-run-that-finds-nothing) that no Last-Modified proves
  unchanged; only the forecast made after the listing holds these.
- Between regions each GB costs `transfer_gb` where it is copied, and where it is read to compare it or for a
  certificate, at each bucket that is not in the stack's region. The price is that of us-east-1 to most regions: give
  your own for others, some of which charge several times that. A limit of `max_dollars` holds these too.

## Beside DataSync

A forecast shows the price of DataSync's cheaper mode that can do the same work:

- Basic: $0.0125 a GB, 50 million items a task. It verifies all data at both ends unless VerifyMode is `NONE`: assumed
  where our run does not.
- Enhanced: $0.015 a GB and $0.55 an execution. It verifies only what was transferred: no `verify: content`, `all` or
  `mode: verify`.

Its requests and metering are taken to be ours, without staging between two file systems. Neither was measured on AWS.

## Other prices

Your own: `"prices": {{"efs_written_gb": 0.07}}` in a request, or the stack's parameter `Prices`; the request's win.
"""


def predicted(example: Example, megabytes: int = tuning.FUNCTION_MEGABYTES) -> Forecast:
    """The estimate of an example, on a file system with elastic throughput, by functions of this memory."""
    states = {"data": idle_state(ThroughputMode.ELASTIC)}
    request = replace(_request(example), function=FunctionSize(megabytes=megabytes))
    known = EstimateFacts(example.entries, example.bytes, states=states, unchanged=example.unchanged)
    return estimate(request, known)


def _request(example: Example) -> Request:
    mode = "sync" if example.unchanged else "copy"
    document = {"source": example.source, "destination": example.destination, "mode": mode}
    return parse_request(document, ("data",), CONCURRENCY)


def verification(example: Example) -> float:
    """The dollars that DataSync's Basic mode takes to read both ends once more."""
    work = Work(example.entries, example.entries, example.bytes, 1, 0.0)
    states = {"data": idle_state(ThroughputMode.ELASTIC)}
    return basic_verification(_request(example), work, states, prices_with({}))


def document() -> str:
    """The page."""
    foot = FOOT.format(cold=COLD_SECONDS, warm=WARM_SECONDS, request=REQUEST_SECONDS * 1000)
    return "\n".join([HEAD, *_examples(), *_tiny(), *_sizes(), foot, *_prices(), ""])


def _examples() -> Iterator[str]:
    yield "## Examples\n"
    prices = f"prices of {DATE} in {REGION}"
    yield f"Elastic throughput, {CONCURRENCY} functions at most, {prices}. `DataSync` is its mode Basic;"
    yield "verification adds what stands in brackets.\n"
    yield "```sh"
    yield from (one.command for one in EXAMPLES)
    yield "```\n"
    yield "| | takes | functions | states | S3 | EFS | Lambda | the rest | total | DataSync |"
    yield "|---" * 10 + "|"
    for example in EXAMPLES:
        found, more = predicted(example), verification(example)
        took, money = duration(sum(found.seconds.values())), found.dollars
        calls, states = (f"{round(one):,}" for one in (found.counts.calls, found.counts.transitions))
        rest = money.total - money.s3 - money.efs - money.compute
        costs = (said(one) for one in (money.s3, money.efs, money.compute, rest, money.total, found.datasync.total))
        assert found.datasync.mode == TaskMode.BASIC
        cells = (example.title, took, calls, states, *costs)
        yield f"| {' | '.join(cells)}{f' (+{said(more)})' * bool(more)} |"


def said(amount: float) -> str:
    """Dollars; small ones to two figures."""
    if amount >= 0.01 or not amount:
        return dollars(amount)
    return f"${amount:.{1 - math.floor(math.log10(amount))}f}"


def _tiny() -> Iterator[str]:
    """The run of one file by its functions."""
    price, size = prices_with({}), FunctionSize()
    found = predicted(EXAMPLES[0])
    assert found.way.is_short
    warm = duration(sum(found.seconds.values()) - found.way.warm_seconds)
    yield f"\nThe first takes {warm} warm. By function, cold, with its requests to the work bucket:\n"
    for name, seconds in short_seconds().items():
        counts = SHORT[name]
        compute = seconds * size.gigabytes * price["lambda_gb_second"] + counts.calls * price["lambda_request"]
        states = counts.transitions * price["transition"]
        asked = counts.gets * price["s3_get"] + counts.puts * price["s3_put"]
        row = f"{counts.transitions:.0f} states {said(states)}, {counts.gets + counts.puts:.0f} requests {said(asked)}"
        yield f"- {name} {said(states + asked + compute)}: {row}, Lambda {said(compute)}"


def _sizes() -> Iterator[str]:
    one, *more = (predicted(EXAMPLES[2], size).dollars.compute for size in MEGABYTES)
    times = [f"{size:,} costs {dear / one:.1f} times that" for size, dear in zip(MEGABYTES[1:], more, strict=True)]
    files, network = round(1 / DEFAULT_RATES.seconds_per_entry, -1), DEFAULT_RATES.bytes_per_second / units.MIB
    bench = "../develop/benchmarks/s3.md#results-over-tls"
    yield "\n## Memory of a function\n"
    yield f"Lambda's dollars above are for `FunctionMegabytes` {MEGABYTES[0]:,}; {' and '.join(times)}."
    yield "The seconds stay, because a function waits for EFS and its network. By EFS's published latencies it copies"
    yield f"{files:,.0f} small files a second, and its network carries {network:.0f} MiB a second; one processor did"
    yield f"[about as much]({bench}). More memory pays where a [probe](../how-to/probe.md)"
    yield "with more finds as many times the files."


def _prices() -> Iterator[str]:
    yield f"Dollars, read in {DATE} for {REGION}, second-hand. `s3_put` is also a COPY, POST or LIST, `s3_get` a HEAD;"
    yield "GLACIER's expedited restores hold for INTELLIGENT_TIERING; `efs_...` is Elastic throughput, `transition` a"
    yield "state, `metric` one of GetMetricData, `datasync_gb` and `datasync_task` Enhanced mode.\n"
    for name, price in PRICES.items():
        figure = f"{price.dollars:.10f}".rstrip("0")
        yield f"- `{name}`: {figure}"


if __name__ == "__main__":
    PAGE.write_text(document(), encoding="utf-8")
