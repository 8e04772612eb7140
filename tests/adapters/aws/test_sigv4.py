"""The signer against botocore's, which AWS maintains."""

from __future__ import annotations

import datetime
from hashlib import sha256
from urllib.parse import urlsplit

import pytest
from botocore import auth, awsrequest  # type: ignore[import-untyped,unused-ignore]
from botocore import credentials as botocore_credentials
from hypothesis import given
from hypothesis import strategies as st

from fanout.adapters.aws.credentials import Credentials, LooksEverySecond
from fanout.adapters.aws.sigv4 import RequestSigner, encode_path, encode_query

NOW_SECONDS = 1_795_252_717.25
HOST = "bucket.s3.eu-west-1.amazonaws.com"
KEYS = (
    "plain",
    "../x",
    "/abs",
    "a//b",
    "a/./b",
    "a/../b",
    "a+b c",
    "a%2Fb",
    "~user",
    "tab\there",
    "\x01\x7f",
    "ünï/漢字/🙂",
    "?#&=;:@!$'()*,",
    "a/",
    "/",
)


def botocore_authorization(
    monkeypatch: pytest.MonkeyPatch, method: str, url: str, headers: dict[str, str], credentials: Credentials
) -> str:
    moment = datetime.datetime.fromtimestamp(NOW_SECONDS, datetime.UTC)
    monkeypatch.setattr("botocore.auth.get_current_datetime", lambda: moment, raising=True)
    monkeypatch.setattr("botocore.auth.S3SigV4Auth._should_sha256_sign_payload", lambda signer, request: False)
    request = awsrequest.AWSRequest(method=method, url=url, headers=headers, data=b"")
    given_credentials = botocore_credentials.Credentials(
        credentials.access_key_id, credentials.secret_access_key, credentials.session_token or None
    )
    auth.S3SigV4Auth(given_credentials, "s3", "eu-west-1").add_auth(request)
    return str(request.headers["Authorization"])


def assert_same_signature(
    key: str, query: list[tuple[str, str]], headers: dict[str, str], *, method: str = "GET", token: str = ""
) -> None:
    credentials = Credentials("AKIDEXAMPLE", "secret/key+", token)
    path, query_text = "/" + encode_path(key), encode_query(query)
    ours = RequestSigner("eu-west-1").sign(method, HOST, path, query_text, headers, credentials, NOW_SECONDS)
    url = f"https://{HOST}{path}" + (f"?{query_text}" if query_text else "")
    assert urlsplit(url).netloc == HOST
    with pytest.MonkeyPatch.context() as monkeypatch:
        theirs = botocore_authorization(monkeypatch, method, url, headers, credentials)
    assert ours["authorization"] == theirs


@pytest.mark.parametrize("key", KEYS)
def test_signature_of_a_hostile_key_is_that_of_botocore(key: str) -> None:
    assert_same_signature(key, [], {})


@pytest.mark.parametrize("method", ["GET", "PUT", "POST", "DELETE", "HEAD"])
def test_signature_covers_method_headers_and_token(method: str) -> None:
    headers = {"content-type": "text/plain", "range": "bytes=0-1", "x-amz-meta-a": "  two  spaces ", "if-match": '"e"'}
    assert_same_signature("key", [("uploads", ""), ("list-type", "2")], headers, method=method, token="tok/en==")


@given(
    key=st.text(st.characters(codec="utf-8"), max_size=60),
    query=st.lists(
        st.tuples(st.sampled_from(["prefix", "start-after"]), st.text(st.characters(codec="utf-8"), max_size=20)),
        unique_by=lambda pair: pair[0],
    ),
)
def test_signature_of_any_key_and_query_is_that_of_botocore(key: str, query: list[tuple[str, str]]) -> None:
    assert_same_signature(key, query, {"x-amz-checksum-mode": "ENABLED"})


def test_encoded_path_is_encoded_once_and_keeps_its_slashes() -> None:
    assert encode_path("a//b/../%2F +") == "a//b/../%252F%20%2B"


def test_query_is_sorted_by_encoded_name() -> None:
    assert encode_query([("b", "/ +"), ("a", "")]) == "a=&b=%2F%20%2B"


def test_signing_key_follows_day_and_secret() -> None:
    signer = RequestSigner("eu-west-1")
    moments = (NOW_SECONDS, NOW_SECONDS + 86_400, NOW_SECONDS)
    secrets = ("one", "one", "two", "one")
    signed = [
        signer.sign("GET", HOST, "/", "", {}, Credentials("id", secret), moment)["authorization"]
        for moment, secret in zip((*moments, NOW_SECONDS), secrets, strict=True)
    ]
    assert len({*signed}) == 3
    assert signed[0] == signed[3]


def test_credentials_keep_secrets_out_of_their_text() -> None:
    assert "hidden" not in repr(Credentials("id", "hidden", "hidden"))


def test_credentials_are_asked_for_once_a_second() -> None:
    now, asked = [100.0], iter(range(9))
    provider = LooksEverySecond(lambda: Credentials(f"id-{next(asked)}", "secret"), lambda: now[0])
    found = []
    for moment in (100.0, 100.9, 101.0, 101.5, 103.0):
        now[0] = moment
        found.append(provider().access_key_id)
    assert found == ["id-0", "id-0", "id-1", "id-1", "id-2"]


@pytest.mark.parametrize(
    ("service", "method", "path", "query", "body"),
    [
        ("lambda", "GET", "/2016-08-19/account-settings", "", b""),
        ("elasticfilesystem", "GET", "/2015-02-01/file-systems", "FileSystemId=fs-1", b""),
        ("monitoring", "POST", "/", "", b'{"ScanBy": "TimestampDescending"}'),
    ],
)
def test_another_service_is_asked_as_botocore_asks_it(
    monkeypatch: pytest.MonkeyPatch, service: str, method: str, path: str, query: str, body: bytes
) -> None:
    credentials = Credentials("AKIDEXAMPLE", "secret/key+", "token")
    digest, host = sha256(body).hexdigest(), f"{service}.eu-west-1.amazonaws.com"
    ours = RequestSigner("eu-west-1", service).sign(method, host, path, query, {}, credentials, NOW_SECONDS, digest)
    moment = datetime.datetime.fromtimestamp(NOW_SECONDS, datetime.UTC)
    monkeypatch.setattr("botocore.auth.get_current_datetime", lambda: moment, raising=True)
    headers = {"x-amz-content-sha256": digest}
    url = f"https://{host}{path}" + (f"?{query}" if query else "")
    request = awsrequest.AWSRequest(method=method, url=url, headers=headers, data=body)
    theirs = botocore_credentials.Credentials("AKIDEXAMPLE", "secret/key+", "token")
    auth.SigV4Auth(theirs, service, "eu-west-1").add_auth(request)
    assert ours["authorization"] == request.headers["Authorization"]
