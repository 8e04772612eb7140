"""Runs that publish and that a limit of the request ends in any state, and their retries: drawn, and judged.

| drawn                                                          | what must hold                                     |
|----------------------------------------------------------------|----------------------------------------------------|
| time passes, or is paid for, at a moment of several runs       | the link names a whole tree: the one before,       |
|                                                                | or the new one where the run says that it ended    |
| each resumes the one before it, or is started again            | it ends by its limit, or as without one            |
| the last one has time                                          | it ends well, and the link names its version:      |
|                                                                | a retry publishes that of the run which it resumes |

A stream of its own, with runs of its own, as ``publishers``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

from msgspec.structs import replace

from fanout.flow.walker import Walker, by_class
from fanout.model.document import Json
from fanout.model.entry import Kind
from fanout.ports.tree import Tree
from fanout.request.plan import Plan
from fanout.work.context import Context
from tests.adversary.limited import MAX_DOLLARS, MAX_SECONDS
from tests.adversary.scope import Finding
from tests.support.flow import ManualClock
from tests.support.memory import MemoryTree
from tests.support.publishing import REQUEST, PublishingWorld, held

FILES = ("a", "d/b", "d/e/c")
# The moments of a run, about, by whether they are in its tasks.
MOMENTS = {False: 40, True: 8}
LATE_SECONDS = 880.0


@dataclass
class LateWorld(PublishingWorld):
    """A world whose machine catches errors, and in which time passes at one of its moments: the one of this number.

    It passes as a state begins or, ``in_tasks``, as a task asks for its destination, so that the run pays for it.
    """

    late_at: int | None = None
    in_tasks: bool = False
    moments: int = 0

    def walker(self) -> Walker:
        """See ``World``."""
        return dataclasses.replace(super().walker(), failure=by_class)

    def enter(self, state: str) -> None:
        """See ``World``."""
        self._moment(in_tasks=False)
        super().enter(state)

    def context(self, state: str = "VerifyShard") -> Context:
        """See ``World``."""
        context = super().context(state)
        destination = context.ends.destination

        def late(plan: Plan) -> Tree | None:
            self._moment(in_tasks=True)
            return destination(plan)

        return replace(context, ends=replace(context.ends, destination=late))

    def _moment(self, *, in_tasks: bool) -> None:
        if in_tasks is self.in_tasks:
            self.clock.time += LATE_SECONDS if self.moments == self.late_at else 0.0
            self.moments += 1


class LimitedPublishers:
    """A tree is published, and then again by runs with limits; ``steps`` tells what was done."""

    def __init__(self, seed: int, mount: Path) -> None:
        self._draw = Random(f"limited publishers {seed}")
        self._world = LateWorld(run_id="v0", mount=mount, clock=ManualClock())
        self.steps: list[str] = []
        self.limits = 0
        self._version = ""

    def carry_out(self) -> Iterator[Finding]:
        """All of it, judged run by run."""
        self._fill("old")
        self._world.publish()
        self._fill("new")
        limit = self._draw.choice(
            ({"max_seconds": MAX_SECONDS}, {"max_seconds": MAX_SECONDS}, {"max_dollars": MAX_DOLLARS})
        )
        request: Json = {**REQUEST, "limits": {**limit, "shard_seconds": 0.1}}
        request |= self._draw.choice(({}, {"verify": "all"}, {"verify": "copied"}))
        ended = True
        for number in range(1, self._draw.randint(1, 3) + 1):
            resumed = {} if ended or self._draw.random() < 0.3 else {"resume_from": self._world.run_id}
            summary = yield from self._run(f"v{number}", {**request, **resumed}, self._draw.random())
            ended = summary["status"] in ("SUCCEEDED", "SKIPPED")
        resumed = {} if ended else {"resume_from": self._world.run_id}
        summary = yield from self._run("last", {**request, **resumed}, None)
        if (summary["status"], self._world.current.name, self._content()) != ("SUCCEEDED", self._version, {"new"}):
            yield self._finding(f"ended {summary['status']} {summary['error']}, the link names {self._content()}")

    def _run(self, run_id: str, request: Json, late: float | None) -> Generator[Finding, None, Json]:
        before = self._world.current.name
        self._version = self._version if "resume_from" in request else run_id
        in_tasks = self._draw.random() < 0.5
        at = None if late is None else int(late * MOMENTS[in_tasks])
        following = self._world.following(run_id)
        assert isinstance(following, LateWorld)
        self._world = dataclasses.replace(following, late_at=at, in_tasks=in_tasks, moments=0, entered=[])
        summary = self._world.publish(request)
        status, error = summary["status"], summary["error"] or {}
        self.steps.append(f"{run_id} {request} late at {at}, {in_tasks}: {status} {error.get('name')}")
        self.limits += error.get("name") in ("OutOfTime", "OutOfBudget")
        switched = self._world.current.name != before
        whole = {"new"} if switched or before != "v0" else {"old"}
        if switched != (status == "SUCCEEDED") or self._content() != whole:
            yield self._finding(f"the link named {before} and names {self._world.current.name}: {self._content()}")
        names_limit = any(f"limits.{limit}:" in str(error) for limit in request["limits"])
        if status != "SUCCEEDED" and not names_limit:
            yield self._finding(f"its error is {error}")
        return summary

    def _fill(self, content: str) -> None:
        assert isinstance(self._world.source, MemoryTree)
        for path in FILES:
            self._world.source.put(path, Kind.FILE, content.encode())

    def _content(self) -> set[str]:
        found = held(self._world.current)
        return set(found.values()) if set(found) == set(FILES) else {f"{found}"}

    def _finding(self, text: str) -> Finding:
        return Finding("published under a limit", f"{text}: {self.steps}")
