"""Every request of our own client of S3, header by header, against the model of its operation."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from fanout.adapters.aws.endpoint import Endpoint
from fanout.adapters.s3.client.bucket_headers import headers_of_buckets
from fanout.adapters.s3.client.client import S3Client
from fanout.adapters.s3.client.responses import Part
from fanout.adapters.s3.conditions import Condition
from fanout.adapters.s3.metadata import to_headers, write_headers
from fanout.adapters.s3.object_archive import restore_object
from fanout.model.entry import NOTHING_THERE, Attributes
from fanout.request.object_options import ObjectOptions
from fanout.request.parts.bucket_options import BucketOptions
from tests.facts.models import REPO
from tests.facts.strict import wrong_request

CLIENT = REPO / "layers/core/src/fanout/adapters/s3/client"
OWNED = BucketOptions(requester_pays=True, expected_owner="111122223333")
OPTIONS = ObjectOptions("GLACIER", "alias/key", tags={"a": "b"}, metadata={"c": "d"}, acl="bucket-owner-full-control")
KEPT = {
    **dict.fromkeys(("content-type", "cache-control", "content-encoding", "content-disposition"), "x"),
    **dict.fromkeys(("content-language", "expires", "x-amz-meta-own"), "x"),
}
WRITTEN = {**to_headers(Attributes(0o100644, 1, 2, 3, 4, headers=KEPT)), **write_headers(OPTIONS)}
REPLACED = {"x-amz-metadata-directive": "REPLACE", "x-amz-tagging-directive": "REPLACE"}
CONDITIONS = [Condition("etag").headers, Condition(NOTHING_THERE).headers]
ENDS = ("bucket", "key", "other", "source")


class _Asked(Exception):
    """A request as it would have been sent."""


REQUESTS: dict[str, Callable[[S3Client], Any]] = {
    "head bucket": lambda s3: s3.head_bucket("bucket"),
    "list": lambda s3: s3.list_objects_v2("bucket", prefix="p", start_after="s", continuation="c", delimiter="/"),
    "time": lambda s3: s3.time_ns("bucket", "p"),
    "uploads": lambda s3: s3.list_multipart_uploads("bucket", prefix="p"),
    "ownership": lambda s3: s3.get_bucket_ownership_controls("bucket"),
    "get": lambda s3: s3.get_object("bucket", "key", if_match="e", byte_range=(0, 1)),
    "head": lambda s3: s3.head_object("bucket", "key", if_match="e"),
    "put if match": lambda s3: s3.put_object("bucket", "key", b"", {**WRITTEN, **CONDITIONS[0]}, crc64nvme=1),
    "put if none": lambda s3: s3.put_object("bucket", "key", b"", {**WRITTEN, **CONDITIONS[1]}, crc64nvme=1),
    "copy": lambda s3: s3.copy_object(*ENDS, {**WRITTEN, **REPLACED}, source_if_match="e"),
    "copy if match": lambda s3: s3.copy_object(*ENDS, CONDITIONS[0]),
    "copy if none": lambda s3: s3.copy_object(*ENDS, CONDITIONS[1]),
    "tags": lambda s3: s3.get_object_tagging("bucket", "key"),
    "restore": lambda s3: restore_object(s3, "bucket", "key", "", version="v"),
    "delete": lambda s3: s3.delete_object("bucket", "key", if_match="e"),
    "delete many": lambda s3: s3.delete_objects("bucket", ["key"], {"key": "e"}),
    "create": lambda s3: s3.create_multipart_upload("bucket", "key", WRITTEN),
    "part": lambda s3: s3.upload_part("bucket", "key", "u", 1, b"", 1),
    "part copied": lambda s3: s3.upload_part_copy(
        "bucket", "key", "u", 1, "other", "source", byte_range=(0, 1), source_if_match="e"
    ),
    "parts": lambda s3: s3.list_parts("bucket", "key", "u"),
    "complete if match": lambda s3: s3.complete_multipart_upload(
        "bucket", "key", "u", [Part(1, "e", "c")], CONDITIONS[0], crc64nvme=1, size=1
    ),
    "complete if none": lambda s3: s3.complete_multipart_upload(
        "bucket", "key", "u", [Part(1, "e", "c")], CONDITIONS[1], crc64nvme=1, size=1
    ),
    "abort": lambda s3: s3.abort_multipart_upload("bucket", "key", "u"),
}


def asked(monkeypatch: pytest.MonkeyPatch, what: str) -> tuple[str, str, list[tuple[str, str]], dict[str, str]]:
    """The operation, method, query and headers of a request, with those of its buckets."""
    client = S3Client(Endpoint("us-east-1")).for_buckets(headers_of_buckets({"bucket": OWNED, "other": OWNED}))

    def request(
        operation: str,
        method: str,
        bucket: str,
        key: str = "",
        *,
        query: Any = (),
        headers: Mapping[str, str] | None = None,
        **ignored: Any,
    ) -> Any:
        raise _Asked(operation, method, list(query), {**(headers or {}), **client._of_buckets[bucket]})

    monkeypatch.setattr(client, "request", request)
    with pytest.raises(_Asked) as found:
        REQUESTS[what](client)
    return found.value.args


@pytest.mark.parametrize("what", REQUESTS)
def test_a_request_is_one_that_the_model_takes(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert wrong_request(*asked(monkeypatch, what)) == []


def test_every_operation_of_the_client_is_among_them(monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = [node for path in CLIENT.parent.rglob("*.py") for node in ast.walk(ast.parse(path.read_text()))]
    calls = [
        node for node in nodes if isinstance(node, ast.Call) and getattr(node.func, "attr", "") in ("call", "request")
    ]
    named = {node.args[0].value for node in calls if node.args and isinstance(node.args[0], ast.Constant)}
    assert {asked(monkeypatch, what)[0] for what in REQUESTS} == named


def test_a_header_that_the_model_does_not_have_is_found() -> None:
    assert wrong_request("HeadObject", "GET", [("x", "")], {"x-amz-acl": "private", "x-amz-checksum-mode": "ON"}) != []
    assert len(wrong_request("HeadObject", "GET", [("x", "")], {"x-amz-acl": "private"})) == 3
    [said] = wrong_request("PutObject", "PUT", [], {"x-amz-storage-class": "COLD"})
    assert "COLD" in said
