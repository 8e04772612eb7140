"""Moto's interpreter in less time: what it makes anew each time is made once, and nobody asks whether it has ended."""

from __future__ import annotations

import functools
from types import SimpleNamespace
from typing import Any

import boto3  # type: ignore[import-untyped,unused-ignore]
import pytest
from jsonpath_ng import parser as plain_parser
from jsonpath_ng.ext import parser
from moto.stepfunctions.parser.asl.component.common.path import result_path
from moto.stepfunctions.parser.asl.parse.asl_parser import AmazonStateLanguageParser
from moto.stepfunctions.parser.asl.utils import boto_client, json_path
from moto.stepfunctions.parser.backend.execution_worker import ExecutionWorker

# What it parses into holds nothing of an execution: a definition is parsed twice for each, a path at each use.
DEFINITIONS = functools.cache(AmazonStateLanguageParser.parse)
PATHS, RESULT_PATHS = functools.cache(parser.parse), functools.cache(plain_parser.parse)


def keep(monkeypatch: pytest.MonkeyPatch) -> None:
    """Text is parsed once for all tests, and each test has a client of each service; an execution starts and ends."""
    made: dict[str, Any] = {}
    make: Any = boto3.client

    def client(*, service_name: str, **given: Any) -> Any:
        if service_name not in made:
            made[service_name] = make(service_name=service_name, **given)
        return made[service_name]

    monkeypatch.setattr(AmazonStateLanguageParser, "parse", staticmethod(DEFINITIONS))
    monkeypatch.setattr(json_path, "parse", PATHS)
    monkeypatch.setattr(result_path, "parse", RESULT_PATHS)
    monkeypatch.setattr(boto_client, "boto3", SimpleNamespace(client=client))
    monkeypatch.setattr(ExecutionWorker, "start", ExecutionWorker._execution_logic)
