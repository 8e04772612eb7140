"""A run whose ledger is in a bucket is at work as long as its process renews its lease, for machines and functions."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from fanout.adapters.aws.credentials import Credentials, Given
from fanout.adapters.aws.endpoint import Endpoint
from fanout.adapters.directory.executions import MACHINE, execution_of
from fanout.adapters.s3.client.client import S3Client
from fanout.adapters.s3.work_store import S3WorkStore
from fanout.ledger.ledger import Ledger
from fanout.model.errors import InvalidRequest, LedgerBroken, NotFound, PreconditionFailed
from fanout.ports.store import Versioned
from fanout.runtime import bootstrap
from fanout.runtime.embedded import leases
from fanout.runtime.embedded.below_prefix import PrefixStore
from fanout.runtime.embedded.leases import EitherExecutions, LeasedExecutions, Leases
from fanout.work.context import nothing
from tests.contract.conftest import new_bucket
from tests.support.s3_servers import KEY, S3Server

EXECUTION = execution_of("first")
DEPLOYED = "arn:aws:states:us-east-1:123456789012:execution:fanout:first"


class Functions:
    """Step Functions, which knows ARNs alone."""

    def running(self, execution: str) -> bool:
        if not execution.startswith("arn:"):
            raise InvalidRequest(execution, "InvalidArn", "")
        return True


@pytest.fixture
def client(moto_server: S3Server) -> S3Client:
    return S3Client(Endpoint("us-east-1", moto_server.url), Given(Credentials(KEY, KEY)))


@pytest.fixture
def place(client: S3Client) -> Leases:
    return Leases(client, new_bucket(client), "work/")


def machine(place: Leases, lost: Callable[[str], None] = nothing) -> LeasedExecutions:
    return LeasedExecutions(place, Functions(), lost)


def until(holds: Callable[[], bool]) -> None:
    ends = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < ends
        time.sleep(0.02)


def test_one_process_carries_out_a_run_and_others_see_it_while_it_does(place: Leases) -> None:
    one, other, functions = machine(place), machine(place), EitherExecutions(place, Functions())
    assert not functions.running(EXECUTION) and functions.running(DEPLOYED)
    with one.hold("first", {"mode": "copy"}):
        with pytest.raises(InvalidRequest, match=r"at work in another process.*--name"), other.hold("first", {}):
            pass
        assert other.running(EXECUTION) and functions.running(EXECUTION) and other.running(DEPLOYED)
        found = other.find(EXECUTION)
        assert (found.machine, found.name, found.runs, found.input) == (MACHINE, "first", True, {"mode": "copy"})
    assert not other.running(EXECUTION)
    with pytest.raises(NotFound):
        other.find(EXECUTION)
    with other.hold("first", {}):
        assert one.running(EXECUTION)


def test_a_lease_that_is_not_renewed_ends_by_the_times_of_s3(place: Leases, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leases, "LEASE_SECONDS", 2.0)
    with machine(place).hold("first", {}):  # renewed after ten seconds
        assert machine(place).running(EXECUTION)
        until(lambda: not machine(place).running(EXECUTION))
        with machine(place).hold("first", {}):  # as by another process, after this one was killed
            assert machine(place).running(EXECUTION)


def test_a_lease_is_renewed(place: Leases, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leases, "LEASE_SECONDS", 3.0)
    monkeypatch.setattr(leases, "RENEW_SECONDS", 0.2)
    with machine(place).hold("first", {}):
        time.sleep(4.5)
        assert machine(place).running(EXECUTION)


def test_a_process_hears_that_another_one_has_its_lease(place: Leases, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leases, "RENEW_SECONDS", 0.05)
    monkeypatch.setattr(leases, "_LOOK_SECONDS", 0.05)
    lost = threading.Event()
    with machine(place, lambda _: lost.set()).hold("first", {}):
        S3WorkStore(place.client, place.bucket).put(place.key_of("first"), b"another's")
        assert lost.wait(20)


def test_a_process_that_cannot_renew_its_lease_hears_so_before_others_take_its_turn(
    place: Leases, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leases, "_LOOK_SECONDS", 0.05)
    monkeypatch.setattr(leases, "GIVE_UP_SECONDS", 0.3)
    lost = threading.Event()
    with machine(place, lambda _: lost.set()).hold("first", {}):
        assert lost.wait(20)
    assert leases.RENEW_SECONDS < leases.LEASE_SECONDS - 30


def test_a_lease_that_is_not_whole_is_named(place: Leases) -> None:
    for data in (b"{", b"[]", b"{}"):
        S3WorkStore(place.client, place.bucket).put(place.key_of("first"), data)
        with pytest.raises(LedgerBroken, match=r"work/locks/here/first\.json is not whole .* remove that object"):
            machine(place).find(EXECUTION)


def test_a_run_has_a_name_that_leads_nowhere_else(place: Leases) -> None:
    for name in ("../x", "a/b", ""):
        with pytest.raises(InvalidRequest), machine(place).hold(name, {}):
            pass


def test_a_ledger_below_a_prefix_has_the_keys_of_a_work_bucket(place: Leases) -> None:
    whole = S3WorkStore(place.client, place.bucket)
    below = PrefixStore(whole, "work/")
    below.put("runs/r/a", b"1")
    assert below.put_new("runs/r/b", b"2") and not below.put_new("runs/r/b", b"3")
    whole.put("runs/r/c", b"another's")
    assert list(below.list("runs/r/")) == ["runs/r/a", "runs/r/b"] and below.get("runs/r/b") == b"2"
    assert list(whole.list("")) == ["runs/r/c", "work/runs/r/a", "work/runs/r/b"]
    below.write_version("locks/x.json", b"one", "")
    with pytest.raises(PreconditionFailed):
        below.write_version("locks/x.json", b"two", "")
    assert below.read_version("locks/x.json").data == b"one" and below.read_version("locks/y.json") == Versioned()
    below.remove(["runs/r/a"])
    assert list(Ledger(below, "r").keys("")) == ["b"]


def test_a_function_of_a_stack_asks_for_the_lease_of_a_run_that_is_no_execution(
    place: Leases, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bootstrap, "stack_client", lambda: place.client)
    monkeypatch.setattr(bootstrap, "settings", lambda: SimpleNamespace(work_bucket=place.bucket))
    monkeypatch.setattr(bootstrap, "make_executions", Functions)
    writers = bootstrap.make_writers()
    assert not writers.running(EXECUTION) and writers.running(DEPLOYED)
    with machine(Leases(place.client, place.bucket)).hold("first", {}):
        assert writers.running(EXECUTION)
