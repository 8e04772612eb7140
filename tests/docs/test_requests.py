"""Every request that the documents show is one that the product accepts, and every list of parameters deploys."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator

import pytest

from fanout.request.parse import parse_request
from tests.docs.pages import DOCUMENTS, name
from tests.template.test_rules import refused

JSON = re.compile(r"^```json\n(\{\"source\".*?)\n```", re.MULTILINE | re.DOTALL)
ECHO = re.compile(r"^echo '(\{.*\})' > \S+\.json$", re.MULTILINE)
DEPLOY = re.compile(r"^(?:\S+/)?sam deploy --parameter-overrides (.*)$", re.MULTILINE)
TOML = re.compile(r"^```toml\n(.*?)^```", re.MULTILINE | re.DOTALL)
MOUNTS = ("data", "archive")


def parameters() -> Iterator[tuple[str, dict[str, str]]]:
    """The parameters of each deployment that a document shows, in a block of TOML or as a command."""
    for document in DOCUMENTS:
        text = document.read_text(encoding="utf-8")
        blocks = map(tomllib.loads, TOML.findall(text))
        lists = [block["parameter_overrides"] for block in blocks if "parameter_overrides" in block]
        for given in [*lists, *map(str.split, DEPLOY.findall(text))]:
            parts = (one.partition("=") for one in given)
            yield name(document), {key: value.strip().strip("'") for key, _, value in parts}


def requests() -> Iterator[tuple[str, str]]:
    """The requests of all documents, each with its document."""
    for document in DOCUMENTS:
        text = document.read_text(encoding="utf-8")
        yield from ((name(document), found) for found in [*JSON.findall(text), *ECHO.findall(text)])
    for shown, given in parameters():
        yield from ((shown, value) for key, value in given.items() if key in ("ScheduleRequest", "EventRequest"))


@pytest.mark.parametrize(("document", "request_text"), requests())
def test_a_request_is_accepted(document: str, request_text: str) -> None:
    request = parse_request(json.loads(request_text), MOUNTS, 100)
    assert request.source != request.destination


@pytest.mark.parametrize(("document", "given"), parameters())
def test_parameters_are_accepted(document: str, given: dict[str, str]) -> None:
    assert given
    assert refused(given) == []


def test_there_are_some_of_each() -> None:
    shown = {document for document, _ in parameters()}
    assert {"docs/start/deploy-existing.md", "docs/how-to/nightly-sync.md", "docs/how-to/s3-events.md"} <= shown
    assert len(list(requests())) > 10
