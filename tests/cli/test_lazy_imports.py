"""What a quick answer imports: neither AWS's client nor the engine."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from fanout_cli.commands.lazy_group import COMMANDS
from fanout_cli.main import app

HEAVY = {"boto3", "botocore", "awscrt", "jinja2", "pycurl", "moto", "pydantic", "rich", "croniter", "cryptography"}
# The fields of a request and the names of outcomes are what options are made of.
ENGINE = HEAVY | {"msgspec", "fanout.ledger", "fanout.model", "fanout.request"}
# typer completes by parsing, for which it makes the types of all options with pydantic.
TAB = HEAVY - {"pydantic"}
# What works on runs: no help needs it.
WORK = HEAVY | {
    "fanout.ledger",
    "fanout.adapters",
    "fanout.report",
    "fanout.forecast",
    "fanout_cli.runs",
    "fanout_cli.local.stack",
}
COMMANDS_OF = {"schedule": ("add", "list"), "certificate": ("get", "check"), "local": ("copy", "retry", "report")}
HELPS = [(name,) for name in COMMANDS] + [(name, inner) for name, found in COMMANDS_OF.items() for inner in found]
RUN = """
import atexit, json, sys
atexit.register(lambda: sys.stderr.write("\\n" + json.dumps(sorted(sys.modules))))
from fanout_cli.main import app
app(prog_name="fanout")
"""


def imported(*words: str, complete: str = "") -> tuple[str, set[str]]:
    """What the command prints, and the modules that it imported."""
    completion = {"_FANOUT_COMPLETE": "complete_bash", "COMP_WORDS": complete, "COMP_CWORD": str(complete.count(" "))}
    environment = {**os.environ, **(completion if complete else {})}
    command = [sys.executable, "-c", RUN, *words]
    ended = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    return ended.stdout, set(json.loads(ended.stderr.splitlines()[-1]))


def test_the_version_needs_neither_the_client_of_aws_nor_the_engine() -> None:
    said, modules = imported("--version")
    assert said.startswith("fanout ")
    assert not modules & ENGINE


def test_the_help_of_all_commands_makes_none_of_them() -> None:
    said, modules = imported("--help")
    assert all(name in said for name in COMMANDS)
    assert not modules & ENGINE


def test_help_and_version_may_be_typed_as_commands() -> None:
    assert imported("version")[0] == imported("--version")[0]
    assert imported("help")[0] == imported("--help")[0]
    assert imported("help", "list")[0] == imported("list", "--help")[0]


def test_an_option_before_the_command_is_told_its_place() -> None:
    ended = CliRunner().invoke(app, ["--stack", "prod", "list"])
    assert "No such option: --stack; options follow the command, as in fanout list --stack prod" in ended.stderr
    assert "did you mean --version?" in CliRunner().invoke(app, ["--verson"]).stderr


@pytest.mark.parametrize("words", HELPS, ids=" ".join)
def test_the_help_of_a_command_imports_nothing_that_does_its_work(words: tuple[str, ...]) -> None:
    said, modules = imported(*words, "--help")
    assert f"fanout {' '.join(words)}" in said
    assert not modules & WORK


def test_a_tab_after_fanout_offers_commands_and_makes_none() -> None:
    offered, modules = imported(complete="fanout st")
    assert offered.split() == ["start", "stop"]
    assert not modules & ENGINE


@pytest.mark.parametrize(
    ("words", "offers"),
    [("schedule p", ["pause"]), ("schedule r", ["resume", "run", "remove"]), ("schedule pause --re", ["--region"])],
)
def test_a_tab_after_a_command_that_has_commands_offers_those(words: str, offers: list[str]) -> None:
    offered, modules = imported(complete=f"fanout {words}")
    assert offered.split() == offers
    assert not modules & TAB


@pytest.mark.parametrize("name", COMMANDS)
def test_a_tab_after_a_command_does_not_import_the_client_of_aws(name: str) -> None:
    offered, modules = imported(complete=f"fanout {name} --")
    assert "--" in offered
    assert not modules & TAB


WORKS = """
import json, sys
import fanout_cli.runs.following, fanout_cli.runs.listed
from fanout_cli.account import new_session
from fanout_cli.local.access import Access
from fanout_cli.local.clients import Clients
Clients(Access("https://127.0.0.1:9", "none", "key", "secret")).s3
new_session().create_client("s3", region_name="eu-west-1")
print(json.dumps(sorted(sys.modules)))
"""


def test_the_clients_of_a_command_bring_nothing_that_transfers_files() -> None:
    ended = subprocess.run([sys.executable, "-c", WORKS], capture_output=True, text=True, check=True)
    assert not set(json.loads(ended.stdout)) & {"boto3", "s3transfer"}
