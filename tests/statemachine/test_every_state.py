"""Each state of the definition is entered by some run: by no path, or no outcome, would one be dead."""

from __future__ import annotations

from typing import Any

from fanout.model.errors import InvalidRequest, LedgerBroken

from .definition import for_moto, states
from .engine import WalkedEngine
from .failing import always
from .lambda_service import LambdaService, ServiceError

PAST = "2020-01-01T00:00:00Z"
# What each run is, which of its functions fail for good, and which answer once that the window is closed.
RUNS: list[tuple[dict[str, Any], dict[str, Exception], tuple[str, ...]]] = [
    ({"shards": ("a", "b"), "cursors": {"a": (1,)}, "extras": ("x",), "finishing": (("d",),), "paced": True}, {}, ()),
    ({"rounds": (("0",), ("1", "2")), "archived": ("a",), "verify": "all", "publishes": "copy",
      "computes": True}, {}, ()),
    ({"two_mounts": True, "digests": True, "rounds": (("0", "1"),), "extras": ("x",), "verify": "copied"}, {}, ()),
    ({"moves": True, "verify": "all", "extras": ("x",)}, {}, ()),
    ({"holder": "other"}, {}, ()),
    ({"short": "SummariseTransfer"}, {}, ()),
    ({"short": "PartitionShards"}, {"ShortWay": ServiceError(500, "Unknown")}, ()),
    ({"paced": True}, {"CopyShard": LedgerBroken("x"), "PaceCopy": LedgerBroken("y")}, ()),
    ({}, {"PlanTransfer": InvalidRequest("a", "b", "c")}, ()),
    ({}, {"SummariseTransfer": LedgerBroken("x")}, ()),
    ({"rounds": (("0", "1"),)}, {"ListSegment": LedgerBroken("x")}, ()),
    ({"rounds": (("0",), ("1",))}, {}, ("GatherSegments", "CopyShard", "FinishTree")),
    ({"paced": True, "extras": ("x",), "publishes": "copy", "verify": "copied", "finishing": (("d",),)}, {},
     ("PaceCopy", "DeleteShard", "RemoveDirectories", "VerifyShard", "PublishVersion", "FinishShard")),
    ({"two_mounts": True, "extras": ("x",)}, {}, ("LookAtDirectories",)),
]  # fmt: skip


def test_every_state_is_entered_by_some_run(service: LambdaService) -> None:
    entered: set[str] = set()
    for options, failing, pausing in RUNS:
        engine = WalkedEngine(service)
        engine.transfer(**options)
        service.functions.update({name: always(error) for name, error in failing.items()})
        for name in pausing:
            service.functions[name] = paused_once(service.functions[name])
        engine.run()
        entered |= engine.entered_anywhere()
    engine = WalkedEngine(service)
    fake = engine.transfer()
    service.functions["PartitionShards"] = lambda event: {**fake.partition_shards(event), "copies": "lost"}
    engine.run()
    entered |= engine.entered_anywhere()
    assert {state.name for state in states(for_moto())} - entered == set()


def paused_once(function: Any) -> Any:
    """The function, whose first answer says that the window is closed."""
    answers = iter([{"done": False, "until": PAST}])
    return lambda event: {**function(event), **(next(answers, {}) if event["step"] != "EndPacing" else {})}
