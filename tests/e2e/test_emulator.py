"""The emulator's server keeps what S3 promises: names, bodies, signatures, policies, and connections that end."""

from __future__ import annotations

import http.client
import json
import re
import socket
import ssl
import time
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from fanout_cli.local import LocalPaths, find_toolchain
from fanout_cli.local.access import REGION
from fanout_cli.local.clients import Clients
from fanout_cli.local.emulator import Emulator
from fanout_cli.local.loopback import HOST

pytestmark = pytest.mark.e2e
MIB = 1024 * 1024
IDLE_SECONDS = 1.0
BUCKET = "names"
NAMES = [
    "plain",
    "a b+c%20d",
    "%2F%00%",
    "ä/日本/\U0001f600",
    "//double//",
    "../above/./here",
    "?query=1&x#fragment",
    "tab\tand\x01control",
    "back\\slash|pipe\"quote'<>{}^`~*()!@$=:;,[]",
    "e\u0301 and \u00e9",
    "k" * 1024,
]
TRUST = {"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"AWS": "*"}}
ALLOWED = {"Effect": "Allow", "Action": ["s3:*"], "Resource": ["*"]}


@pytest.fixture(scope="module")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Emulator]:
    """An emulator without a stack; it closes connections soon."""
    paths = LocalPaths.find(state=tmp_path_factory.mktemp("state"))
    with Emulator(find_toolchain(paths.repo), paths, idle_seconds=IDLE_SECONDS) as emulator:
        emulator.wait()
        yield emulator


@pytest.fixture(scope="module")
def clients(emulator: Emulator) -> Clients:
    """Of the account's root, whom no policy limits."""
    clients = Clients(emulator.access)
    clients.s3.create_bucket(Bucket=BUCKET)
    iam = clients.client("iam")
    iam.create_role(RoleName="reader", AssumeRolePolicyDocument=_policy(TRUST))
    _allow(clients, ALLOWED)
    return clients


@pytest.fixture
def session(clients: Clients) -> Any:
    """A client of S3 in a session of a role: each request's signature and policies count."""
    role = clients.client("sts").assume_role(RoleArn="arn:aws:iam::000000000000:role/reader", RoleSessionName="test")
    keys = role["Credentials"]
    make: Any = boto3.client
    return make(
        "s3",
        endpoint_url=clients.endpoint,
        verify=clients.access.ca_bundle,
        region_name=REGION,
        aws_access_key_id=keys["AccessKeyId"],
        aws_secret_access_key=keys["SecretAccessKey"],
        aws_session_token=keys["SessionToken"],
        config=Config(s3={"addressing_style": "path"}, retries={"max_attempts": 0}, proxies={}),
    )


@pytest.mark.parametrize("name", NAMES)
def test_a_key_of_any_characters_is_written_listed_and_read_under_a_checked_signature(session: Any, name: str) -> None:
    session.put_object(Bucket=BUCKET, Key=name, Body=name.encode())
    listed = session.list_objects_v2(Bucket=BUCKET, Prefix=name)["Contents"]
    found = session.get_object(Bucket=BUCKET, Key=name)["Body"].read()
    session.delete_object(Bucket=BUCKET, Key=name)
    assert found == name.encode()
    assert name in [item["Key"] for item in listed]
    assert "Contents" not in session.list_objects_v2(Bucket=BUCKET, Prefix=name)


