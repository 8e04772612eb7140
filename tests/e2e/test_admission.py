"""Nobody uses the local stack but its own user with its own keys: whoever else tries is refused, whatever the try."""

from __future__ import annotations

import http.client
import json
import os
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from fanout_cli.local import LocalPaths, find_toolchain
from fanout_cli.local.access import Access
from fanout_cli.local.clients import Clients
from fanout_cli.local.emulator import Emulator
from fanout_cli.local.loopback import HOST
from fanout_cli.local.workers.worker import SeenMount, function_zip, write_start
from tests.e2e.other_callers import BUCKET, SIGNED, UNSIGNED, Request, Up, as_another, listening, place, send, sign
from tests.e2e.processes import PROC

pytestmark = pytest.mark.e2e
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as another user")


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    paths = LocalPaths.find(state=tmp_path_factory.mktemp("state"))
    tools = find_toolchain(paths.repo)
    paths.layer.mkdir(parents=True)
    with Emulator(tools, paths) as emulator:
        write_start(paths, tools.worker_python, {})
        emulator.wait()
        clients = Clients(emulator.access)
        clients.s3.create_bucket(Bucket=BUCKET)
        clients.client("iam").create_role(RoleName="limited", AssumeRolePolicyDocument="{}")
        folder = tmp_path_factory.mktemp("function")
        (folder / "app.py").write_text("def handler(event, context):\n    return 'mine'\n")
        clients.functions.create_function(
            FunctionName="kept",
            Role="arn:aws:iam::000000000000:role/limited",
            Runtime="provided.al2023",
            Handler="app.handler",
            Code={"ZipFile": function_zip(folder, paths.worker, SeenMount.NONE)},
        )
        assert invoke(clients) == "mine"
        context = ssl.create_default_context(cafile=emulator.access.ca_bundle)
        yield Up(emulator.access, clients, paths, context, emulator.pid)


def invoke(clients: Clients) -> Any:
    return json.loads(clients.functions.invoke(FunctionName="kept", Payload=b"{}")["Payload"].read())


@pytest.mark.parametrize("request_", SIGNED, ids=lambda one: f"{one.service} {one.path}")
def test_the_keys_of_the_state_are_answered(up: Up, request_: Request) -> None:
    assert send(up, request_, sign(up.access, request_))[0] in (200, 201)


@pytest.mark.parametrize("request_", SIGNED, ids=lambda one: f"{one.service} {one.path}")
@pytest.mark.parametrize("key", ["test", "000000000000", "AKIAIOSFODNN7EXAMPLE", ""])
def test_no_other_key_is_answered(up: Up, key: str, request_: Request) -> None:
    other = replace(up.access, access_key_id=key, secret_access_key="test")
    assert send(up, request_, sign(other, request_))[0] == 403


@pytest.mark.parametrize("request_", SIGNED, ids=lambda one: f"{one.service} {one.path}")
def test_the_key_with_another_secret_is_refused(up: Up, request_: Request) -> None:
    status, said = send(up, request_, sign(replace(up.access, secret_access_key="test"), request_))
    assert (status, "SignatureDoesNotMatch" in said) == (403, True)


@pytest.mark.parametrize("request_", UNSIGNED, ids=lambda one: f"{one.method} {one.path} {one.target}{one.body!r}")
def test_nothing_is_answered_without_a_signature(up: Up, request_: Request) -> None:
    assert send(up, request_, {})[0] == 403
    assert invoke(up.clients) == "mine"


def test_what_was_signed_is_what_is_answered(up: Up) -> None:
    signed = Request("PUT", f"/{BUCKET}/signed", b"mine", "s3")
    states = Request("POST", "/", b"{}", "states", "AWSStepFunctions.ListStateMachines")
    for sent, given in (
        (replace(signed, path=f"/{BUCKET}/other"), sign(up.access, signed)),
        (replace(signed, method="DELETE"), sign(up.access, signed)),
        (replace(states, body=b'{"maxResults":1}'), sign(up.access, states)),
        (signed, {**sign(up.access, signed), "X-Amz-Date": "20200101T000000Z"}),
        (signed, {**sign(up.access, signed), "Authorization": sign(up.access, signed)["Authorization"][:-8]}),
    ):
        assert send(up, sent, given)[0] == 403


def test_a_presigned_url_works_until_it_expires_and_for_what_it_names(up: Up) -> None:
    up.clients.s3.put_object(Bucket=BUCKET, Key="a b+c", Body=b"body")
    make = up.clients.s3.generate_presigned_url
    url = urlsplit(make("get_object", {"Bucket": BUCKET, "Key": "a b+c"}, ExpiresIn=60))
    path = f"{url.path}?{url.query}"
    assert send(up, Request("GET", path), {}) == (200, "body")
    assert send(up, Request("GET", path.replace("X-Amz-Expires=60", "X-Amz-Expires=61")), {})[0] == 403
    assert send(up, Request("DELETE", path), {})[0] == 403
    assert send(up, Request("GET", path.replace("a%20b", "other")), {})[0] == 403
    brief = urlsplit(make("get_object", {"Bucket": BUCKET, "Key": "a b+c"}, ExpiresIn=1))
    time.sleep(2.1)
    assert send(up, Request("GET", f"{brief.path}?{brief.query}"), {})[0] == 403


