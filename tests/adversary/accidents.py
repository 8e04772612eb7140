"""What goes wrong in a run of a script: changes by others, and faults."""

from __future__ import annotations

from random import Random

from msgspec.structs import replace

from tests.adversary.deeds import soon
from tests.adversary.script import INSIDE_S3, Change, Fault, Spec
from tests.adversary.vocabulary import (
    ANY_LIES,
    ASKED,
    DIRECTORY_CHANGES,
    FILE_CHANGES,
    OS_KINDS,
    REFUSALS,
    S3_LIES,
    STATES,
)


class Accidents:
    """Draws them for transfers in one direction."""

    def __init__(self, draw: Random, direction: str, *, with_s3: bool) -> None:
        self.draw, self.direction, self.with_s3 = draw, direction, with_s3

    def change(self, source: tuple[Spec, ...], end: str = "source") -> Change:
        draw = self.draw
        named = [spec for spec in source if spec.kind in ("file", "directory")] or [Spec("f0")]
        spec = draw.choice(named)
        path = spec.path
        if end == "source" and draw.random() < 0.15 and "/" in path.rstrip("/"):
            path, spec = path.rstrip("/").rpartition("/")[0], Spec("", "directory")
        what = draw.choice(DIRECTORY_CHANGES if spec.kind == "directory" else FILE_CHANGES)
        if what == "create":
            path = f"{path.rstrip('/')}-new"
        return Change(what, path, draw.randrange(1, 10**6), end)

    def faults(self, source: tuple[Spec, ...]) -> tuple[Fault, ...]:
        return tuple(self.fault(source) for _ in range(self.draw.choice((0, 1, 2, 3, 4, 5))))

    def fault(self, source: tuple[Spec, ...]) -> Fault:
        draw = self.draw
        chance = draw.random()
        if chance < 0.3:
            kinds = (
                "any",
                "os:pread",
                "os:pread",
                "os:fstat",
                "os:open",
                "os:stat",
                "os:scandir",
                "s3:GetObject",
                "ledger",
            )
            kind = draw.choice(kinds) if draw.random() < 0.6 else self.state("any")
            end = "destination" if draw.random() < 0.2 else "source"
            change = self.change(source, end)
            if kind not in ("any", "ledger") and "/" not in kind and draw.random() < 0.6:  # what the operation is about
                change = replace(change, what=draw.choice((*FILE_CHANGES, *["rewrite"] * 8)), path="@")
            return Fault(kind, soon(draw), "change", draw.random() < 0.5, change=change)
        if chance < 0.36:
            return Fault("any", soon(draw, 300), "kill", draw.random() < 0.5)
        if chance < 0.42:
            return Fault(draw.choice(("any", "os:rename", "os:pwrite", "ledger:put")), soon(draw), "twice")
        if chance < 0.45:
            return Fault("any", soon(draw, 300), "late")
        if chance < 0.48:
            return Fault("ledger", soon(draw, 60), "no answer of the ledger", times=draw.choice((1, 2, 9)))
        if self.with_s3 and (chance < 0.85 or self.direction == INSIDE_S3):
            kind = draw.choice(ASKED[self.direction])
            lie = draw.choice(S3_LIES[kind] if draw.random() < 0.75 else ANY_LIES)
            return Fault(kind, soon(draw, 12), lie, times=draw.choice((1, 1, 1, 2, 6, 1000)), seed=draw.randrange(1000))
        after = draw.random() < 0.2
        times = draw.choice((1, 1, 1, 2, 1000))
        kind = draw.choice(OS_KINDS)
        kind = self.state(kind) if draw.random() < 0.4 else kind
        return Fault(kind, soon(draw, 30), draw.choice(REFUSALS), after, times)

    def state(self, kind: str) -> str:
        """Operations of a kind in one state of the machine."""
        return f"{self.draw.choice(STATES)}/{kind}"
