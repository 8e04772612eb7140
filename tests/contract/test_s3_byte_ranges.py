"""A block of an object received whole: answers that break off, and objects that are not what was listed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fanout.adapters.aws.credentials import Credentials
from fanout.adapters.aws.endpoint import Endpoint
from fanout.adapters.http.transport import Timeouts, Transport
from fanout.adapters.s3.client.client import S3Client
from fanout.adapters.s3.place import ObjectPlace
from fanout.adapters.s3.source import ObjectSource
from fanout.model.entry import Entry, Kind
from fanout.model.errors import ItemError, Throttled, Transient
from fanout.model.outcome import Reason
from tests.contract.scripted_server import Cut, ScriptedServer, answer, error

BODY = bytes(range(256)) * 1024  # 256 KiB, in blocks of 160 KiB
BLOCK = 160 * 1024
PIECE = 64 * 1024


@pytest.fixture
def source(server: ScriptedServer) -> Iterator[ObjectSource]:
    transport = Transport(Timeouts(connect_seconds=1, stall_seconds=1, total_seconds=2))
    client = S3Client(
        Endpoint("us-east-1", server.url),
        lambda: Credentials("id", "secret"),
        transport=transport,
        sleep=lambda _: None,
        draw=lambda: 0.0,
    )
    opened = ObjectSource(ObjectPlace(client, "bucket", "key"), Entry("key", Kind.FILE, len(BODY), etag='"e"'), BLOCK)
    yield opened
    opened.close()


def part(first: int, last: int, *, total: int = len(BODY), come: int | None = None, status: int = 206) -> bytes:
    """The answer to a range, of which only so many bytes come."""
    data = BODY[first : last + 1]
    headers = [f"Content-Range: bytes {first}-{last}/{total}", 'ETag: "e"']
    sent = answer(status, data[:come], *headers, length=len(data))
    return sent if come is None else Cut(sent)


def ranges_of(server: ScriptedServer) -> list[str]:
    lines = b"".join(server.requests).decode().split("\r\n")
    return [line.partition("=")[2] for line in lines if line.startswith("range: ")]


def test_a_block_is_one_request(server: ScriptedServer, source: ObjectSource) -> None:
    server.script = [part(0, BLOCK - 1), part(BLOCK, len(BODY) - 1)]
    assert source.read(0, BLOCK) + source.read(BLOCK, BLOCK) == BODY
    assert ranges_of(server) == [f"0-{BLOCK - 1}", f"{BLOCK}-{len(BODY) - 1}"]


@pytest.mark.parametrize("come", [0, 10, PIECE, PIECE + 1, BLOCK - 1])
def test_what_is_left_is_asked_for_again_where_an_answer_breaks_off(
    server: ScriptedServer, source: ObjectSource, come: int
) -> None:
    server.script = [part(0, BLOCK - 1, come=come), error(503, "SlowDown"), part(come, BLOCK - 1)]
    assert source.read(0, BLOCK) == BODY[:BLOCK]
    again = f"{come}-{BLOCK - 1}"
    assert ranges_of(server) == [f"0-{BLOCK - 1}", again, again]
    assert all(b'if-match: "e"' in request for request in server.requests)


def test_attempts_end_where_not_a_byte_comes(server: ScriptedServer, source: ObjectSource) -> None:
    server.script = [part(0, BLOCK - 1, come=PIECE), *[error(503, "SlowDown")] * 5]
    with pytest.raises(Throttled, match="SlowDown"):
        source.read(0, BLOCK)
    assert len(server.requests) == 6


def test_a_break_that_stays_is_transient(server: ScriptedServer, source: ObjectSource) -> None:
    server.script = [part(first, BLOCK - 1, come=10) for first in range(0, 50, 10)]
    with pytest.raises(Transient, match="GetObject on s3://bucket/key"):
        source.read(0, BLOCK)
    assert len(server.requests) == 5


@pytest.mark.parametrize(
    "changed",
    [
        error(412, "PreconditionFailed"),
        part(PIECE, BLOCK - 2),  # ends sooner than it was asked to
        part(PIECE, BLOCK - 1, status=200),
        answer(200, BODY),
    ],
    ids=["written since", "shorter", "says 200", "the whole object"],
)
def test_a_block_is_never_put_together_of_two_objects(
    server: ScriptedServer, source: ObjectSource, changed: bytes
) -> None:
    server.script = [part(0, BLOCK - 1, come=PIECE), *[changed] * 5]
    try:
        source.read(0, BLOCK)
        pytest.fail("bytes of another object")
    except ItemError as problem:
        assert problem.reason is Reason.SOURCE_CHANGED
    except Transient as problem:
        assert "WrongAnswer" in str(problem)


def test_an_object_of_another_size_is_refused(server: ScriptedServer, source: ObjectSource) -> None:
    server.script = [part(0, BLOCK - 1, total=len(BODY) + 1)]
    with pytest.raises(ItemError, match="listed with"):
        source.read(0, BLOCK)


def test_reads_that_do_not_begin_a_block_ask_for_what_they_want(server: ScriptedServer, source: ObjectSource) -> None:
    server.script = [part(5, 9), part(BLOCK - 7, BLOCK - 1)]
    assert source.read(5, 5) == BODY[5:10]
    assert source.read(BLOCK - 7, 7) == BODY[BLOCK - 7 : BLOCK]
    assert ranges_of(server) == ["5-9", f"{BLOCK - 7}-{BLOCK - 1}"]


def test_of_an_answer_to_another_request_not_a_byte_is_handed_over(
    server: ScriptedServer, source: ObjectSource
) -> None:
    other = [error(503, "SlowDown"), answer(200, BODY), part(PIECE, BLOCK - 1), part(0, BLOCK - 2)]
    server.script = [*other, part(0, BLOCK - 1)]
    assert b"".join(source.stream(0, BLOCK)) == BODY[:BLOCK]
    assert len(server.requests) == 5


def test_a_stream_that_is_left_closes_its_connection(server: ScriptedServer, source: ObjectSource) -> None:
    server.script = [part(0, BLOCK - 1), part(0, BLOCK - 1)]
    pieces = source.stream(0, BLOCK)
    assert next(pieces) == BODY[:BLOCK]  # less than a piece
    pieces.close()
    assert source.read(0, BLOCK) == BODY[:BLOCK]
