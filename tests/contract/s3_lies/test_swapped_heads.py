"""A HEAD that is another's shows nothing: the upload and the listing tell what became of a write.

Both ends hold the same bytes and the same metadata, so nothing in a HEAD tells whose it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from fanout.adapters.aws.credentials import Credentials
from fanout.adapters.aws.endpoint import Endpoint
from fanout.adapters.s3.client.client import S3Client
from fanout.adapters.s3.conditions import ANYTHING, Condition
from fanout.adapters.s3.place import ObjectPlace
from fanout.adapters.s3.target import MultipartTarget, PutTarget
from fanout.model.checksum import crc64nvme
from fanout.model.entry import NOTHING_THERE
from fanout.model.errors import ItemError, NotFound, Transient
from fanout.model.outcome import Reason
from tests.support import lying_s3
from tests.support.lying_s3 import LyingS3, operation_of
from tests.support.s3_servers import KEY

BODY = b"the same bytes at both ends"
CRC = crc64nvme(BODY)
CONDITIONS = {"no condition": ANYTHING, "nothing was there": Condition(NOTHING_THERE)}


@pytest.fixture
def liar(s3_url: str) -> Iterator[LyingS3]:
    made = LyingS3(s3_url)
    yield made
    made.close()


@pytest.fixture
def deceived(liar: LyingS3) -> S3Client:
    """A client whose way to S3 is the liar."""
    return S3Client(Endpoint("us-east-1", liar.url), lambda: Credentials(KEY, KEY), sleep=lambda seconds: None)


def swap_heads(liar: LyingS3, client: S3Client, bucket: str, **lies: str) -> None:
    """From now on each HEAD is answered with that of a twin, and the operations of ``lies`` with those."""
    fill_parts(client, bucket, "twin").commit(CRC)
    client.head_object(bucket, "twin")  # for the liar to tell
    told = {"HeadObject": lying_s3.ANOTHERS, **lies}
    liar.choose = lambda head: told.get(operation_of(head), "")


def fill_parts(client: S3Client, bucket: str, key: str, condition: Condition = ANYTHING) -> MultipartTarget:
    target = MultipartTarget(ObjectPlace(client, bucket, key), len(BODY), {}, condition)
    target.write(0, BODY)
    return target


def keys(client: S3Client, bucket: str) -> list[str]:
    return client.list_objects_v2(bucket).keys


@pytest.mark.parametrize("condition", CONDITIONS.values(), ids=CONDITIONS)
def test_an_upload_that_was_not_completed_is_no_copy(
    client: S3Client, deceived: S3Client, liar: LyingS3, bucket: str, condition: Condition
) -> None:
    target = fill_parts(deceived, bucket, "copy", condition)
    swap_heads(liar, deceived, bucket, CompleteMultipartUpload=lying_s3.HTML_INSIDE)
    with pytest.raises(Transient, match="CompleteMultipartUpload"):
        target.commit(CRC)
    target.abort()
    assert keys(client, bucket) == ["twin"]
    assert client.list_multipart_uploads(bucket) == []


def test_an_upload_that_was_not_completed_is_no_copy_over_its_twin(
    client: S3Client, deceived: S3Client, liar: LyingS3, bucket: str
) -> None:
    """What stands there has the same bytes; its metadata is older than that of the upload."""
    fill_parts(client, bucket, "copy").commit(CRC)
    target = MultipartTarget(ObjectPlace(deceived, bucket, "copy"), len(BODY), {"x-amz-meta-of": "today"})
    target.write(0, BODY)
    liar.choose = lying_s3.about("CompleteMultipartUpload", lying_s3.HTML_INSIDE)
    with pytest.raises(Transient, match="CompleteMultipartUpload"):
        target.commit(CRC)


def test_an_upload_that_another_aborted_is_no_copy(
    client: S3Client, deceived: S3Client, liar: LyingS3, bucket: str
) -> None:
    target = fill_parts(deceived, bucket, "copy")
    swap_heads(liar, deceived, bucket)
    [upload] = client.list_multipart_uploads(bucket)
    client.abort_multipart_upload(bucket, "copy", upload.upload_id)
    with pytest.raises((NotFound, Transient), match="CompleteMultipartUpload"):  # moto answers 500
        target.commit(CRC)
    assert keys(client, bucket) == ["twin"]


def test_an_upload_whose_completion_is_not_answered_is_a_copy(
    client: S3Client, deceived: S3Client, liar: LyingS3, bucket: str
) -> None:
    target = fill_parts(deceived, bucket, "copy")
    liar.choose = lying_s3.about("CompleteMultipartUpload", lying_s3.HTML_AFTER)
    target.commit(CRC)
    target.abort()
    assert keys(client, bucket) == ["copy"]


def put(client: S3Client, bucket: str) -> None:
    target = PutTarget(ObjectPlace(client, bucket, "copy"), len(BODY), {}, Condition(NOTHING_THERE))
    target.write(0, BODY)
    target.commit(CRC)


def complete(client: S3Client, bucket: str) -> None:
    target = fill_parts(client, bucket, "copy", Condition(NOTHING_THERE))
    try:
        target.commit(CRC)
    finally:
        target.abort()


@pytest.mark.parametrize("write", [put, complete])
def test_a_refused_write_is_no_copy_where_another_object_stands(
    client: S3Client, deceived: S3Client, liar: LyingS3, bucket: str, write: Callable[[S3Client, str], None]
) -> None:
    client.put_object(bucket, "copy", b"another's", crc64nvme=crc64nvme(b"another's"))
    swap_heads(liar, deceived, bucket)
    with pytest.raises((ItemError, Transient)) as caught:
        write(deceived, bucket)
    if isinstance(caught.value, ItemError):
        assert caught.value.reason is Reason.DESTINATION_CHANGED
    assert client.get_object(bucket, "copy").body == b"another's"


@pytest.mark.parametrize("write", [put, complete])
def test_a_refused_write_is_no_copy_where_nothing_stands(
    client: S3Client, deceived: S3Client, liar: LyingS3, bucket: str, write: Callable[[S3Client, str], None]
) -> None:
    """The 412 is another's too, so the object may be missing."""
    refused = "412 PreconditionFailed"
    swap_heads(liar, deceived, bucket, PutObject=refused, CompleteMultipartUpload=refused)
    with pytest.raises(ItemError) as caught:
        write(deceived, bucket)
    assert caught.value.reason is Reason.DESTINATION_CHANGED
    assert keys(client, bucket) == ["twin"]
