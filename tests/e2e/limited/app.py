"""A function that goes up to a limit of its environment, and says how far it came."""

from __future__ import annotations

import errno
import multiprocessing
import os
import resource
import socket
import ssl
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from fanout.adapters.aws.credentials import Credentials
from fanout.adapters.aws.endpoint import Endpoint
from fanout.adapters.http.transport import Transport
from fanout.adapters.s3.client.client import S3Client

MIB = 1024 * 1024
KEPT: dict[str, Any] = {"ticks": 0}


def count_ticks(seconds: float) -> None:
    """Counts for as long as the environment is not frozen."""
    while True:
        time.sleep(seconds)
        KEPT["ticks"] += 1


def open_descriptors(event: Any) -> Any:
    """How many descriptors it may have, and whether it may raise that."""
    opened: list[int] = []
    try:
        while len(opened) < event["count"]:
            opened.append(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        return {"errno": errno.errorcode[error.errno or 0], "descriptors": opened[-1] + 1, "raised": _raised()}
    finally:
        for descriptor in opened:
            os.close(descriptor)
    return {"errno": "", "descriptors": opened[-1] + 1, "raised": _raised()}


def _raised() -> bool:
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
    except (ValueError, PermissionError):
        return False
    return True


def write_files(event: Any) -> Any:
    """What becomes of a file in each place."""
    found = {}
    for place in event["places"]:
        path = Path(place) / "written"
        try:
            path.write_bytes(b"x")
            path.unlink()
            found[place] = ""
        except OSError as error:
            found[place] = errno.errorcode[error.errno or 0]
    return {"found": found, "shm": Path("/dev/shm").exists(), "temporary": os.environ["TMPDIR"]}


def fill_temporary(event: Any) -> Any:
    """How many bytes /tmp takes, of which the first are allocated at once."""
    path = Path("/tmp/filling")
    written = event["allocated"]
    with path.open("wb", buffering=0) as file:
        try:
            os.posix_fallocate(file.fileno(), 0, written)
            file.seek(written)
            while written < event["bytes"]:
                written += file.write(bytes(MIB))
        except OSError as error:
            return {"errno": errno.errorcode[error.errno or 0], "bytes": written}
        finally:
            path.unlink()
    return {"errno": "", "bytes": written}


def allocate(event: Any) -> Any:
    """Takes memory, or lets a child process take it, and holds it for a moment."""

    def take() -> int:
        taken = bytearray(event["bytes"])
        for offset in range(0, len(taken), 4096):
            taken[offset] = 1
        time.sleep(event.get("seconds", 1))
        return len(taken)

    if not event.get("child"):
        return take()
    child = multiprocessing.get_context("fork").Process(target=take)
    child.start()
    child.join()
    return child.exitcode


def start_threads(event: Any) -> Any:
    """How many threads run at once."""
    done = threading.Event()
    threads = [threading.Thread(target=done.wait, daemon=True) for _ in range(event["count"])]
    for thread in threads:
        thread.start()
    time.sleep(event["seconds"])
    done.set()
    return len(threads)


def sleep(event: Any) -> Any:
    """Works past its time: what it says at the end nobody may see."""
    time.sleep(event["seconds"])
    Path(event["file"]).write_bytes(b"too late")


def count(event: Any) -> Any:
    """How often it ticked, since the last call too, and who it is."""
    if not KEPT["ticks"]:
        threading.Thread(target=count_ticks, args=(0.01,), daemon=True).start()
        time.sleep(0.3)
    return {"ticks": KEPT["ticks"], "clock": time.monotonic(), "worker": id(KEPT)}


def read_object(event: Any) -> Any:
    """Reads an object through a client that is kept, and tells what became of a connection that is kept beside it."""
    kept = _state(KEPT["socket"]) if "socket" in KEPT else "nothing"
    client: S3Client = KEPT.setdefault("client", _client())
    body = client.get_object(event["bucket"], event["key"]).body
    KEPT["socket"] = _connection()
    return {"body": body.decode(), "kept": kept, "now": _state(KEPT["socket"]), "worker": id(KEPT)}


def _connection() -> ssl.SSLSocket:
    """A connection to the server over which a request was answered."""
    server = urlsplit(os.environ["AWS_ENDPOINT_URL"])
    raw = socket.create_connection((server.hostname, server.port), timeout=5)
    context = ssl.create_default_context(cafile=os.environ["AWS_CA_BUNDLE"])
    found = context.wrap_socket(raw, server_hostname=server.hostname)
    found.sendall(b"HEAD /_ministack/health HTTP/1.1\r\nHost: here\r\n\r\n")
    answer = b""
    while not answer.endswith(b"\r\n\r\n"):
        answer += found.recv(65_536)
    assert answer.startswith(b"HTTP/1.1 ")
    found.settimeout(0.2)
    return found


def _state(connection: ssl.SSLSocket) -> str:
    try:
        return "closed" if connection.recv(1) == b"" else "answering"
    except TimeoutError:
        return "open"
    except OSError:
        return "closed"


def _client() -> S3Client:
    endpoint = Endpoint("us-east-1", os.environ["AWS_ENDPOINT_URL"])
    names = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
    given = Credentials(*(os.environ[name] for name in names))
    return S3Client(endpoint, lambda: given, transport=Transport(ca_file=os.environ["AWS_CA_BUNDLE"]))


DEEDS: dict[str, Callable[[Any], Any]] = {
    deed.__name__: deed
    for deed in (open_descriptors, write_files, fill_temporary, allocate, start_threads, sleep, count, read_object)
}


def handler(event: Any, context: Any) -> Any:
    """Does what the event says."""
    return DEEDS[event["do"]](event)