def test_the_session_of_a_function_does_not_follow_from_its_name(up: Up) -> None:
    from hashlib import sha256

    arn, role = "arn:aws:lambda:us-east-1:000000000000:function:kept", "arn:aws:iam::000000000000:role/limited"
    digest = sha256(f"{arn}:{role}".encode()).hexdigest()
    secret = sha256(f"secret:{digest}".encode()).hexdigest()
    guessed = replace(up.access, access_key_id=f"ASIA{digest[:16].upper()}", secret_access_key=secret)
    call = Request("POST", "/", b"Action=GetCallerIdentity&Version=2011-06-15", "sts")
    headers = {**sign(guessed, call), "X-Amz-Security-Token": sha256(f"token:{digest}".encode()).hexdigest()}
    assert send(up, call, headers)[0] == 403


@as_root
def test_another_user_is_refused_whatever_it_knows(up: Up) -> None:
    """Also the keys: what it is told them by does not matter."""
    tries = [(one, sign(up.access, one)) for one in SIGNED] + [(one, {}) for one in UNSIGNED]
    up.clients.s3.put_object(Bucket=BUCKET, Key="object", Body=b"body")
    url = urlsplit(up.clients.s3.generate_presigned_url("get_object", {"Bucket": BUCKET, "Key": "object"}))
    tries += [(Request("GET", f"{url.path}?{url.query}"), {}), (Request("GET", "/_ministack/health"), {})]
    answers = as_another(lambda: [send(up, *one) for one in tries])
    assert [status for status, _ in answers] == [403] * len(tries)
    assert all("processes of the user" in said for _, said in answers)
    assert invoke(up.clients) == "mine"


@as_root
def test_a_request_whose_sender_has_gone_is_not_answered_for_root(up: Up) -> None:
    """The kernel names no owner of a socket that its process has closed, and tools show it as root's."""
    put = Request("PUT", f"/{BUCKET}/gone", b"theirs", "s3")
    head = "".join(f"{name}: {value}\r\n" for name, value in sign(up.access, put).items())
    text = f"PUT {put.path} HTTP/1.1\r\nHost: {urlsplit(up.access.endpoint).netloc}\r\nContent-Length: 6\r\n{head}\r\n"

    def send_and_go() -> None:
        for _ in range(50):
            with socket.create_connection(place(up)) as plain:
                stream = up.context.wrap_socket(plain, server_hostname=HOST)
                stream.sendall(text.encode() + put.body)
                stream.close()

    as_another(send_and_go)
    assert send(up, put, {})[0] == 403
    assert "gone" not in [one["Key"] for one in up.clients.s3.list_objects_v2(Bucket=BUCKET).get("Contents", [])]


@as_root
def test_another_user_gets_no_event_of_a_function_and_answers_none(up: Up) -> None:
    ports = [port for port in listening(up.pid) if port != place(up)[1]]
    assert ports

    def take_an_event() -> list[str]:
        found = []
        for port in ports:
            connection = http.client.HTTPConnection(HOST, port, timeout=10)
            try:
                connection.request("GET", "/2018-06-01/runtime/invocation/next")
                found.append(str(connection.getresponse().status))
            except (http.client.HTTPException, OSError) as error:
                found.append(type(error).__name__)
        return found

    invoking = threading.Timer(1.0, invoke, [up.clients])
    invoking.start()
    assert set(as_another(take_an_event)) <= {"RemoteDisconnected", "ConnectionResetError"}
    invoking.join()
    assert invoke(up.clients) == "mine"


@as_root
def test_another_user_reads_nothing_of_the_state(up: Up) -> None:
    up.clients.s3.put_object(Bucket=BUCKET, Key="read", Body=b"mine")
    every = [up.paths.state, *up.paths.state.rglob("*")]
    # Also by who had it open as its working directory before it became private, or by a name outside.
    assert up.paths.state.stat().st_mode & 0o777 == 0o700
    assert up.paths.access.stat().st_mode & 0o777 == 0o600

    def reach() -> list[str]:
        found = []
        for one in every:
            try:
                os.close(os.open(one, os.O_RDONLY | os.O_NONBLOCK))
                found.append(str(one))
            except PermissionError:
                continue
        return found

    assert len(every) > 10
    assert as_another(reach) == []
    for file in ("environ", "mem", "maps"):
        with pytest.raises(PermissionError):
            as_another(lambda name=file: (PROC / str(up.pid) / name).read_bytes())


def test_the_file_to_source_leads_there(up: Up, tmp_path: Path) -> None:
    """Keys that a shell exported before do not count."""
    import subprocess

    said = subprocess.run(
        ["/bin/sh", "-c", f"AWS_SESSION_TOKEN=old; AWS_PROFILE=old; . {up.paths.access}; env"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    told = dict(line.split("=", 1) for line in said.splitlines() if line.startswith("AWS_"))
    assert {name: told[name] for name in up.access.environment()} == up.access.environment()
    assert not {"AWS_SESSION_TOKEN", "AWS_PROFILE"} & told.keys()
    assert Access.read(up.paths.access) == up.access
