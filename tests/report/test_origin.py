"""Where a run took place, by the ARN of its execution, and the links to the console of its partition."""

from __future__ import annotations

import html
import re
from collections.abc import Callable

import pytest

from fanout import __version__
from fanout.report.origin import OriginFacts, place_of
from fanout.request.plan import Origin
from tests.support import runs
from tests.support.flow import World
from tests.template.templates import of_type, resources


def origin(partition: str = "aws", region: str = "eu-west-1", machine: str = "prod-transfer") -> Origin:
    return Origin(f"arn:{partition}:states:{region}:123456789012:execution:{machine}:nightly-1", "work", "1.2.3")


@pytest.mark.parametrize(
    ("partition", "region", "domain"),
    [
        ("aws", "eu-west-1", "console.aws.amazon.com"),
        ("aws-cn", "cn-north-1", "console.amazonaws.cn"),
        ("aws-us-gov", "us-gov-west-1", "console.amazonaws-us-gov.com"),
    ],
)
def test_the_links_are_those_of_the_partition_s_console(partition: str, region: str, domain: str) -> None:
    place = place_of(origin(partition, region))
    assert place.facts == {"stack": "prod", "account": "123456789012", "region": region, "version": "1.2.3"}
    arn = f"arn:{partition}:states:{region}:123456789012:execution:prod-transfer:nightly-1"
    groups = "$3FlogGroupNameFilter$3D$252Ffanout$252Fprod$252F"
    assert place.option == f"--stack prod --region {region}"
    assert {link.text: link.url for link in place.links} == {
        "execution": f"https://{region}.{domain}/states/home?region={region}#/v2/executions/details/{arn}",
        "logs": f"https://{region}.{domain}/cloudwatch/home?region={region}#logsV2:log-groups{groups}",
        "ledger": f"https://{region}.{domain}/s3/buckets/work?region={region}&prefix=runs/nightly-1/",
    }


def test_a_partition_whose_console_is_not_known_has_facts_alone() -> None:
    place = place_of(origin("aws-iso", "us-iso-east-1"))
    assert (place.facts["account"], place.links) == ("123456789012", [])


def test_a_state_machine_of_another_name_is_no_stack_and_has_no_logs() -> None:
    place = place_of(origin(machine="mine"))
    assert "stack" not in place.facts and place.facts["state machine"] == "mine"
    assert [link.text for link in place.links] == ["execution", "ledger"]


@pytest.mark.parametrize(
    "execution",
    [
        "",
        "run-1",
        "arn:aws:states:us-east-1:123456789012:execution:a-transfer:x/../y",
        "arn:aws:states:evil.example/:123456789012:execution:a-transfer:x",
        'arn:aws:states:us-east-1:123456789012:execution:a-transfer:"><script>',
    ],
)
def test_what_is_no_arn_of_an_execution_has_a_version_and_no_link(execution: str) -> None:
    assert place_of(Origin(execution, "work", "1.2.3")) == OriginFacts({"version": "1.2.3"}, [])
    assert place_of(Origin(execution)) == OriginFacts({}, [])


def test_a_run_on_the_emulator_is_local_and_has_no_link() -> None:
    execution = "arn:aws:states:us-east-1:000000000000:execution:fanout-transfer:run-1"
    assert place_of(Origin(execution, "work", "1.2.3")) == OriginFacts(
        {"stack": "local", "version": "1.2.3"}, [], "--local"
    )


def test_stack_and_log_groups_are_named_as_the_template_names_them() -> None:
    machine = resources()["TransferStateMachine"]["Properties"]["Name"]
    assert machine == {"Fn::Sub": "${AWS::StackName}-transfer"}
    names = [one["Properties"]["LogGroupName"]["Fn::Sub"] for one in of_type("AWS::Logs::LogGroup").values()]
    functions = [name for name in names if not name.startswith("/aws/vendedlogs/states/")]
    assert len(functions) > 10
    assert all(re.match(r"/fanout/\$\{(AWS::StackName|Name)\}/", name) for name in functions)


@pytest.mark.parametrize("run", [runs.succeeded, runs.skipped])
def test_the_page_names_the_place_and_links_to_it(run: Callable[[], World]) -> None:
    world = run()
    head = world.store.get(f"{world.ledger.prefix}report.html").decode().split("</header>")[0]
    assert all(f"<bdi>{text}</bdi>" in head for text in ("prod", "123456789012", "eu-west-1", __version__))
    links = [html.unescape(url) for url in re.findall(r'<a href="(https[^"]+)" rel="noreferrer">', head)]
    made = place_of(Origin(world.execution, "work")).links
    assert links == [link.url for link in made] and len(made) == 3


def test_the_head_of_a_run_without_an_arn_has_no_link() -> None:
    world = World()
    world.run()
    head = world.store.get(f"{world.ledger.prefix}report.html").decode().split("</header>")[0]
    assert "https://" not in head and __version__ in head


def test_the_summary_holds_execution_bucket_and_version() -> None:
    summary = runs.succeeded().ledger.read_json("summary.json")
    assert summary["origin"] == {"execution": f"{runs.EXECUTIONS}:run-1", "bucket": "work", "version": __version__}
