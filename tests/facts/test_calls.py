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


def test_a_call_is_one_that_the_model_takes() -> None:
    """Where two services have an operation of that name, one of them has to take the call."""
    found = [(called, problems_of(called)) for called in calls()]
    assert len(found) > 50, FOLDERS
    assert [f"{called.place}: {problems}" for called, problems in found if all(problems.values())] == []


def problems_of(called: Called) -> dict[str, list[str]]:
    """What each service that has the operation does not take of a call."""
    found = {}
    for service, operation in called.found:
        shape = operation.input_shape
        if shape is None:
            found[service] = [f"{called.name} takes nothing"] if called.parameters else []
        else:
            found[service] = [f"{one}; {line(service, shape)}" for one in wrong(shape, called.parameters, called.name)]
    return found


def test_a_paginator_is_there() -> None:
    known = {name for service in SERVICES for name in paginated(service)}
    found = list(paginators())
    assert found
    assert [f"{place}: {name}" for place, name in found if name not in known] == []


def test_a_caught_error_is_one_that_a_model_knows() -> None:
    known = COMMON | STATUSES | {one for service in SERVICES for one in known_errors(service)}
    found = [*named_errors(), *compared_codes()]
    assert found
    unknown = [one for one in found if one[1] not in known and not hasattr(botocore.exceptions, one[1])]
    assert [f"{place}: no model has {name}" for place, name in unknown] == []


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
