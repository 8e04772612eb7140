"""Parts of scripts: the fault whose turn it is, runs that must write nothing, and deletions under suspicion."""

from __future__ import annotations

from random import Random
from typing import Any

from msgspec.structs import replace

from tests.adversary.script import Act, Change, Fault, Spec
from tests.adversary.vocabulary import LEDGER_OBJECTS, STATES

# The states that the short way walks through, by their words.
_WALKED = ("check", "list", "gather", "partition", "copy", "copy", "finish", "finish")


def soon(draw: Random, most: int = 60) -> int:
    """A number of an operation, small ones more often."""
    return max(1, int(most ** draw.random()))


def lost(draw: Random, run: str) -> tuple[Act, ...]:
    """An object of a run's ledger is gone, or damaged."""
    what = draw.choice(("lose", "lose", "cut", "flip"))
    change = Change(what, draw.choice(LEDGER_OBJECTS), draw.randrange(1000), "ledger")
    return (Act("change", change=change),)


def deletion(draw: Random, source: tuple[Spec, ...], destination: tuple[Spec, ...]) -> tuple[Act, ...]:
    """A sync that deletes while the source hides what it holds, or of which filters leave little."""
    extras = [spec.path for spec in destination if "extra" in spec.path] or ["extra0"]
    chance = draw.random()
    if chance < 0.35:
        few = {"include": ["d0/**"], "delete_guard": {"max_percent": draw.choice((10.0, 30.0, 60.0))}}
        return (Act("run", "r1", few),)
    path = draw.choice(extras)
    seed = draw.randrange(1, 10**6)
    if chance < 0.7:
        faults = [Fault("finish/any", 1, "change", change=Change("create", path, seed))]
        kind = draw.choice(("delete/os:stat", "delete/os:stat", "delete/os:open", "delete/s3:HeadObject"))
        what = draw.choice(("EACCES", "EACCES", "EIO", "ESTALE")) if "os:" in kind else "S3: 403"
        faults.append(Fault(kind, 1, what, times=1000))
    else:
        above = path.rpartition("/")[0] or draw.choice(source).path.partition("/")[0]
        what = draw.choice(("to-symlink", "to-symlink", "turn", "to-file"))
        faults = [Fault("finish/any", 1, "change", change=Change(what, above, seed))]
    return (Act("run", "r1", {"delete_guard": {"max_percent": 100.0}}, tuple(faults)),)


def in_turn(draw: Random, turn: tuple[str, str], acts: tuple[Act, ...], options: dict[str, Any]) -> tuple[Act, ...]:
    """The same with the fault whose turn it is, and now and then with a run that must write nothing."""
    kind, what = turn
    fault = Fault(kind, soon(draw, 3), what, seed=draw.randrange(1000), times=draw.choice((1, 1, 2, 6, 1000)))
    first = replace(acts[0], faults=(*acts[0].faults, fault)) if draw.random() < 0.8 else acts[0]
    acts = (first, *acts[1:])
    chance = draw.random()
    if "manifest" in options or chance > 0.35:
        return acts
    mode = draw.choice(("verify", "verify", "plan") if options.get("verify") != "content" else ("plan",))
    looks = Act("run", "check", {"mode": mode})
    if chance < 0.2:
        return (*acts, looks)
    troubled = Act("run", "look", {"mode": mode}, (replace(fault, at=soon(draw, 6)),))
    return (*acts[:-1], troubled, acts[-1], looks)


def overslept(draw: Random, acts: tuple[Act, ...], *, short: bool) -> tuple[Act, ...]:
    """The same with a function that Step Functions takes for lost, and that wakes up some tasks later."""
    at_work = _WALKED if short else STATES
    kind = f"{draw.choice(at_work)}/{draw.choice(('any', 'any', 'any', 'ledger', 'os', 's3'))}"
    fault = Fault(kind, soon(draw, 40), "oversleep", draw.random() < 0.5, seed=soon(draw, 30))
    twice = replace(fault, what="twice")
    if draw.random() > 0.4 or acts[0].what != "run":
        return acts
    return (replace(acts[0], faults=(*acts[0].faults, twice if short and draw.random() < 0.3 else fault)), *acts[1:])
