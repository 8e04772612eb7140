"""Each row of the table of next steps: a run meets it, its line is taken literally, and does what its sentence says."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fanout.books.next_step import RULES, EndedRun
from fanout.books.step import Verb
from fanout.model.document import Json
from fanout.model.errors import (
    TASK_ERRORS,
    AccessDenied,
    BudgetRefused,
    DeleteRefused,
    DestinationBusy,
    FanoutError,
    FinishRefused,
    InvalidRequest,
    LedgerBroken,
    ListingIncomplete,
    NotFound,
    OutOfBudget,
    OutOfTime,
    PreconditionFailed,
    Stalled,
    Superseded,
    Throttled,
    Transient,
    Unreachable,
)
from fanout.request.course import Mode
from tests.remedies.deleted import _before_deletion
from tests.remedies.lab import Attempt, Lab
from tests.remedies.next_steps import End, ended, failing, follow, rule_of
from tests.support.nobody import open_directory

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root to give up")


def two_files(lab: Lab) -> None:
    lab.write("a")
    lab.write("b")


def empty(lab: Lab) -> Attempt:
    return lab.run()


def nothing_taken(lab: Lab) -> Attempt:
    two_files(lab)
    return lab.run({"include": ["*.xyz"]})


def planned(lab: Lab) -> Attempt:
    two_files(lab)
    return lab.run({"mode": "plan", "exclude": ["b"]})


def differs(lab: Lab) -> Attempt:
    two_files(lab)
    lab.run()
    times = (lab.out / "a").stat()
    (lab.out / "a").write_text("CONTENT")
    os.utime(lab.out / "a", ns=(times.st_atime_ns, times.st_mtime_ns))
    return lab.run({"mode": "verify"})


def extra(lab: Lab) -> Attempt:
    two_files(lab)
    lab.run()
    lab.write("extra", end="destination")
    return lab.run({"mode": "verify"})


def denied(lab: Lab) -> Attempt:
    two_files(lab)
    (lab.root / "a").chmod(0o600)
    return lab.run(denied=True)


def changed(lab: Lab) -> Attempt:
    two_files(lab)

    def during(world: object) -> Json:
        state = world.plan(lab.request)  # type: ignore[attr-defined]
        world.list_all(state)  # type: ignore[attr-defined]
        lab.write("a", "other content")
        world.copy_all()  # type: ignore[attr-defined]
        world.finish_all()  # type: ignore[attr-defined]
        summary: Json = world.end()  # type: ignore[attr-defined]
        return summary

    return lab.run(during=during)


def over_its_guard(lab: Lab) -> Attempt:
    for number in range(20):
        lab.write(f"keep/{number}")
        lab.write(f"keep/{number}", end="destination")
    for name in "abc":
        lab.write(f"old/{name}", end="destination")
    request = {**lab.request, "mode": "sync", "delete_guard": {"max_count": 2, "max_percent": 99.0}}
    return lab.run({"mode": "sync", "delete_guard": {"max_count": 2, "max_percent": 99.0}}, during=failing(request))


def move_over_its_guard(lab: Lab) -> Attempt:
    for name in "abc":
        lab.write(name)
    changes = {"mode": "move", "delete_guard": {"max_count": 2}}
    return lab.run(changes, during=failing({**lab.request, **changes}))


def not_verified(lab: Lab) -> Attempt:
    two_files(lab)

    def during(world: object) -> Json:
        request = {**lab.request, "verify": "copied"}
        world.list_all(world.plan(request))  # type: ignore[attr-defined]
        world.copy_all()  # type: ignore[attr-defined]
        world.finish_all()  # type: ignore[attr-defined]
        times = (lab.out / "a").stat()
        (lab.out / "a").write_text("CONTENT")
        os.utime(lab.out / "a", ns=(times.st_atime_ns, times.st_mtime_ns))
        summary: Json = world.end("copied")  # type: ignore[attr-defined]
        return summary

    return lab.run({"verify": "copied"}, during=during)


def sync_could_not_delete(lab: Lab) -> Attempt:
    for number in range(20):
        lab.write(f"keep/{number}")
        lab.write(f"keep/{number}", end="destination")
    lab.write("gone/old", end="destination")
    with _before_deletion(lambda: lab.write("gone/new", end="destination")):
        return lab.run({"mode": "sync", "delete_guard": {"max_percent": 99.0}})


def broken(error: FanoutError, **changes: Any) -> Callable[[Lab], Attempt]:
    """A run that a task's error ends once everything is listed."""

    def meet(lab: Lab) -> Attempt:
        two_files(lab)
        return lab.run(dict(changes), during=failing({**lab.request, **changes}, error))

    meet.__name__ = "_".join((type(error).__name__, *map(str, changes.values())))
    return meet


def refused(lab: Lab) -> Attempt:
    two_files(lab)
    return lab.run({"on_conflict": "escape"}, during=lambda _: {})


def over_budget(lab: Lab) -> Attempt:
    two_files(lab)
    request = {**lab.request, "limits": {"max_dollars": 0.01}, "prices": {"lambda_request": 1.0}}
    return lab.run({"limits": {"max_dollars": 0.01}, "prices": {"lambda_request": 1.0}}, during=failing(request))


def too_late(lab: Lab) -> Attempt:
    for number in range(90):
        (lab.root / f"f{number}").write_text("content")
    slow = {"finish_by": "1m", "files_per_second": 1}
    return lab.run({"limits": slow}, during=failing({**lab.request, "limits": slow}))


def open_it(lab: Lab) -> None:
    (lab.root / "a").chmod(0o644)


