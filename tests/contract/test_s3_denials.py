"""Whose policy denies: the source's, the destination's or a key's, in the words that S3 sends."""

from __future__ import annotations

import pytest

from fanout.adapters.aws.credentials import Credentials
from fanout.adapters.aws.endpoint import Endpoint
from fanout.adapters.s3.client.client import S3Client
from fanout.adapters.s3.copier import S3EntryCopier
from fanout.model.deadline import NEVER
from fanout.model.entry import Entry, Kind
from fanout.model.errors import AccessDenied, ItemError
from fanout.model.location import S3Location
from fanout.model.outcome import Reason
from tests.contract.scripted_server import ScriptedServer, answer

WHO = "arn:aws:sts::111122223333:assumed-role/fanout-CopyShard/CopyShard"
THEIR_KEY = "arn:aws:kms:eu-west-1:444455556666:key/1234abcd-12ab-34cd-56ef-1234567890ab"
OUR_KEY = "arn:aws:kms:eu-west-1:111122223333:key/0987dcba-09fe-87dc-65ba-ab0987654321"
OBJECT = "arn:aws:s3:::bucket/key"
ENTRY = Entry("key", Kind.FILE, 3, etag='"e"')
BIG = Entry("key", Kind.FILE, 20, etag='"e"')


def denied(message: str) -> bytes:
    """An answer of S3, with all that it has in it."""
    return answer(
        403,
        f'<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>AccessDenied</Code><Message>{message}</Message>'
        "<RequestId>F25E4F498D1C6244</RequestId><HostId>TF77oPeUQIKI0uhnT98WhA/WSvK+O</HostId></Error>".encode(),
        "Content-Type: application/xml",
    )


def said(action: str, resource: str, why: str, who: str = f"User: {WHO}") -> str:
    return f"{who} is not authorized to perform: {action} on resource: {resource} {why}"


OF_KEY = said("kms:Decrypt", THEIR_KEY, "because no resource-based policy allows the kms:Decrypt action")
ACROSS = (
    "because the resource does not exist in this Region, no resource-based policies allow access, or a resource-based"
    " policy explicitly denies access"
)
PLAIN = denied("Access Denied")
STARTED = answer(200, b"<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>")
LISTED = answer(
    200,
    b'<ListBucketResult><IsTruncated>false</IsTruncated><Contents><Key>key</Key><Size>3</Size><ETag>"e"</ETag>'
    b"<LastModified>2026-01-01T00:00:00Z</LastModified></Contents></ListBucketResult>",
)
NO_TAGS = answer(200, b"<Tagging><TagSet/></Tagging>")
ABORTED = answer(204)


def head(key: str = "") -> bytes:
    extra = [f"x-amz-server-side-encryption-aws-kms-key-id: {key}"] if key else []
    return answer(200, b"", 'ETag: "e"', *extra)


@pytest.fixture
def client(server: ScriptedServer) -> S3Client:
    return S3Client(Endpoint("us-east-1", server.url), lambda: Credentials("id", "secret"), sleep=lambda seconds: None)


@pytest.mark.parametrize(
    ("message", "remedy"),
    [
        (
            OF_KEY,
            f"allow kms:Decrypt on {THEIR_KEY} to {WHO} in the key policy of {THEIR_KEY}, in account 444455556666",
        ),
        (said("kms:Decrypt", THEIR_KEY, ACROSS), f"in the key policy of {THEIR_KEY}, in account 444455556666"),
        (
            said("kms:GenerateDataKey", THEIR_KEY, "because no identity-based policy allows the action"),
            f"to {WHO} in the policies of {WHO} (KmsKeyArns names those of the stack's roles)",
        ),
        (
            said("s3:GetObject", f'"{OBJECT}"', "because no identity-based policy allows the s3:GetObject action"),
            f"allow s3:GetObject on {OBJECT} to {WHO} in the policies of {WHO} (ReadPrefixes",
        ),
        (
            said("s3:GetObject", f'"{OBJECT}"', "because no resource-based policy allows the s3:GetObject action"),
            f"in the bucket policy of {OBJECT} (",
        ),
        (
            said("s3:GetObject", f'"{OBJECT}"', "with an explicit deny in a resource-based policy"),
            f"a Deny of s3:GetObject in the bucket policy of {OBJECT} forbids it",
        ),
        (
            said("s3:PutObject", f'"{OBJECT}"', "with an explicit deny in a service control policy"),
            "a Deny of s3:PutObject in a service control policy over account 111122223333 forbids it",
        ),
        (
            said("kms:Decrypt", THEIR_KEY, "with an explicit deny in a resource control policy"),
            "a Deny of kms:Decrypt in a resource control policy over account 444455556666 forbids it",
        ),
        (
            said("s3:GetObject", f'"{OBJECT}"', "because no VPC endpoint policy allows the s3:GetObject action"),
            "in the policy of the VPC endpoint",
        ),
        (
            said("s3:GetObject", f'"{OBJECT}"', "because no session policy allows the s3:GetObject action"),
            f"in the session of {WHO}",
        ),
        (
            said("s3:GetObject", f'"{OBJECT}"', "because no permissions boundary allows the s3:GetObject action"),
            f"in the permissions boundary of {WHO}",
        ),
        (said("kms:Decrypt", THEIR_KEY, ""), f"in the policies of both, the role and {THEIR_KEY}"),
        ("Access Denied", "allow s3:GetObject and the bucket's KMS key to the role"),
    ],
)
def test_the_remedy_names_the_policy_that_lacks_it(
    client: S3Client, server: ScriptedServer, message: str, remedy: str
) -> None:
    server.script = [denied(message)]
    with pytest.raises(AccessDenied) as caught:
        client.get_object("bucket", "key")
    assert remedy in str(caught.value)
    assert f"(S3 says: 403 AccessDenied {message})" in str(caught.value)


