"""Lists in many pages, a history that is behind, pauses of days: a run ends as it would without; see ``services``."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from msgspec.structs import replace

from fanout.ledger.objects import LedgerObjects
from fanout.ports.aws import Entered
from tests.adversary.runner import carry_out
from tests.adversary.script import DIRECTIONS, Fault, Script, Spec
from tests.adversary.services import FOR_EVER, History, Services, draw_services
from tests.adversary.test_forged_events import KINDS, script_of
from tests.support.long import drawn

SEEDS = range(120)
MORE = tuple(Spec(f"more/{number:02}", size=40, seed=number + 1) for number in range(30))
STATES = ("list", "partition", "copy", "finish", "delete", "verify", "summarise")


def many(direction: str, kind: str, faults: tuple[Fault, ...] = ()) -> Script:
    """A run of several shards."""
    script = script_of(direction, kind, faults)
    return replace(script, source=(*script.source, *MORE))


@pytest.mark.parametrize("seed", drawn(SEEDS, 40))
def test_a_run_ends_as_it_would_with_short_lists_and_a_history_that_is_current(seed: int, tmp_path: Path) -> None:
    draw = Random(f"services and more {seed}")
    direction, kind = draw.choice(DIRECTIONS), draw.choice([*KINDS])
    services = Services(draw.choice((1, 150, 700)), draw.choice((1, 2, 3)), draw.choice((1, 4)))
    faults = [Fault(f"{draw.choice(STATES)}/any", draw.randrange(1, 9), "forged event", seed=seed)]
    faults += [Fault(f"{draw.choice(STATES)}/any", draw.randrange(1, 9), draw.choice(("kill", "twice")))]
    expected = carry_out(many(direction, kind), tmp_path / "without")
    outcome = carry_out(replace(many(direction, kind, tuple(faults)), services=services), tmp_path / "with")
    assert outcome.findings == expected.findings == [], (direction, kind, services, faults)
    assert outcome.statuses == expected.statuses, (direction, kind, services, faults)


def test_a_history_that_never_shows_the_last_state_ends_the_run_by_name(tmp_path: Path) -> None:
    script = replace(script_of(DIRECTIONS[0], "copy"), services=Services(behind=FOR_EVER))
    outcome = carry_out(script, tmp_path / "lab")
    (finding,) = outcome.findings  # the oracle expects that a run without a fault succeeds
    assert finding.kind == "quiet run failed" and "does not show yet that it is at SummariseTransfer" in finding.text
    assert outcome.statuses == [("r1", "FAILED")]


def test_a_history_that_is_behind_shows_the_state_before_so_often() -> None:
    first, second = Entered("A", None), Entered("B", 1)
    history = History(2)
    for entered in (first, second, second):
        history["r1"] = entered
    assert [history.shown("r1") for _ in range(4)] == [first, first, second, second]


def test_lists_have_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And functions read them by page."""
    pages: set[int] = set()
    find = LedgerObjects.find_item

    def watched(ledger: LedgerObjects, key: object, shard: str, page: int) -> object:
        pages.add(page)
        return find(ledger, key, shard, page)  # type: ignore[arg-type]

    monkeypatch.setattr(LedgerObjects, "find_item", watched)
    script = replace(many(DIRECTIONS[0], "all"), services=Services(page_bytes=1))
    assert carry_out(script, tmp_path / "lab").findings == []
    assert len(pages) > 1


def test_a_run_that_has_to_end_by_a_time_gets_no_pauses() -> None:
    found = [draw_services(Random(seed), {"limits": {}}, is_new=True) for seed in range(50)]
    assert {one.pauses for one in found} == {0} and {one.page_bytes for one in found} > {0, 1}


def test_the_story_tells_what_the_services_do() -> None:
    story = replace(script_of(DIRECTIONS[0], "copy"), services=Services(1, 2, 3)).story()
    assert all(said in story for said in ("a page for each 1 bytes", "behind for 2 answers", "for a day, 3 times"))
