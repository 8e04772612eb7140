"""The adapter of ``ObjectArchive`` against moto's S3, which knows archives, and against answers that it never gives."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from moto.moto_api import state_manager

from fanout.adapters.aws.credentials import Credentials
from fanout.adapters.aws.endpoint import Endpoint
from fanout.adapters.s3.client.client import S3Client
from fanout.adapters.s3.client.requests import RetryPolicy
from fanout.adapters.s3.object_archive import S3Archive, look_of
from fanout.adapters.s3.tree import S3Tree
from fanout.facts import archives
from fanout.model.columns import FileColumns
from fanout.model.entry import Entry, Kind
from fanout.model.errors import ItemError, Transient
from fanout.model.location import S3Location
from fanout.model.outcome import Reason
from fanout.model.segment import Segment
from fanout.ports.s3_services import ObjectLook
from fanout.request.parts.restore import Restore, Tier
from tests.contract.conftest import client_of, new_bucket
from tests.contract.scripted_server import ScriptedServer, answer, error
from tests.support.s3_servers import KEY, S3Server

RESTORE = Restore(Tier.BULK, 3)


@pytest.fixture
def slow() -> Iterator[None]:
    """An S3 that takes its time: an object is on its way for the next two looks at it."""
    state_manager.set_transition("s3::keyrestore", {"progression": "manual", "times": 2})
    yield
    state_manager.unset_transition("s3::keyrestore")


class Bucket:
    """A bucket with versions of moto's S3, its archive, and its tree."""

    def __init__(self, url: str, client: S3Client) -> None:
        self.client, self.name = client, new_bucket(client)
        self.boto: Any = boto3.client(
            "s3", endpoint_url=url, region_name="us-east-1", aws_access_key_id=KEY, aws_secret_access_key=KEY
        )
        self.boto.put_bucket_versioning(Bucket=self.name, VersioningConfiguration={"Status": "Enabled"})
        self.archive = S3Archive(client, S3Location(self.name, "in/"))
        self.tree = S3Tree(client, self.name, "in/", tells_held=True)

    def put(self, path: str, storage_class: str = "STANDARD") -> Entry:
        self.boto.put_object(Bucket=self.name, Key=f"in/{path}", Body=path.encode(), StorageClass=storage_class)
        found = self.tree.find(path)
        assert found is not None
        return found


@pytest.fixture
def bucket(moto_server: S3Server) -> Bucket:
    return Bucket(moto_server.url, client_of(moto_server))


@pytest.mark.usefixtures("slow")
def test_an_object_is_asked_for_is_on_its_way_and_can_be_read(bucket: Bucket) -> None:
    entry = bucket.put("g", "GLACIER")
    look = bucket.archive.look(entry)
    assert (look.archive, look.asked) == (archives.GLACIER, False) and look.version
    bucket.archive.ask(entry, look, RESTORE)
    looks = [bucket.archive.look(entry) for _ in range(4)]
    assert ObjectLook(archives.GLACIER, asked=True, version=look.version) in looks
    assert looks[-1] == ObjectLook(version=look.version)
    assert bucket.tree.open(entry).read(0, 10) == b"g"
    bucket.archive.ask(entry, look, RESTORE)  # of one that is restored: no error


def test_objects_in_no_archive_are_told_so(bucket: Bucket) -> None:
    for storage_class in ("STANDARD", "GLACIER_IR", "INTELLIGENT_TIERING"):
        assert bucket.archive.look(bucket.put(storage_class, storage_class)).archive == ""


def test_an_object_that_was_replaced_or_is_gone_is_told(bucket: Bucket) -> None:
    entry = bucket.put("g", "GLACIER")
    bucket.boto.put_object(Bucket=bucket.name, Key="in/g", Body=b"another")
    with pytest.raises(ItemError) as changed:
        bucket.archive.look(entry)
    assert changed.value.reason is Reason.SOURCE_CHANGED
    bucket.boto.delete_object(Bucket=bucket.name, Key="in/g")
    with pytest.raises(ItemError) as gone:
        bucket.archive.look(entry)
    assert gone.value.reason is Reason.SOURCE_VANISHED


def test_a_listing_tells_the_classes_that_may_have_to_be_restored(bucket: Bucket) -> None:
    classes = ("STANDARD", "GLACIER", "DEEP_ARCHIVE", "GLACIER_IR", "INTELLIGENT_TIERING", "STANDARD_IA")
    for storage_class in classes:
        bucket.put(f"d/{storage_class}", storage_class)
    told = {entry.path: entry.held for entry in bucket.tree.list(Segment(""))}
    assert told == {f"d/{one}": one if one in archives.CLASSES else "" for one in classes}
    silent = S3Tree(bucket.client, bucket.name, "in/")
    (columns,) = silent.list_columns(Segment(""))
    assert isinstance(columns, FileColumns) and len(columns) == len(classes)