def test_a_put_names_the_key_that_it_may_not_use(client: S3Client, server: ScriptedServer) -> None:
    why = "because no resource-based policy allows the kms:GenerateDataKey action"
    server.script = [denied(said("kms:GenerateDataKey", OUR_KEY, why))]
    with pytest.raises(AccessDenied, match=f"allow kms:GenerateDataKey on {OUR_KEY}") as caught:
        client.put_object("bucket", "key", b"body")
    assert caught.value.denied == ("kms:GenerateDataKey", OUR_KEY)


@pytest.mark.parametrize(
    ("script", "reason", "words"),
    [
        ([answer(403), LISTED], Reason.SOURCE_DENIED, "HeadObject on s3://theirs/key"),
        ([head(), PLAIN, head(), PLAIN], Reason.SOURCE_DENIED, "GetObjectTagging on s3://theirs/key"),
        ([head(), PLAIN, head(), NO_TAGS], None, "CopyObject on s3://ours/key"),
        ([head(THEIR_KEY), denied(OF_KEY), head(THEIR_KEY), NO_TAGS], Reason.SOURCE_DENIED, "account 444455556666"),
        (
            [head(THEIR_KEY), denied(said("kms:GenerateDataKey", OUR_KEY, ACROSS)), head(THEIR_KEY), NO_TAGS],
            None,
            f"allow kms:GenerateDataKey on {OUR_KEY}",
        ),
        # One key for both ends: what S3 may not do with it tells which end it was.
        (
            [head(THEIR_KEY), denied(said("kms:GenerateDataKey", THEIR_KEY, ACROSS)), head(THEIR_KEY), NO_TAGS],
            None,
            "GenerateDataKey",
        ),
    ],
)
def test_a_copy_inside_s3_tells_the_source_the_destination_and_the_key_apart(
    client: S3Client, server: ScriptedServer, script: list[bytes], reason: Reason | None, words: str
) -> None:
    server.script = script
    copier = S3EntryCopier(client, S3Location("theirs", ""), S3Location("ours", ""))
    with pytest.raises((ItemError, AccessDenied), match=words.replace("(", r"\(")) as caught:
        copier.copy(ENTRY, NEVER)
    assert getattr(caught.value, "reason", None) is reason
    assert not server.script


@pytest.mark.parametrize(("key", "reason"), [(THEIR_KEY, Reason.SOURCE_DENIED), (OUR_KEY, None)])
def test_a_copy_of_parts_reads_by_the_key_of_either_end(
    client: S3Client, server: ScriptedServer, key: str, reason: Reason | None
) -> None:
    """S3 decrypts the parts that it has taken before it completes them."""
    denial = denied(said("kms:Decrypt", key, ACROSS))
    server.script = [head(THEIR_KEY), NO_TAGS, STARTED, denial, head(THEIR_KEY), NO_TAGS, ABORTED]
    copier = S3EntryCopier(client, S3Location("theirs", ""), S3Location("ours", ""), whole_bytes=10)
    with pytest.raises((ItemError, AccessDenied), match=key) as caught:
        copier.copy(BIG, NEVER)
    assert getattr(caught.value, "reason", None) is reason
