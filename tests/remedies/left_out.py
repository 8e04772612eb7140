"""Entries that the request leaves out, and how each is copied all the same."""

from __future__ import annotations

import os

from fanout.model.document import Json
from fanout.model.outcome import Reason
from tests.remedies.lab import Lab
from tests.remedies.table import Follow, follows

# Reason, request that leaves the file of 7 bytes out, and the change that lets it in.
FILTERS: dict[Reason, tuple[Json, Json]] = {
    Reason.EXCLUDED: ({"exclude": ["d/*"]}, {}),
    Reason.NOT_INCLUDED: ({"include": ["e/*"]}, {"include": ["e/*", "d/*"]}),
    Reason.SIZE_FILTERED: ({"min_size": 8}, {"min_size": 7}),
    Reason.TIME_FILTERED: ({"modified_before": "2001-01-01T00:00:00Z"}, {"modified_before": "2100-01-01T00:00:00Z"}),
}


def filtered(reason: Reason, before: Json, after: Json) -> Follow:
    """Change the filter."""

    def change_the_filter(lab: Lab) -> None:
        lab.write("d/f")
        lab.fails(reason, before)
        assert "d/f" not in lab.held()
        lab.start(after)
        assert lab.held() == {"d/f": "content"}

    return change_the_filter


for _reason, (_before, _after) in FILTERS.items():
    follows(_reason)(filtered(_reason, _before, _after))


@follows(Reason.SYMLINK)
def keep(lab: Lab) -> None:
    (lab.root / "link").symlink_to(lab.write("f").name)
    lab.fails(Reason.SYMLINK, {"symlinks": "skip"})
    lab.start({"symlinks": "keep"})
    assert lab.held() == {"f": "content", "link": "f"}


@follows(Reason.SYMLINK)
def follow(lab: Lab) -> None:
    (lab.root / "link").symlink_to(lab.write("f").name)
    lab.fails(Reason.SYMLINK, {"symlinks": "skip"})
    lab.start({"symlinks": "follow"})
    assert lab.held() == {"f": "content", "link": "content"}


@follows(Reason.KEPT)
def overwrite(lab: Lab) -> None:
    lab.write("f")
    lab.write("f", "other", "destination")
    lab.fails(Reason.KEPT, {"overwrite": "never"})
    assert lab.held() == {"f": "other"}
    lab.start({"overwrite": "always"})
    assert lab.held() == {"f": "content"}


@follows(Reason.FILTERED_NOT_EMPTY)
def empty_the_directory(lab: Lab) -> None:
    _protected(lab)
    (lab.out / "cache/kept.log").unlink()
    lab.start({**_SYNC, "exclude": ["*.log"]})
    assert not (lab.out / "cache").exists()


@follows(Reason.FILTERED_NOT_EMPTY)
def change_the_filters(lab: Lab) -> None:
    _protected(lab)
    lab.start(_SYNC)
    assert not (lab.out / "cache").exists()


_SYNC: Json = {"mode": "sync", "delete_guard": {"max_percent": 99.0}}


def _protected(lab: Lab) -> None:
    for number in range(20):
        lab.write(f"keep/{number}")
        lab.write(f"keep/{number}", end="destination")
    for name in ("old", "kept.log"):
        lab.write(f"cache/{name}", end="destination")
    lab.fails(Reason.FILTERED_NOT_EMPTY, {**_SYNC, "exclude": ["*.log"]})
    assert os.listdir(lab.out / "cache") == ["kept.log"]