@pytest.mark.parametrize(
    ("headers", "look"),
    [
        ({}, ObjectLook()),
        ({"x-amz-storage-class": "GLACIER"}, ObjectLook("GLACIER")),
        ({"x-amz-storage-class": "DEEP_ARCHIVE", "x-amz-version-id": "v"}, ObjectLook("DEEP_ARCHIVE", version="v")),
        (
            {"x-amz-storage-class": "GLACIER", "x-amz-restore": 'ongoing-request="true"'},
            ObjectLook("GLACIER", asked=True),
        ),
        (
            {"x-amz-storage-class": "GLACIER", "x-amz-restore": 'ongoing-request="false", expiry-date="x"'},
            ObjectLook(),
        ),
        ({"x-amz-storage-class": "INTELLIGENT_TIERING"}, ObjectLook()),
        (
            {"x-amz-storage-class": "INTELLIGENT_TIERING", "x-amz-archive-status": "ARCHIVE_ACCESS"},
            ObjectLook("ARCHIVE_ACCESS"),
        ),
        ({"x-amz-storage-class": "GLACIER_IR"}, ObjectLook()),
    ],
)
def test_what_a_head_says_of_an_archive(headers: dict[str, str], look: ObjectLook) -> None:
    assert look_of(headers) == look


def scripted(server: ScriptedServer, *script: bytes) -> S3Archive:
    server.script = list(script)
    retry = RetryPolicy(attempts=2, base_seconds=0.0)
    client = S3Client(Endpoint("us-east-1", server.url), lambda: Credentials(KEY, KEY), retry=retry)
    return S3Archive(client, S3Location("a-bucket", ""))


ENTRY = Entry("g", Kind.FILE, 1, etag='"e"')


@pytest.mark.parametrize(
    ("look", "sent"),
    [
        (ObjectLook("GLACIER"), b"<Days>3</Days><GlacierJobParameters><Tier>Bulk</Tier></GlacierJobParameters>"),
        (ObjectLook("ARCHIVE_ACCESS"), b'/"><GlacierJobParameters><Tier>Bulk</Tier></GlacierJobParameters>'),
    ],
)
def test_the_request_names_tier_and_days_but_for_tiering_none(
    server: ScriptedServer, look: ObjectLook, sent: bytes
) -> None:
    scripted(server, answer(202)).ask(ENTRY, look, RESTORE)
    assert sent in server.bodies[0]
    assert server.requests[0].startswith(b"POST /a-bucket/g?restore= ")


def test_the_request_names_the_version_that_was_looked_at(server: ScriptedServer) -> None:
    scripted(server, answer(202)).ask(ENTRY, ObjectLook("GLACIER", version="v1"), RESTORE)
    assert b"versionId=v1" in server.requests[0]


@pytest.mark.parametrize(
    "said",
    [
        answer(200),
        answer(202),
        error(409, "RestoreAlreadyInProgress"),
        error(403, "ObjectAlreadyInActiveTierError"),
    ],
)
def test_what_counts_as_asked(server: ScriptedServer, said: bytes) -> None:
    scripted(server, said).ask(ENTRY, ObjectLook("GLACIER"), RESTORE)
    assert not server.script


def test_a_request_without_capacity_is_repeated(server: ScriptedServer) -> None:
    scripted(server, error(503, "GlacierExpeditedRetrievalNotAvailable"), answer(202)).ask(
        ENTRY, ObjectLook("GLACIER"), RESTORE
    )
    assert not server.script


def test_without_capacity_for_expedited_requests_the_object_is_asked_for_later(server: ScriptedServer) -> None:
    archive = scripted(server, *[error(503, "GlacierExpeditedRetrievalNotAvailable")] * 2)
    with pytest.raises(Transient):
        archive.ask(ENTRY, ObjectLook("GLACIER"), RESTORE)


@pytest.mark.parametrize(
    ("said", "remedy"),
    [
        (error(403, "AccessDenied"), "allow s3:RestoreObject"),
        (error(400, "InvalidArgument"), "InvalidArgument"),
        (error(403, "InvalidObjectState"), "restore the object"),
    ],
)
def test_a_refusal_is_the_entry_s_with_its_remedy(server: ScriptedServer, said: bytes, remedy: str) -> None:
    archive = scripted(server, said)
    with pytest.raises(ItemError, match=remedy) as refused:
        archive.ask(ENTRY, ObjectLook("GLACIER"), RESTORE)
    assert refused.value.reason is Reason.NOT_RESTORED


def test_an_answer_of_another_kind_is_not_taken_for_one(server: ScriptedServer) -> None:
    scripted(server, answer(204), answer(202)).ask(ENTRY, ObjectLook("GLACIER"), RESTORE)
    assert not server.script
