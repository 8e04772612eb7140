"""Every call of boto3 that a source makes is one that the service's model knows, with parameters that it takes."""

from __future__ import annotations

import re

import botocore.exceptions
import pytest

from fanout.adapters.aws import control_plane
from fanout_cli import command_error
from fanout_cli.progress import map_runs
from tests.facts.calls import (
    FOLDERS,
    SERVICES,
    Called,
    calls,
    compared_codes,
    known_errors,
    named_errors,
    paginated,
    paginators,
    sources,
)
from tests.facts.models import line, model, wrong

CALLS = list(calls())
# What each service may answer beside the errors of its operations: the page CommonErrors of its API reference, and for
# S3 and EC2 the page of error codes.
COMMON = {
    *("AccessDenied", "AccessDeniedException", "ExpiredToken", "ExpiredTokenException", "InvalidClientTokenId"),
    *(
        "InvalidSignatureException",
        "RequestLimitExceeded",
        "Throttling",
        "ThrottlingException",
        "UnauthorizedOperation",
    ),
    *("UnrecognizedClientException", "ValidationError", "ValidationException"),
    *("NoSuchLifecycleConfiguration", "ServerSideEncryptionConfigurationNotFoundError"),
}
# A HEAD has no body: botocore gives its status for a code.
STATUSES = {"403", "404"}


def test_every_service_of_a_client_is_looked_at() -> None:
    made = {name for path in sources() for name in re.findall(r"client\(\"([a-z-]+)\"", path.read_text())}
    assert made <= set(SERVICES)
    assert len(CALLS) > 50, FOLDERS


@pytest.mark.parametrize("called", CALLS, ids=lambda called: f"{called.place}-{called.name}")
def test_a_call_is_one_that_the_model_takes(called: Called) -> None:
    """Where two services have an operation of that name, one of them has to take the call."""
    found = {}
    for service, operation in called.found:
        shape = operation.input_shape
        if shape is None:
            found[service] = [f"{called.name} takes nothing"] if called.parameters else []
        else:
            found[service] = [f"{one}; {line(service, shape)}" for one in wrong(shape, called.parameters, called.name)]
    assert not all(found.values()), f"{called.place}: {found}"


@pytest.mark.parametrize(("place", "name"), list(paginators()))
def test_a_paginator_is_there(place: str, name: str) -> None:
    assert [service for service in SERVICES if name in paginated(service)], place


@pytest.mark.parametrize(("place", "name"), [*named_errors(), *compared_codes()])
def test_a_caught_error_is_one_that_a_model_knows(place: str, name: str) -> None:
    known = COMMON | STATUSES | {one for service in SERVICES for one in known_errors(service)}
    assert name in known or hasattr(botocore.exceptions, name), f"{place}: no model has {name}"


@pytest.mark.parametrize(
    ("names", "services"),
    [
        (control_plane._THROTTLED, ("stepfunctions", "lambda", "efs", "kms", "cloudwatch")),
        (control_plane._ABSENT, ("stepfunctions", "lambda", "efs")),
        (control_plane._DENIED, ("stepfunctions", "lambda", "efs", "kms", "cloudwatch")),
        (map_runs._THROTTLED, ("stepfunctions", "lambda")),
        (command_error._EXPIRED, ()),
        (command_error._DENIED, ()),
    ],
)
def test_a_table_of_errors_names_those_of_the_services_that_it_is_for(
    names: tuple[str, ...], services: tuple[str, ...]
) -> None:
    known = COMMON | STATUSES | {name for service in services for name in known_errors(service)}
    assert set(names) <= known, [model(service).service_name for service in services]
