"""A tree that runs publish on a mount, from a source in memory or below the same mount."""

from __future__ import annotations

import dataclasses
import os
from dataclasses import dataclass, field
from pathlib import Path

from msgspec.structs import replace

from fanout.adapters.posix.tree import PosixTree
from fanout.facts.mounts import CACHED_SECONDS
from fanout.model.document import Json
from fanout.model.location import Location
from fanout.ports.tree import Tree
from fanout.ports.turns import Turn
from fanout.request.plan import Plan
from fanout.work.context import Context
from tests.support.flow import World

REQUEST: Json = {
    "source": "s3://a-bucket/tree/",
    "destination": "efs:///site",
    "publish": {"link": "current", "keep": 3, "keep_hours": 0},
}


@dataclass
class PublishingWorld(World):
    """A world whose destination lies where the plan says."""

    mount: Path = field(default_factory=Path)

    def context(self, state: str = "VerifyShard") -> Context:
        """See ``World``."""
        context = super().context(state)

        trees = dict[str, Tree]()

        def destination(plan: Plan) -> Tree:
            place, stages_at = plan.destination.place.rstrip("/"), plan.staging_place if plan.version else None
            kept = plan.request.backup_to
            backup_to = kept.place if kept is not None else ""
            if place not in trees:  # one an attempt, as a function has
                trees[place] = PosixTree(
                    self.mount, place, self.run_id, context.nonce, stages_at=stages_at, backup_to=backup_to
                )
            return trees[place]

        return replace(context, ends=replace(context.ends, destination=destination))

    def publish(self, request: Json | None = None) -> Json:
        """A whole run; returns summary.json."""
        return self.run(request or REQUEST)

    def switch(self) -> None:
        """PublishVersion until it is done."""
        self.walk("PublishVersion", self.state(), "SummariseTransfer")

    def following(self, run_id: str) -> PublishingWorld:
        """The next run, when no reader can follow the link as it was before the last one."""
        self.clock.time += CACHED_SECONDS + 1
        return dataclasses.replace(self, run_id=run_id)

    @property
    def current(self) -> Path:
        """What the link leads to."""
        return self.mount / "site" / os.readlink(self.mount / "site/current")

    def versions(self) -> list[str]:
        """What stands beside the versions, and they."""
        return sorted(os.listdir(self.mount / "site/versions"))


def rollback_to(version: str) -> Json:
    """The request that publishes a version again."""
    return {**REQUEST, "mode": "rollback", "source": f"efs:///site/versions/{version}"}


def held(root: Path) -> dict[str, str]:
    """The content of each file and the target of each symlink below a directory."""
    found: dict[str, str] = {}
    for path in sorted(root.rglob("*")):
        if path.is_symlink() or not path.is_dir():
            found[str(path.relative_to(root))] = os.readlink(path) if path.is_symlink() else path.read_text()
    return found


class Fenced:
    """Turns of a run that is to fence others."""

    def __init__(self, turn: Turn) -> None:
        self._turn = turn

    def look_ahead(self, ends: object, pool: object) -> None:
        """See ``ports.turns.Turns``."""

    def take(self, plan: Plan, execution: str, versions: object = None) -> None:
        """See ``ports.turns.Turns``."""

    def ask(self, plan: Plan, end: Location) -> None:
        """See ``ports.turns.Turns``."""

    def turn(self, plan: Plan, end: Location) -> Turn:
        """See ``ports.turns.Turns``."""
        return self._turn

    def release(self, plan: Plan) -> None:
        """See ``ports.turns.Turns``."""