ENDS = [
    End("succeeded, and nothing was listed", empty, two_files, ("source=SOURCE", "source=efs:///in")),
    End("succeeded, and the filters took nothing", nothing_taken, fill=("*.xyz", "*")),
    End("succeeded", planned, claim=lambda lab: lab.held() == {"a": "content"}),
    End("differences, or entries that were not compared", differs),
    End(
        "all of the source is at the destination, which holds more",
        extra,
        claim=lambda lab: lab.runs[-1].summary["planned"]["to_delete"]["entries"] == 1,
    ),
    End("failed entries", denied, open_it),
    End("entries changed while they were copied", changed),
    End("the verification found differences", not_verified),
    End("failed or rejected entries", sync_could_not_delete),
    End("`AccessDenied`, `Unreachable`", broken(AccessDenied("reading", "the source", "allow it"))),
    End("`AccessDenied`, `Unreachable`", broken(Unreachable("S3 does not answer; open the way"))),
    End("`DestinationBusy`, `Superseded`", broken(Superseded("run-0"))),
    End("`LedgerBroken`", broken(LedgerBroken("a row is not whole"))),
    End("`OutOfTime`, `OutOfBudget`", broken(OutOfTime(1.0))),
    End("`OutOfTime`, `OutOfBudget`", broken(OutOfBudget(2.0, 1.0))),
    End("stopped, or broken off", broken(Transient("the network"))),
    End("stopped, or broken off", broken(Transient("the network"), mode="sync")),
    End(
        "`InvalidRequest`",
        refused,
        fill=(" --on-conflict escape", ""),
        ended=EndedRun(None, "FAILED", "InvalidRequest"),
    ),
    End("`FinishRefused`", too_late, fill=("TIME", "2h"), claim=lambda lab: len(lab.held()) == 90),
    End("`BudgetRefused`", over_budget, fill=("DOLLARS", "1000")),
    End(
        "`DeleteRefused`",
        over_its_guard,
        claim=lambda lab: (
            lab.runs[-1].summary["planned"]["to_delete"]["entries"] == 4
            and "max_count 2" in lab.runs[-1].summary["planned"]["delete_refused"]
        ),
    ),
    End(
        "`DeleteRefused`",
        move_over_its_guard,
        fill=("--again", "--again --set delete_guard.max_count=6"),
        claim=lambda lab: lab.held() == dict.fromkeys("abc", "content") and not lab.held("source"),
    ),
]
# Rows whose command starts no run, and rows that another case of this room follows, each with its file.
ELSEWHERE = {
    "still runs": "tests/cli/test_run_commands.py",
    "skipped: another run carries out the same transfer": "tests/cli/test_run_commands.py",
    "only rejected entries are left": "tests/remedies/names.py",
    "entries could not be deleted at the source": "tests/remedies/deleted.py",
}


# An instance of each error that can end a run by itself, once its listing is whole; the others have rows above.
ERRORS: list[FanoutError] = [
    AccessDenied("reading", "the source", "allow it"),
    Unreachable("S3 does not answer; open the way"),
    DestinationBusy("efs:///out", "run-0", "copy"),
    Superseded("run-0"),
    LedgerBroken("a row is not whole"),
    ListingIncomplete("a page is missing"),
    Throttled("SlowDown"),
    Transient("the network"),
    Stalled("CopyShard", 70.0, "a connection"),
    NotFound("an object"),
    PreconditionFailed("If-Match"),
    OutOfTime(1.0),
    OutOfBudget(2.0, 1.0),
]
WITH_A_VALUE = {InvalidRequest, BudgetRefused, FinishRefused, DeleteRefused}
COMPLETE = {
    Mode.COPY: {"a": "content", "b": "content"},
    Mode.SYNC: {"a": "content", "b": "content"},
    Mode.MOVE: {"a": "content", "b": "content"},
    Mode.PLAN: {},
    Mode.VERIFY: {"a": "content", "b": "content"},
}


@pytest.mark.parametrize("end", ENDS, ids=lambda end: end.meet.__name__)
def test_the_advised_line_does_what_its_sentence_says(end: End) -> None:
    with open_directory() as mount:
        lab = Lab(mount)
        met = end.meet(lab)
        how = end.ended or ended(met)
        assert rule_of(how).how == end.how, how
        end.mend(lab)
        after = follow(lab, met, how, end.fill)
        assert after.summary["status"] == "SUCCEEDED", (after.summary["error"], after.troubles)
        assert end.claim(lab), (lab.held(), lab.held("source"))


def test_every_error_is_among_these() -> None:
    assert {type(error) for error in ERRORS} | WITH_A_VALUE == set(TASK_ERRORS)


@pytest.mark.parametrize("mode", COMPLETE)
@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_the_line_after_each_error_in_each_mode_works_as_it_stands(error: FanoutError, mode: Mode) -> None:
    with open_directory() as mount:
        lab = Lab(mount)
        two_files(lab)
        if mode is Mode.VERIFY:
            lab.run()
        met = lab.run({"mode": mode.value}, during=failing({**lab.request, "mode": mode.value}, error))
        how = ended(met)
        assert met.summary["status"] == "FAILED"
        assert how.error == type(error).__name__
        after = follow(lab, met, how, ("", ""))
        assert after.summary["status"] == "SUCCEEDED", (after.summary["error"], after.troubles)
        assert after.summary["mode"] == mode
        assert lab.held() == COMPLETE[mode]
        assert lab.held("source") == ({} if mode is Mode.MOVE else {"a": "content", "b": "content"})


def test_every_row_is_followed_or_says_where() -> None:
    commanded = {rule.how for rule in RULES if rule.step.verb is not Verb.NONE}
    assert commanded == {end.how for end in ENDS} | set(ELSEWHERE)
    assert all(Path(path).exists() for path in ELSEWHERE.values())
