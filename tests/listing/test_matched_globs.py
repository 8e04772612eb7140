"""Globs that match nothing are named in a warning, and looking for them has an end."""

from __future__ import annotations

from typing import Any

import pytest

from fanout.model.document import Json
from fanout.model.entry import Kind
from fanout.request.filtering import matched
from fanout.request.filtering.filters import Filters
from fanout.request.filtering.matched import MOST_CHECKS, MOST_GLOBS, MatchedGlobs
from tests.support.flow import REQUEST, World
from tests.support.memory import MemoryTree

TREE = ("a.jpg", "b.png", "build/x.o", "photos/c.jpg", "photos/d.tmp")


def warnings(globs: Json, again: int = 0, there: tuple[str, ...] = (), **fields: Any) -> list[str]:
    world = World()
    assert isinstance(world.source, MemoryTree)
    assert isinstance(world.destination, MemoryTree)
    for path in TREE:
        world.source.put(path, Kind.FILE, b"content")
    for path in there:
        world.destination.put(path, Kind.FILE, b"content")
    for number in range(again):
        world.run_id = f"before-{number}"
        world.run({**REQUEST, **globs})
    world.run_id = "run-1"
    summary = world.run({**REQUEST, **globs, **fields})
    assert summary["status"] == "SUCCEEDED"
    found: list[str] = summary["warnings"]
    return found


def missed(*globs: str) -> list[str]:
    return [f"No entry that was listed matches {', '.join(globs)}; check how it is written"]


CASES = [
    ({"include": ["*.jpg"]}, []),
    ({"exclude": ["*.tmp", "build/"]}, []),
    ({"include": ["*.jpg", "*.jpge"]}, missed("include *.jpge")),
    ({"include": ["*", "*.jpg"]}, []),
    ({"include": ["*.jpg", "photos/"], "exclude": ["*.tmp", "biuld/"]}, missed("exclude biuld/")),
    ({"exclude": ["*.tnp", "photos/*.tmp", "*.tmp"]}, missed("exclude *.tnp")),
    ({"exclude": ["build/", "*.o"]}, missed("exclude *.o")),
    ({"include": ["*.jpg"], "exclude": ["q", "r", "s", "t"]}, missed("exclude q", "exclude r", "exclude s and 1 more")),
]


@pytest.mark.parametrize(("globs", "warned"), CASES)
@pytest.mark.parametrize("again", [0, 1])
@pytest.mark.parametrize("mode", ["copy", "sync", "plan"])
def test_each_glob_that_matched_nothing_is_named(globs: Json, warned: list[str], again: int, mode: str) -> None:
    assert warnings(globs, again, mode=mode) == warned


def test_filters_that_took_nothing_are_named_first() -> None:
    found = warnings({"include": ["none"], "exclude": ["q"]})
    assert found[0].startswith("The filters took nothing")
    assert found[1:] == missed("exclude q")


def test_a_glob_that_matches_only_what_a_sync_protects_is_not_named() -> None:
    globs = {"exclude": ["kept-there"]}
    assert warnings(globs, there=("kept-there",), mode="sync") == []
    assert warnings(globs) == missed("exclude kept-there")


def test_a_succeeded_run_keeps_its_headline_beside_the_warning() -> None:
    world = World()
    assert isinstance(world.source, MemoryTree)
    world.source.put("a", Kind.FILE, b"content")
    world.run({**REQUEST, "exclude": ["*.tnp"]})
    page = world.ledger.read_bytes("report.html").decode()
    assert "Succeeded</h1>" in page
    assert missed("exclude *.tnp")[0] in page


def test_looking_has_an_end_and_what_is_not_known_is_not_named(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[str] = []

    def compiled(glob: str) -> _Never:
        tried.append(glob)
        return _Never()

    monkeypatch.setattr(matched, "_compiled", compiled)
    globs = MatchedGlobs(Filters(include=("*.jpg", "*.jpge")))
    globs.look("include", (f"{number}.jpg" for number in range(MOST_CHECKS)))
    assert (len(tried), globs.names) == (MOST_CHECKS, None)
    assert not globs.seeks("include")


@pytest.mark.parametrize("stops", [True, False], ids=["broken off", "whole"])
def test_a_run_that_resumes_another_names_no_glob_that_it_did_not_look_for(stops: bool) -> None:
    world = World()
    assert isinstance(world.source, MemoryTree)
    for path in TREE:
        world.source.put(path, Kind.FILE, b"content")
    request = {**REQUEST, "include": ["*.jpg", "*.jpge"]}
    if stops:
        world.list_all(world.plan(request))
    else:
        world.run(request)
    summary = world.next_run("run-2").run({"resume_from": "run-1"})
    assert (summary["status"], summary["warnings"]) == ("SUCCEEDED", [])


class _Never:
    def match(self, path: str) -> None:
        """Match nothing."""


def test_very_many_globs_are_not_looked_for() -> None:
    many = tuple(f"{number}.txt" for number in range(MOST_GLOBS + 1))
    assert MatchedGlobs(Filters(exclude=many)).names is None
    assert MatchedGlobs(Filters(exclude=many[:-1])).names == []
