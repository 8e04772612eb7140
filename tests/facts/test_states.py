"""The errors that states retry and catch are those that Lambda's Invoke has, or that Step Functions makes itself."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.facts.models import REPO, line, model

MACHINES = sorted((REPO / "statemachine").glob("*.asl.json"))
# step-functions/latest/dg/connect-lambda.html and concepts-error-handling.html: made by Step Functions itself.
OF_STEP_FUNCTIONS = {
    *("Lambda.AWSLambdaException", "Lambda.ClientExecutionTimeoutException", "Lambda.SdkClientException"),
    "Lambda.Unknown",
}
# What a repetition does not cure, because the stack itself is wrong: a run that meets it fails at once.
LASTING = {
    *("EC2AccessDeniedException", "InvalidParameterValueException"),
    *("InvalidRequestContentException", "InvalidRuntimeException", "InvalidSecurityGroupIDException"),
    *("InvalidSubnetIDException", "InvalidZipFileException", "KMSAccessDeniedException", "KMSDisabledException"),
    *("KMSInvalidStateException", "KMSNotFoundException", "RequestTooLargeException", "ResourceNotFoundException"),
    *("UnsupportedMediaTypeException", "ServiceQuotaExceededException"),
    *("EFSMountFailureException", "S3FilesMountFailureException", "SerializedRequestEntityTooLargeException"),
}
# Of what the stack's functions are not: images, SnapStart, durable or managed ones, runtimes pinned by hand.
OF_OTHERS = {
    *("CodeArtifactUserDeletedException", "CodeArtifactUserFailedException", "CodeArtifactUserPendingException"),
    *("DurableExecutionAlreadyStartedException", "ModeNotSupportedException", "NoPublishedVersionException"),
    *("RecursiveInvocationException", "RuntimeAliasDeletedException", "RuntimeVersionDeletedException"),
    *("SnapStartException", "SnapStartNotReadyException", "SnapStartRegenerationFailureException"),
    "SnapStartTimeoutException",
}


def named(value: Any) -> Iterator[str]:
    """Every error that a definition retries or catches."""
    for one in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from named(one)
    if isinstance(value, dict):
        yield from value.get("ErrorEquals", ())


@pytest.mark.parametrize("path", MACHINES, ids=lambda path: path.name)
def test_an_error_of_lambda_is_one_that_invoke_has(path: Any) -> None:
    known = {f"Lambda.{shape.name}" for shape in model("lambda").operation_model("Invoke").error_shapes}
    found = {name for name in named(json.loads(path.read_text())) if name.startswith("Lambda.")}
    assert found - known == OF_STEP_FUNCTIONS


def test_every_error_that_invoke_has_is_retried_or_known_to_last() -> None:
    """A new one is to be decided: what a repetition may cure is in statemachine/retries.yaml."""
    retried = {
        name.removeprefix("Lambda.")
        for path in MACHINES
        for name in named(json.loads(path.read_text()))
        if name.startswith("Lambda.")
    }
    shapes = {shape.name: shape for shape in model("lambda").operation_model("Invoke").error_shapes}
    undecided = [line("lambda", shapes[name]) for name in shapes.keys() - retried - LASTING - OF_OTHERS]
    assert undecided == []
    assert not retried & (LASTING | OF_OTHERS)
