"""Where a run took place: stack, account and region, by its execution's ARN, and links to the console of AWS."""

from __future__ import annotations

import re
from urllib.parse import quote, urlencode

from msgspec import Struct

from fanout.ledger.run_places import run_prefix
from fanout.request.plan import Origin

# The names of state machine and log groups are those of template.yaml.
_EXECUTION = re.compile(r"arn:(aws[a-z-]*):states:([a-z0-9-]+):([0-9]{12}):execution:([A-Za-z0-9_-]+):([A-Za-z0-9_-]+)")
_OF_STACK = "-transfer"
# The emulator's; AWS gives it to nobody.
_LOCAL_ACCOUNT = "000000000000"
# The console of each partition; the region comes before it.
_CONSOLES = {
    "aws": "console.aws.amazon.com",
    "aws-cn": "console.amazonaws.cn",
    "aws-us-gov": "console.amazonaws-us-gov.com",
}


class Link(Struct, frozen=True):
    """A place in the console."""

    text: str
    url: str


class OriginFacts(Struct, frozen=True):
    """Facts about where a run took place, by their names, and links; none of a run that was not in AWS.

    ``option`` is how a command names the stack, empty where nothing is known of it.
    """

    facts: dict[str, str]
    links: list[Link]
    option: str = ""


def place_of(origin: Origin) -> OriginFacts:
    """The place of a run; a partition whose console is not known has no links."""
    found = _EXECUTION.fullmatch(origin.execution)
    version = {"version": origin.version} if origin.version else {}
    if found is None:
        return OriginFacts(version, [])
    partition, region, account, machine, run_id = found.groups()
    if account == _LOCAL_ACCOUNT:
        return OriginFacts({"stack": "local", **version}, [], "--local")
    stack = machine.removesuffix(_OF_STACK) if machine.endswith(_OF_STACK) else ""
    named = {"stack": stack} if stack else {"state machine": machine}
    facts = {**named, "account": account, "region": region, **version}
    option = f"--stack {stack} --region {region}" if stack else ""
    domain = _CONSOLES.get(partition)
    if domain is None:
        return OriginFacts(facts, [], option)
    console = f"https://{region}.{domain}"
    links = [Link("execution", f"{console}/states/home?region={region}#/v2/executions/details/{origin.execution}")]
    if stack:
        links.append(Link("logs", f"{console}/cloudwatch/home?region={region}#logsV2:log-groups{_groups(stack)}"))
    if origin.bucket:
        ledger = urlencode({"region": region, "prefix": run_prefix(run_id)}, safe="/")
        links.append(Link("ledger", f"{console}/s3/buckets/{quote(origin.bucket)}?{ledger}"))
    return OriginFacts(facts, links, option)


def _groups(stack: str) -> str:
    """The filter for the log groups of a stack: the console quotes it twice, with $ for %."""
    wanted = quote(quote(f"/fanout/{stack}/", safe=""), safe="")
    return f"$3FlogGroupNameFilter$3D{wanted.replace('%', '$')}"
