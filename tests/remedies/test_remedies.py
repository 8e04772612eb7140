"""Each part of each remedy in the table of reasons is followed literally, and what follows ends green."""

from __future__ import annotations

import os
import re

import pytest

from fanout.model.outcome import Reason
from tests.remedies import compared, deleted, destination, left_out, names, refused, source, work  # noqa: F401 - fill CASES
from tests.remedies.lab import RETRY, START, Lab
from tests.remedies.table import CASES, Case, parts
from tests.support.nobody import open_directory

# The parts of remedies that no case follows, and why. The list does not grow.
NOT_FOLLOWED = {
    (
        Reason.IN_BACKUP,
        0,
    ): "a request whose backup lies in an end is refused; only another name of the place leads there",
}
# The act that each of these words is.
ACTS = {RETRY: r"retry", START: r"start (the|a) |sync again|start .* again|verify again|request [a-z_]+:"}

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root to give up")


@pytest.fixture(scope="module", autouse=True)
def modules_are_loaded() -> None:
    """Runs once as root: a user without rights may not be able to read what is imported late."""
    with open_directory() as mount:
        lab = Lab(mount)
        lab.write("d/f")
        (lab.root / "link").symlink_to("d")
        lab.run({"symlinks": "follow"})
        lab.write("d/g")
        lab.retry()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_remedy_that_is_followed_works(case: Case) -> None:
    with open_directory() as mount:
        lab = Lab(mount, case.source, case.destination)
        case.follow(lab)
        assert lab.acts, "nothing followed the remedy"
        for act in set(lab.acts):
            others = [words for name, words in ACTS.items() if name != act]
            named = re.search(ACTS[act], case.part)
            assert named or not any(re.search(words, case.part) for words in others), (act, case.part)


def test_every_part_of_every_remedy_is_followed_or_says_why_not() -> None:
    every = {(reason, number) for reason in Reason if reason.remedy for number in range(len(parts(reason.remedy)))}
    followed = {(case.reason, parts(case.reason.remedy).index(case.part)) for case in CASES}
    assert followed.isdisjoint(NOT_FOLLOWED)
    assert every == followed | set(NOT_FOLLOWED)
    assert len(NOT_FOLLOWED) <= 1
