"""Every request that a test makes is held against the service's model: boto3's, and those of our client of S3."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any
from urllib.parse import parse_qsl

import pytest
from botocore.validate import ParamValidator, ValidationErrors

from fanout.adapters.s3.client.bucket_headers import PAYER
from fanout.adapters.s3.client.requests import S3Requests
from fanout.request.object_options import USER_PREFIX
from tests.facts.models import input_of, line, model, wrong

# Headers that no member of an operation stands for. HTTP's own, and those that every request may carry
# (docs.aws.amazon.com/AmazonS3/latest/userguide/ObjectsinRequesterPaysBuckets.html: of GET, HEAD, POST, PUT, DELETE).
EVERYWHERE = frozenset({"content-type", PAYER})
# The checksum of a body, whose algorithm the model names in `httpChecksum`.
CHECKSUM = "x-amz-checksum-"


def wrong_request(
    operation: str, method: str, query: Iterable[tuple[str, str]], headers: Mapping[str, str]
) -> list[str]:
    """What the model of S3 says against a request."""
    asked = frozenset((name, value if name in _of_words(operation) else "") for name, value in headers.items())
    return list(_wrong_request(operation, method, frozenset(name for name, _ in query), asked))


@cache
def _wrong_request(
    operation: str, method: str, query: frozenset[str], headers: frozenset[tuple[str, str]]
) -> tuple[str, ...]:
    found = model("s3").operation_model(operation)
    path = found.http["requestUri"].partition("?")[2]
    fixed = {name for name, _ in parse_qsl(path, keep_blank_values=True)}
    names = {where: _located(operation, where) for where in ("header", "querystring")}
    said = [f"{operation} is {found.http['method']}, not {method}"] if found.http["method"] != method else []
    said += [f"{operation} has no {name} in its query" for name in query - fixed - names["querystring"].keys()]
    said += [f"{operation} is asked without {name}" for name in fixed - query]
    for name, value in headers:
        shape = names["header"].get(name)
        if shape is not None:
            said += wrong(shape, value, name) if value else []
        elif not _is_free(operation, name):
            said.append(f"{operation} has no header {name}; {line('s3', input_of('s3', operation))}")
    return tuple(said)


def _is_free(operation: str, name: str) -> bool:
    found = model("s3").operation_model(operation)
    metadata = "Metadata" in input_of("s3", operation).members
    checks = bool(found.http_checksum.get("requestAlgorithmMember"))
    return name in EVERYWHERE or (metadata and name.startswith(USER_PREFIX)) or (checks and name.startswith(CHECKSUM))


@cache
def _located(operation: str, where: str) -> dict[str, Any]:
    members = input_of("s3", operation).members.items()
    found = {one.serialization.get("name", name): one for name, one in members if _place(one) == where}
    return {name.lower(): one for name, one in found.items()} if where == "header" else found


def _place(shape: Any) -> str:
    return str(shape.serialization.get("location", ""))


@cache
def _of_words(operation: str) -> frozenset[str]:
    """The headers whose values are words of a list."""
    return frozenset(name for name, one in _located(operation, "header").items() if getattr(one, "enum", None))


@contextmanager
def held_to_the_models() -> Iterator[None]:
    """Raises at every request that a model does not take."""
    request, validate = S3Requests.request, ParamValidator.validate

    def requesting(self: S3Requests, operation: str, method: str, *place: str, **given: Any) -> Any:
        said = wrong_request(operation, method, given.get("query", ()), given.get("headers", {}))
        assert not said, said
        return request(self, operation, method, *place, **given)

    def validating(self: ParamValidator, params: Any, shape: Any) -> ValidationErrors:
        said = list(wrong(shape, params, shape.name))
        assert not said, said
        found: ValidationErrors = validate(self, params, shape)
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(S3Requests, "request", requesting)
        patch.setattr(ParamValidator, "validate", validating)
        yield
