"""What the page of a run tells first, by its mode and its end: headline, sentence and lists of entries."""

from __future__ import annotations

import html
import re

import pytest
from msgspec import convert
from msgspec.structs import replace

from fanout.books.failures import FailureClass
from fanout.books.summary_document import SUMMARY, SummaryDocument
from fanout.forecast.phases import INSIDE
from fanout.model.errors import DeleteRefused
from fanout.model.outcome import Reason, Result
from fanout.partition.partition_shards import partition_shards
from fanout.report.page import Findings, render_report
from fanout.report.verdict import verdict
from fanout.request.plan import settings_row
from fanout.summary.summarise_transfer import summarise_transfer
from tests.support import runs
from tests.support.flow import World

SYNC = {"source": "s3://a-bucket/tree/", "destination": "efs:///copy", "mode": "sync"}


def page_of(world: World) -> str:
    return world.store.get(f"{world.ledger.prefix}report.html").decode()


def headline(page: str) -> str:
    found = re.search(r"<h1>.*?</span> (.*?)</h1>", page)
    assert found is not None
    return found[1]


def section(page: str, title: str) -> str:
    return page.split(f">{title}</h2>")[1].split("</section>")[0]


def refused() -> World:
    """A sync that its guard refused: 40 of 60 entries of the destination are extra."""
    world = runs.filled()
    for number in range(40):
        world.destination.put(f"kept/{number:02d}", runs.Kind.FILE, b"old")  # type: ignore[attr-defined]
    world.list_all(world.plan(SYNC))
    with pytest.raises(DeleteRefused) as caught:
        partition_shards(world.context())
    error = {"Error": "DeleteRefused", "Cause": str(caught.value)}
    summarise_transfer(error, world.context())
    return world


def test_a_verification_with_differences_never_says_that_nothing_is_missing() -> None:
    page = page_of(runs.compared())
    assert re.fullmatch(r"Trees differ: [\d,]+ \w+(, [\d,]+ \w+)*", headline(page))
    assert "nothing is missing" not in page
    assert 'id="failures-head">Differences<' in page


@pytest.mark.parametrize(
    ("unlisted", "told"),
    [
        (1, "1 directory could not be listed: what is in it is unknown."),
        (2, "2 directories could not be listed: what is in them is unknown."),
        (0, "A part of the tree could not be listed: what is in it is unknown."),
    ],
)
def test_what_could_not_be_listed_is_said_to_be_unknown(unlisted: int, told: str) -> None:
    summary = convert(runs.hostile().ledger.read_json("summary.json"), SummaryDocument)
    unread = FailureClass("list", Result.FAILED, Reason.UNLISTABLE.value, unlisted, 0, "")
    partial = replace(summary, complete_listing=False, failures_by_class=[unread] if unlisted else [])
    assert verdict(partial).sentence.endswith(told)
    assert "accounted for" not in verdict(partial).sentence
    assert "accounted for" in verdict(replace(summary, complete_listing=True)).sentence


def test_a_refused_sync_attempted_nothing_and_names_what_it_would_have_deleted() -> None:
    world = refused()
    summary = world.ledger.read_json("summary.json")
    assert headline(page_of(world)) == "Refused, and nothing was deleted"
    assert {one["reason"] for one in summary["failures_by_class"]} == {Reason.NOT_ATTEMPTED.value}
    assert Reason.SHARD_FAILED.value not in page_of(world)
    page = page_of(world)
    assert page.index("Refused to delete") < page.index('id="failures"')
    assert all(f"kept/{number:02d}" in page for number in range(40))


def test_a_plan_names_the_first_copies_and_the_deletions() -> None:
    page = page_of(runs.planned())
    assert headline(page) == "Would copy 40, would be refused to delete 1"
    copies = section(page, "Would be copied")
    deletions = section(page, "Would be deleted by a sync")
    assert copies.count("<tr>") - 1 == 25
    assert "the first 25 are shown" in copies
    assert "extra/file" in deletions


def test_a_sync_names_what_it_deleted() -> None:
    assert "d2/extra" in section(page_of(runs.synced()), "Deleted at the destination")


def test_settings_that_differ_from_the_defaults_come_first() -> None:
    settings = page_of(runs.synced()).split('id="settings"')[1]
    changed, _, others = settings.partition("The other settings")
    assert "<code>mode</code>" in changed and "<code>mode</code>" not in others
    assert "<code>symlinks</code>" in others
    assert '\n "mode": "sync"\n' in html.unescape(changed)  # the request, to copy


def test_a_predicted_pause_is_in_the_phases_that_waited() -> None:
    world = runs.filled()
    world.run({**SYNC, "mode": "copy", "limits": {"window": "00:00-23:30 UTC"}})
    rows = section(page_of(world), "Where the time went").split("<tr>")
    [pause] = [row for row in rows if '<th scope="row">pause<' in row]
    assert "in other phases" in pause


@pytest.mark.parametrize("phase", INSIDE)
def test_a_phase_that_another_carries_out_is_in_other_phases(phase: str) -> None:
    world = runs.filled()
    world.run({**SYNC, "mode": "copy"})
    summary = world.ledger.read(SUMMARY)
    assert summary.forecast is not None
    predicted = {**summary.forecast.predicted_seconds, phase: 900.0, "publish": 1.0}
    summary = replace(summary, tasks=[], forecast=replace(summary.forecast, predicted_seconds=predicted))
    page = render_report(Findings(summary, settings_row(world.ledger.read_plan()), [], []))
    rows = section(page, "Where the time went").split("<tr>")
    said = {name: row for row in rows for name in (phase, "publish") if f'<th scope="row">{name}<' in row}
    assert "in other phases" in said[phase] and "not done" in said["publish"]


def test_a_move_says_what_is_gone_at_the_source_and_names_it() -> None:
    world = runs.filled()
    world.run({"source": "s3://a-bucket/tree/", "destination": "efs:///copy", "mode": "move"})
    page = page_of(world)
    assert "40 are proven and deleted at the source." in page
    assert "d1/f001" in section(page, "Deleted at the source")
