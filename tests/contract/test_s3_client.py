"""The S3 client against a server: names, conditions, checksums, multipart, listings, the work store."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fanout.adapters.aws.credentials import Credentials
from fanout.adapters.aws.endpoint import Endpoint
from fanout.adapters.s3.client.client import S3Client
from fanout.adapters.s3.place import is_one_bucket
from fanout.adapters.s3.work_store import S3WorkStore
from fanout.model.checksum import combine, crc64nvme, to_base64
from fanout.model.errors import InvalidRequest, NotFound, PreconditionFailed
from fanout.ports.store import WorkStore
from tests.contract.conftest import REGION, Needs, new_bucket
from tests.support.s3_servers import KEY, Lack, S3Server

PART_BYTES = 5 * 1024 * 1024
PATH_KEYS = ("plain", "a+b c", "100%", "%2F", "~t", "ünï/漢字/🙂", "?#&=;:@!$'()*,", "x" * 200)
HOSTILE_KEYS = ("../x", "/abs", "a//b", "a/./b", "a/../b", "dir/", "tab\there", "\x01\x7f", "<&>\"'")
UNROUTED_KEYS = ("new\nline", "\r\n")


def all_keys(client: S3Client, bucket: str, start_after: str = "") -> list[str]:
    return client.list_objects_v2(bucket, start_after=start_after).keys


@pytest.mark.parametrize("key", PATH_KEYS + HOSTILE_KEYS + UNROUTED_KEYS)
def test_key_survives_put_get_head_list_copy_and_delete(client: S3Client, bucket: str, key: str, needs: Needs) -> None:
    if key in UNROUTED_KEYS:
        needs(Lack.NEWLINES_IN_KEYS)
    if key in HOSTILE_KEYS:
        needs(Lack.HOSTILE_KEYS)
    body = key.encode()
    etag = client.put_object(bucket, key, body, crc64nvme=crc64nvme(body))
    assert client.get_object(bucket, key, if_match=etag).body == body
    assert client.head_object(bucket, key).total_bytes == len(body)
    assert all_keys(client, bucket) == [key]
    assert client.copy_object(bucket, "copy", bucket, key, source_if_match=etag).etag == etag
    client.delete_object(bucket, "copy")
    assert client.delete_objects(bucket, [key]) == {}
    assert all_keys(client, bucket) == []


def test_headers_and_metadata_come_back(client: S3Client, bucket: str) -> None:
    headers = {"content-type": "text/x", "cache-control": "no-store", "x-amz-meta-a": "1", "content-encoding": "gzip"}
    client.put_object(bucket, "key", b"not gzip", headers)
    response = client.get_object(bucket, "key")
    assert response.body == b"not gzip"
    assert headers.items() <= response.headers.items()


def test_range_comes_with_the_size_of_the_whole(client: S3Client, bucket: str) -> None:
    client.put_object(bucket, "key", b"0123456789")
    response = client.get_object(bucket, "key", byte_range=(2, 4))
    assert (response.status, response.body, response.total_bytes) == (206, b"234", 10)


def test_conditions_that_do_not_hold(client: S3Client, bucket: str) -> None:
    client.put_object(bucket, "key", b"old")
    with pytest.raises(PreconditionFailed):
        client.put_object(bucket, "key", b"new", {"if-none-match": "*"})
    with pytest.raises(PreconditionFailed):
        client.get_object(bucket, "key", if_match='"other"')
    with pytest.raises(PreconditionFailed):
        client.head_object(bucket, "key", if_match='"other"')
    assert client.get_object(bucket, "key").body == b"old"


def test_copy_is_pinned_to_its_source(client: S3Client, bucket: str, needs: Needs) -> None:
    needs(Lack.COPY_CONDITIONS)
    client.put_object(bucket, "key", b"old")
    with pytest.raises(PreconditionFailed):
        client.copy_object(bucket, "copy", bucket, "key", source_if_match='"other"')


def test_what_is_missing(client: S3Client, bucket: str) -> None:
    for call in (client.get_object, client.head_object):
        with pytest.raises(NotFound):
            call(bucket, "missing")
    client.delete_object(bucket, "missing")
    with pytest.raises(InvalidRequest, match="no-such-bucket does not exist"):
        client.head_bucket("no-such-bucket")
    with pytest.raises(InvalidRequest, match="no-such-bucket does not exist"):
        client.list_objects_v2("no-such-bucket")
    with pytest.raises(InvalidRequest, match="not a bucket name"):
        client.head_bucket("no such/bucket")


def test_multipart_upload_with_the_checksum_of_the_whole(client: S3Client, bucket: str) -> None:
    parts = [b"a" * PART_BYTES, b"tail"]
    upload_id = client.create_multipart_upload(bucket, "key", {"x-amz-meta-a": "1"})
    assert [upload.key for upload in client.list_multipart_uploads(bucket, prefix="k")] == ["key"]
    done = [
        client.upload_part(bucket, "key", upload_id, number, part, crc64nvme(part))
        for number, part in enumerate(parts, start=1)
    ]
    listed = client.list_parts(bucket, "key", upload_id)
    assert listed == [part.etag for part in done]
    assert all_keys(client, bucket) == []
    whole = combine(crc64nvme(parts[0]), crc64nvme(parts[1]), len(parts[1]))
    size = sum(map(len, parts))
    etag = client.complete_multipart_upload(bucket, "key", upload_id, done, crc64nvme=whole, size=size).etag
    response = client.get_object(bucket, "key", if_match=etag)
    assert response.body == b"".join(parts)
    assert response.headers["x-amz-meta-a"] == "1"
    assert response.headers["x-amz-checksum-crc64nvme"] == to_base64(whole)
    assert response.headers["x-amz-checksum-type"] == "FULL_OBJECT"


def test_multipart_upload_from_ranges_of_another_object(client: S3Client, bucket: str, needs: Needs) -> None:
    needs(Lack.COPIED_RANGE_CHECKSUMS)
    body = b"b" * PART_BYTES + b"tail"
    etag = client.put_object(bucket, "source", body)
    upload_id = client.create_multipart_upload(bucket, "key")
    ranges = [(0, PART_BYTES - 1), (PART_BYTES, len(body) - 1)]
    parts = [
        client.upload_part_copy(
            bucket, "key", upload_id, number, bucket, "source", byte_range=byte_range, source_if_match=etag
        )
        for number, byte_range in enumerate(ranges, start=1)
    ]
    client.complete_multipart_upload(bucket, "key", upload_id, parts, crc64nvme=crc64nvme(body), size=len(body))
    assert client.get_object(bucket, "key").body == body


def test_aborted_upload_is_gone(client: S3Client, bucket: str) -> None:
    upload_id = client.create_multipart_upload(bucket, "key")
    client.abort_multipart_upload(bucket, "key", upload_id)
    assert client.list_multipart_uploads(bucket) == []
    with pytest.raises(NotFound):
        client.list_parts(bucket, "key", upload_id)


def test_listing_pages_prefixes_and_bounds(client: S3Client, bucket: str) -> None:
    for key in ("a/1", "a/2", "b +%/é", "c"):
        client.put_object(bucket, key, b"x")
    first = client.list_objects_v2(bucket, max_keys=3)
    assert first.truncated
    second = client.list_objects_v2(bucket, continuation=first.continuation)
    assert first.keys + second.keys == ["a/1", "a/2", "b +%/é", "c"]
    assert all_keys(client, bucket, start_after="a/2") == ["b +%/é", "c"]
    page = client.list_objects_v2(bucket, delimiter="/")
    assert (page.common_prefixes, page.keys) == (["a/", "b +%/"], ["c"])


def test_work_store(client: S3Client, make_bucket: Callable[[], str]) -> None:
    store: WorkStore = S3WorkStore(client, make_bucket())
    store.put("runs/1/plan.json", b"old")
    store.put("runs/1/plan.json", b"new")
    store.put("runs/10/plan.json", b"other")
    assert store.get("runs/1/plan.json") == b"new"
    assert list(store.list("runs/1/")) == ["runs/1/plan.json"]
    assert list(store.list("")) == ["runs/1/plan.json", "runs/10/plan.json"]
    store.remove(["runs/1/plan.json", "runs/2/not-there"])
    assert list(store.list("")) == ["runs/10/plan.json"]
    with pytest.raises(NotFound):
        store.get("runs/2/plan.json")


class _WithAlias(S3Client):
    """A client for which another name leads to a bucket, as the alias of an access point does."""

    alias: tuple[str, str]

    def request(self, operation: str, method: str, bucket: str, key: str = "", **more: Any) -> Any:
        return super().request(operation, method, bucket.replace(*self.alias), key, **more)


def test_one_bucket_under_two_names_is_told_from_two_buckets(
    client: S3Client, bucket: str, s3_server: S3Server
) -> None:
    other = new_bucket(client)
    assert not is_one_bucket(client, bucket, other, "p/mark")
    aliased = _WithAlias(Endpoint(REGION, s3_server.url), lambda: Credentials(KEY, KEY))
    aliased.alias = ("an-s3alias", bucket)
    assert is_one_bucket(aliased, bucket, "an-s3alias", "p/mark")
    assert is_one_bucket(aliased, "an-s3alias", bucket, "p/mark")
    assert client.list_multipart_uploads(bucket) == []
    assert client.list_multipart_uploads(other) == []
    with pytest.raises(InvalidRequest, match="does not exist"):
        is_one_bucket(client, bucket, "no-such-bucket-anywhere", "p/mark")
    assert client.list_multipart_uploads(bucket) == []
