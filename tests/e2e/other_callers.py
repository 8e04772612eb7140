"""Requests to the emulator of the local stack, as its own user sends them and as others do."""

from __future__ import annotations

import http.client
import os
import ssl
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from typing import Any

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from fanout_cli.local import LocalPaths
from fanout_cli.local.access import REGION, Access
from fanout_cli.local.clients import Clients
from fanout_cli.local.loopback import HOST
from tests.e2e.processes import PROC

NOBODY = 65_534
BUCKET = "bucket"


@dataclass(frozen=True)
class Up:
    """An emulator with a bucket and a function that runs."""

    access: Access
    clients: Clients
    paths: LocalPaths
    context: ssl.SSLContext
    pid: int


@dataclass(frozen=True)
class Request:
    """A request; ``service`` it is signed for, none if it is not."""

    method: str
    path: str
    body: bytes = b""
    service: str = ""
    target: str = ""


CREATE = b'{"FunctionName":"theirs","Role":"arn:aws:iam::000000000000:role/limited","Runtime":"python3.11",'
CREATE += b'"Handler":"a.b","Code":{"S3Bucket":"bucket","S3Key":"code"}}'
SIGNED = [
    Request("GET", "/", service="s3"),
    Request("PUT", f"/{BUCKET}/theirs", b"theirs", "s3"),
    Request("POST", "/2015-03-31/functions", CREATE, "lambda"),
    Request("POST", "/2015-03-31/functions/kept/invocations", b"{}", "lambda"),
    Request("POST", "/", b"{}", "states", "AWSStepFunctions.ListStateMachines"),
    Request("POST", "/", b"Action=ListRoles&Version=2010-05-08", "iam"),
    Request("POST", "/", b"Action=GetCallerIdentity&Version=2011-06-15", "sts"),
]
UNSIGNED = [
    *(replace(one, service="") for one in SIGNED),
    Request("POST", "/_ministack/reset"),
    Request("POST", "/_ministack/config", b'{"lambda_svc.X": "1"}'),
    Request("GET", "/_ministack/lambda-code/kept"),
    Request("GET", f"/{BUCKET}?list-type=2"),
    Request("OPTIONS", f"/{BUCKET}/object"),
    Request("GET", "/_aws/execute-api/a/b"),
    Request("GET", "/_aws/ses/messages"),
    Request("GET", "/v2/_catalog"),
    Request("GET", "/_ministack/health/"),
]


def sign(access: Access, request: Request) -> dict[str, str]:
    if not request.service:
        return {}
    headers = {"X-Amz-Target": request.target} if request.target else {}
    headers |= {"Content-Type": "application/x-www-form-urlencoded"} if request.body[:7] == b"Action=" else {}
    made = AWSRequest(request.method, f"{access.endpoint}{request.path}", headers, request.body)
    keys = Credentials(access.access_key_id, access.secret_access_key)
    SigV4Auth(keys, request.service, REGION).add_auth(made)
    return dict(made.headers.items())


def send(up: Up, request: Request, headers: dict[str, str]) -> tuple[int, str]:
    """The status and the body of the answer."""
    connection = http.client.HTTPSConnection(*place(up), context=up.context, timeout=20)
    try:
        connection.request(request.method, request.path, request.body, headers)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def place(up: Up) -> tuple[str, int]:
    return HOST, int(up.access.endpoint.rpartition(":")[2])


def as_another(deed: Callable[..., Any], *arguments: Any) -> Any:
    """What a deed gives in a process of another user, which has all that this one knows."""
    global _deed
    _deed = lambda: deed(*arguments)  # noqa: E731 (the process inherits it: an SSL context cannot be sent)
    with ProcessPoolExecutor(1, get_context("fork"), become_nobody) as other:
        return other.submit(do_inherited).result(60)


_deed: Callable[[], Any]


def do_inherited() -> Any:
    assert os.geteuid() == NOBODY
    return _deed()


def become_nobody() -> None:
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)


def listening(pid: int) -> list[int]:
    """The ports that a process listens on, over IPv4."""
    inodes = set()
    for one in (PROC / str(pid) / "fd").iterdir():
        try:
            inodes.add(os.readlink(one).removeprefix("socket:[").removesuffix("]"))
        except FileNotFoundError:
            continue
    lines = [line.split() for line in (PROC / "net/tcp").read_text().splitlines()[1:]]
    return [int(one[1].partition(":")[2], 16) for one in lines if one[3] == "0A" and one[9] in inodes]
