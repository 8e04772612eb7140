"""The region of a bucket, as the answer to an unsigned head says it, or does not."""

from __future__ import annotations

import pytest

from fanout.adapters.aws.endpoint import Endpoint
from fanout.adapters.s3.client.reach import region_of
from fanout.model.errors import Transient
from tests.contract.scripted_server import ScriptedServer, answer

TOLD = "x-amz-bucket-region: eu-west-1"


@pytest.mark.parametrize("status", [200, 301, 400, 403, 503])
def test_every_answer_that_names_the_region_tells_it(server: ScriptedServer, status: int) -> None:
    server.script = [answer(status, b"", TOLD)]
    assert region_of(Endpoint("us-east-1", server.url), "bucket") == "eu-west-1"


@pytest.mark.parametrize("status", [200, 403, 404])
def test_an_s3_that_names_none_has_none(server: ScriptedServer, status: int) -> None:
    server.script = [answer(status, b"")]
    assert region_of(Endpoint("us-east-1", server.url), "bucket") == ""


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
def test_an_s3_that_has_no_time_to_say_is_asked_again(server: ScriptedServer, status: int) -> None:
    server.script = [answer(status, b"")] * 2
    with pytest.raises(Transient, match=f"s3://bucket: {status}"):
        region_of(Endpoint("us-east-1", server.url), "bucket")