def test_bodies_lengths_ranges_and_metadata_are_those_that_were_written(session: Any) -> None:
    body = bytes(range(256)) * (20 * MIB // 256)
    session.put_object(Bucket=BUCKET, Key="big", Body=body, Metadata={"mode": "0100644", "note": "a, b  c"})
    session.put_object(Bucket=BUCKET, Key="empty", Body=b"")
    head = session.head_object(Bucket=BUCKET, Key="big")
    assert (head["ContentLength"], head["Metadata"]) == (len(body), {"mode": "0100644", "note": "a, b  c"})
    assert session.get_object(Bucket=BUCKET, Key="big")["Body"].read() == body
    part = session.get_object(Bucket=BUCKET, Key="big", Range="bytes=1000-1999")
    assert (part["ContentRange"], part["Body"].read()) == (f"bytes 1000-1999/{len(body)}", body[1000:2000])
    assert session.head_object(Bucket=BUCKET, Key="empty")["ContentLength"] == 0
    assert session.get_object(Bucket=BUCKET, Key="empty")["Body"].read() == b""


def test_another_secret_is_refused(clients: Clients, session: Any) -> None:
    session.put_object(Bucket=BUCKET, Key="object", Body=b"body")
    session._request_signer._credentials.secret_key = "another"
    with pytest.raises(ClientError, match="SignatureDoesNotMatch"):
        session.get_object(Bucket=BUCKET, Key="object")


def test_a_policy_that_changes_counts_from_the_next_request_on(clients: Clients, session: Any) -> None:
    session.put_object(Bucket=BUCKET, Key="object", Body=b"body")
    try:
        for _ in range(2):
            _allow(clients, {**ALLOWED, "Resource": [f"arn:aws:s3:::{BUCKET}/other"]})
            with pytest.raises(ClientError, match="AccessDenied"):
                session.get_object(Bucket=BUCKET, Key="object")
            _allow(clients, ALLOWED)
            assert session.get_object(Bucket=BUCKET, Key="object")["Body"].read() == b"body"
        denial = {**ALLOWED, "Effect": "Deny", "Principal": "*", "Resource": [f"arn:aws:s3:::{BUCKET}/*"]}
        clients.s3.put_bucket_policy(Bucket=BUCKET, Policy=_policy(denial))
        with pytest.raises(ClientError, match="AccessDenied"):
            session.get_object(Bucket=BUCKET, Key="object")
        clients.s3.delete_bucket_policy(Bucket=BUCKET)
        assert session.get_object(Bucket=BUCKET, Key="object")["Body"].read() == b"body"
    finally:
        _allow(clients, ALLOWED)
        clients.s3.delete_bucket_policy(Bucket=BUCKET)


def test_an_idle_connection_is_closed_and_a_used_one_is_kept(clients: Clients) -> None:
    connection = http.client.HTTPSConnection(*_place(clients), context=_context(clients), timeout=IDLE_SECONDS + 5)
    for _ in range(4):
        connection.request("GET", "/_ministack/health")
        used = connection.sock
        assert connection.getresponse().read()
        assert connection.sock is used
        time.sleep(IDLE_SECONDS / 2)
    began = time.monotonic()
    assert used.recv(1) == b""
    assert time.monotonic() - began < IDLE_SECONDS + 1


def test_a_request_that_waits_for_100_continue_gets_it(clients: Clients) -> None:
    with (
        socket.create_connection(_place(clients), timeout=10) as plain,
        _context(clients).wrap_socket(plain, server_hostname=HOST) as stream,
    ):
        head = "PUT /names/continued HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 4\r\n"
        scope = f"{clients.access.access_key_id}/{time.strftime('%Y%m%d', time.gmtime())}/us-east-1/s3/aws4_request"
        head += f"X-Amz-Date: {time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}\r\n"
        head += f"Authorization: AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders=host, Signature=1\r\n\r\n"
        stream.sendall(head.encode())
        assert re.match(rb"HTTP/1\.1 100 Continue\r\n", stream.recv(100))
        stream.sendall(b"body")
        assert re.match(rb"HTTP/1\.1 403 ", stream.recv(100))


def test_plain_http_is_refused(clients: Clients) -> None:
    connection = http.client.HTTPConnection(*_place(clients), timeout=10)
    with pytest.raises((ConnectionError, http.client.HTTPException)):
        connection.request("GET", "/_ministack/health")
        connection.getresponse()


def _place(clients: Clients) -> tuple[str, int]:
    return HOST, int(clients.endpoint.rpartition(":")[2])


def _context(clients: Clients) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=clients.access.ca_bundle)


def _allow(clients: Clients, statement: dict[str, Any]) -> None:
    clients.client("iam").put_role_policy(RoleName="reader", PolicyName="all", PolicyDocument=_policy(statement))


def _policy(statement: dict[str, Any]) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})
