"""A run starts no more functions than the account lets run."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from msgspec import Struct

from fanout.facts.tuning import LIST_CONCURRENCY
from fanout.listing.gather_segments import gather_segments
from fanout.model.entry import Kind
from fanout.model.errors import AccessDenied, FanoutError, Throttled, Transient, Unreachable
from fanout.verifying.begin_verification import begin_verification
from tests.support.flow import REQUEST, World
from tests.support.memory_store import MemoryStore

STACK = 10  # what ``World.plan`` takes for the stack's MaxConcurrency


class Account(Struct):
    """An account with so much concurrency; the first ``errors`` questions fail."""

    unreserved: int
    errors: list[FanoutError]
    asked: int = 0

    def unreserved_concurrency(self) -> int:
        self.asked += 1
        if self.errors:
            raise self.errors.pop(0)
        return self.unreserved


def world_in(unreserved: int, *errors: FanoutError, reserved: int = 0) -> World:
    world = World()
    world.source.put("file", Kind.FILE, b"x")  # type: ignore[attr-defined]
    world.account, world.reserved_concurrency = Account(unreserved, list(errors)), reserved
    return world


def functions_of(world: World) -> int:
    return world.ledger.read_plan().request.limits.max_concurrency


def lowered(notes: list[str]) -> list[str]:
    return [note for note in notes if note.startswith("limits.max_concurrency is ")]


@pytest.mark.parametrize("asked", [None, 9, 10])
def test_a_run_in_a_small_account_starts_fewer_functions_and_says_so(asked: int | None) -> None:
    world = world_in(10)
    request = REQUEST if asked is None else {**REQUEST, "limits": {"max_concurrency": asked}}
    summary = world.run(request)
    assert functions_of(world) == 8
    [note] = lowered(summary["notes"])
    assert f"is 8 and not {asked or STACK}: " in note and "account" in note
    assert world.ledger.read_json("plan.json")["quota"] == 8


@pytest.mark.parametrize(("unreserved", "asked"), [(10, 8), (10, 3), (1_000, None), (12, None)])
def test_what_the_account_lets_run_is_not_touched(unreserved: int, asked: int | None) -> None:
    world = world_in(unreserved)
    summary = world.run(REQUEST if asked is None else {**REQUEST, "limits": {"max_concurrency": asked}})
    assert functions_of(world) == (asked or STACK)
    assert lowered(summary["notes"]) == []


@pytest.mark.parametrize(
    "error", [AccessDenied("lambda:GetAccountSettings", "the account", "allow it"), Unreachable("no")]
)
def test_where_lambda_does_not_say_the_limit_of_the_run_stands_with_a_note(error: FanoutError) -> None:
    world = world_in(10, error)
    summary = world.run(REQUEST)
    assert functions_of(world) == STACK
    assert world.ledger.read_plan().quota is None
    assert [note for note in summary["notes"] if "is not known" in note and type(error).__name__ in note]


def test_a_question_that_is_throttled_or_lost_is_asked_again() -> None:
    world = world_in(10, Throttled("slow down"), Transient("lost"))
    world.plan(REQUEST)
    assert functions_of(world) == 8


def test_reserved_concurrency_is_what_counts_where_there_is_some() -> None:
    """The functions that fan out have it for themselves, so the account is not asked."""
    world = world_in(1_000, reserved=4)
    summary = world.run(REQUEST)
    assert functions_of(world) == 4
    assert "ReservedFanOutConcurrency is 4" in lowered(summary["notes"])[0]
    assert world.account.asked == 0  # type: ignore[union-attr]


class ListedStore(MemoryStore):
    """Says when it is asked for the run's ledger."""

    def __init__(self) -> None:
        super().__init__()
        self.is_asked = threading.Event()

    def list(self, prefix: str) -> Iterator[str]:
        self.is_asked.set()
        return super().list(prefix)


class SlowAccount(Account, kw_only=True):
    """Answers when other questions of the plan are under way."""

    store: ListedStore

    def unreserved_concurrency(self) -> int:
        assert self.store.is_asked.wait(10), "nothing else is asked meanwhile"
        return super().unreserved_concurrency()


def test_other_questions_of_the_plan_do_not_wait_for_the_quota() -> None:
    """boto3 takes as long to load as the other requests of a plan together."""
    store = ListedStore()
    world = World(store=store)
    world.source.put("file", Kind.FILE, b"x")  # type: ignore[attr-defined]
    world.account = SlowAccount(10, [], store=store)
    assert world.plan(REQUEST)
    assert functions_of(world) == 8


def test_without_an_account_to_ask_nothing_is_noted() -> None:
    world = World()
    summary: dict[str, Any] = world.run(REQUEST)
    assert functions_of(world) == STACK
    assert [note for note in summary["notes"] if "concurrency" in note or "account" in note] == []


@pytest.mark.parametrize(("unreserved", "at_once"), [(10, 8), (1_000, LIST_CONCURRENCY)])
def test_no_more_functions_list_at_once_in_any_round(unreserved: int, at_once: int) -> None:
    world = world_in(unreserved)
    state = world.plan({**REQUEST, "verify": "all"})
    assert state["list"]["max_concurrency"] == at_once
    reference = world.list_all(state)
    assert gather_segments(1, world.context(), at_once)["max_concurrency"] == at_once
    assert reference["count"] == 0
    assert begin_verification(world.context(), "work")["list"]["max_concurrency"] == at_once
