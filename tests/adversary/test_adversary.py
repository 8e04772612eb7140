"""The adversary itself: its faults happen, its seeds reproduce, its S3 is strict, and its scripts are cut down."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace as replace_fields
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from fanout.adapters.aws.credentials import Credentials
from fanout.adapters.aws.endpoint import Endpoint
from fanout.adapters.s3.client.client import S3Client
from fanout.model.checksum import crc64nvme
from fanout.model.errors import NotFound, PreconditionFailed, Transient
from tests.adversary.conductor import Conductor
from tests.adversary.hangs import HANGS
from tests.adversary.lies import LIES
from tests.adversary.lying_s3 import LyingS3
from tests.adversary.oracle import judge
from tests.adversary.result import Deletion, Result
from tests.adversary.runner import carry_out
from tests.adversary.scope import Record
from tests.adversary.script import DIRECTIONS, WITHIN_MOUNT, Act, Fault, Script, Spec, from_json, to_json
from tests.adversary.shrink import shrunk
from tests.adversary.strict_s3 import StrictS3
from tests.adversary.trees import Version
from tests.adversary.vocabulary import ANY_LIES, REFUSALS, S3_LIES
from tests.adversary.wire import URL, wires
from tests.adversary.worlds import script_of
from tests.support.long import LONG

SOURCE = (Spec("a", size=9000, seed=1), Spec("b", size=10, seed=2))
QUIET = Script(0, WITHIN_MOUNT, SOURCE, (), (Act("run", "r1"), Act("run", "last")))


# Seeds in which each kind of fault happens at least once; find others when what is drawn changes.
EACH_KIND = (
    1011,
    1041,
    1051,
    1095,
    1122,
    1200,
    3565,
    601,
    606,
    624,
    634,
    655,
    664,
    700,
    719,
    745,
    847,
    894,
    895,
    968,
    1185,
    1805,
    20_008,
    20_010,
)
OTHER_FAULTS = (
    "change",
    "kill",
    "stop",
    "twice",
    "late",
    "freeze",
    "another run",
    "no answer of the ledger",
    "oversleep",
    *HANGS,
)


def test_each_kind_of_fault_happens(tmp_path: Path) -> None:
    told: Counter[str] = Counter()
    for seed in EACH_KIND:
        told.update(carry_out(script_of(seed), tmp_path / str(seed)).told)
    lies = {lie for some in S3_LIES.values() for lie in some} | set(ANY_LIES)
    wanted = {*lies, *REFUSALS, *OTHER_FAULTS, "ledger: lose", "ledger: cut", "ledger: flip"}
    assert wanted - told.keys() == set()


def test_a_seed_is_one_script_and_a_script_can_be_written_down() -> None:
    for seed in range(200):
        script = script_of(seed)
        assert script == script_of(seed)
        assert from_json(to_json(script)) == script
    assert {script_of(seed).direction for seed in range(10)} == set(DIRECTIONS)


def test_a_seed_ends_the_same_each_time(tmp_path: Path) -> None:
    for seed in range(6000, 6010 if LONG else 6003):
        first, second = (carry_out(script_of(seed), tmp_path / f"{seed}-{again}") for again in range(2))
        assert (first.statuses, first.told) == (second.statuses, second.told)


def test_a_file_system_without_faults_is_copied(tmp_path: Path) -> None:
    outcome = carry_out(QUIET, tmp_path / "lab")
    assert outcome.statuses == [("r1", "SUCCEEDED"), ("last", "SUCCEEDED")]


FILE, OTHER = Version("file", b"one", 0o600, 7, 0, 0, "1"), Version("file", b"two", 0o600, 7, 0, 0, "2")
TREE = {"a": FILE, "d/": Version("directory", mode=0o700), "d/b": Version("file", b"", 0o644, 8, 0, 0, "3")}
WRONG: dict[str, tuple[dict[str, Version | None], dict[str, Version], dict[str, Any]]] = {
    "lost": ({"d/b": None}, {}, {}),
    "wrong kind": ({"a": Version("symlink", b"one")}, {}, {}),
    "wrong bytes": ({"a": replace_fields(FILE, data=b"ONE", mark="9")}, {}, {}),
    "foreign bytes": ({"a": replace_fields(FILE, data=b"ONE", mark="9")}, {}, {}),
    "stale": ({"a": OTHER}, {"a": OTHER}, {}),
    "mode": ({"a": replace_fields(FILE, mode=0o644, mark="9")}, {}, {}),
    "mtime": ({"a": replace_fields(FILE, mtime_ns=8, mark="9")}, {}, {}),
    "deleted": ({"x": None}, {"x": OTHER}, {}),
    "guard": ({"x": None}, {"x": OTHER}, {"mode": "sync", "delete_guard": {"max_percent": 100.0}}),
    "written": ({}, {}, {"mode": "plan"}),
    "extra": ({"x": OTHER}, {"x": OTHER}, {"verify": "all"}),
}


def record_of(after: dict[str, Version | None], before: dict[str, Version], options: dict[str, Any]) -> Record:
    gone = Deletion(frozenset(path for path in before if after.get(path, OTHER) is None), 0, 0)
    there = {path: version for path, version in {**TREE, **before, **after}.items() if version is not None}
    result = Result("SUCCEEDED", None, {"balanced": True, "totals": {"listed": {"entries": len(TREE)}}}, finished=True)
    return Record("r1", options, before, there, [TREE], result, [], story=[TREE], raw=TREE, deletions=[gone])


def test_the_oracle_finds_nothing_where_nothing_is_wrong() -> None:
    assert list(judge(QUIET, record_of({}, {}, {}))) == []


@pytest.mark.parametrize("kind", list(WRONG))
def test_the_oracle_finds_what_is_wrong(kind: str) -> None:
    assert kind in {finding.kind for finding in judge(QUIET, record_of(*WRONG[kind]))}


@pytest.mark.parametrize(
    ("kind", "result"),
    [
        ("books", Result("SUCCEEDED", summary={"balanced": False, "totals": {"listed": {"entries": 3}}})),
        ("status", Result("FAILED_WITH_ITEMS", summary={"balanced": True, "totals": {"listed": {"entries": 3}}})),
        ("listed", Result("SUCCEEDED", summary={"balanced": True, "totals": {"listed": {"entries": 2}}})),
        ("unnamed error", Result("FAILED", unnamed=["list: KeyError: 'x'"])),
    ],
)
def test_the_oracle_holds_a_run_to_what_it_says(kind: str, result: Result) -> None:
    record = replace_fields(record_of({}, {}, {}), result=result)
    assert kind in {finding.kind for finding in judge(QUIET, record)}


def test_a_script_is_cut_to_what_matters() -> None:
    matters = Fault("os", 2, "EIO")
    run = Act("run", "r1", faults=(Fault("any", 3, "kill"), replace(matters, times=9)))
    cut = shrunk(replace(script_of(3), acts=(run,)), lambda one: any(fault.what == "EIO" for fault in one.faults()))
    assert cut.acts == (replace(run, faults=(matters,)),)
    assert not (cut.source or cut.destination or cut.options or cut.ledger_in_s3 or cut.skew_seconds)


def test_each_lie_that_is_drawn_is_known() -> None:
    assert {lie for lies in S3_LIES.values() for lie in lies} | set(ANY_LIES) <= set(LIES)


class TestStrictS3:
    """Where S3 refuses, the adversary's does."""

    @pytest.fixture
    def truth(self) -> StrictS3:
        made = StrictS3(lambda: 1_800_000_000, page_keys=3)
        made.buckets["a-bucket"] = {}
        return made

    @pytest.fixture
    def client(self) -> S3Client:
        credentials = Credentials("testing", "testing")
        return S3Client(Endpoint("us-east-1", URL), lambda: credentials, sleep=lambda seconds: None)

    def test_conditions_hold(self, truth: StrictS3, client: S3Client) -> None:
        with wires(LyingS3(truth, Conductor(lambda fault, attempt: None), "")):
            etag = client.put_object("a-bucket", "k", b"one", crc64nvme=crc64nvme(b"one"))
            with pytest.raises(PreconditionFailed):
                client.put_object("a-bucket", "k", b"two", {"if-none-match": "*"})
            with pytest.raises(PreconditionFailed):
                client.get_object("a-bucket", "k", if_match='"other"')
            with pytest.raises(NotFound):
                client.put_object("a-bucket", "none", b"two", {"if-match": etag})
            assert client.get_object("a-bucket", "k", byte_range=(1, 2)).body == b"ne"

    def test_checksums_hold(self, truth: StrictS3, client: S3Client) -> None:
        with wires(LyingS3(truth, Conductor(lambda fault, attempt: None), "")):
            with pytest.raises(Transient, match="BadDigest"):
                client.put_object("a-bucket", "k", b"one", crc64nvme=1)
            assert not truth.buckets["a-bucket"]

    def test_pages_follow_each_other_in_the_order_of_bytes(self, truth: StrictS3, client: S3Client) -> None:
        keys = sorted(["a", "a/b", "a b", "é", "\U0001f600", "z&<", "new\nline"], key=str.encode)
        for key in keys:
            truth.put("a-bucket", key, b"")
        with wires(LyingS3(truth, Conductor(lambda fault, attempt: None), "")):
            found, token = list[str](), ""
            while True:
                page = client.list_objects_v2("a-bucket", continuation=token)
                found += page.keys
                token = page.continuation
                if not token:
                    break
            assert found == keys
            assert client.list_objects_v2("a-bucket", delimiter="/").common_prefixes == ["a/"]

    def test_a_large_answer_is_received_whole(self, truth: StrictS3, client: S3Client) -> None:
        data = bytes(range(256)) * 8192
        truth.put("a-bucket", "large", data)
        with wires(LyingS3(truth, Conductor(lambda fault, attempt: None), "")):
            assert client.get_object("a-bucket", "large").body == data
