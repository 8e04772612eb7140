"""How the event of a state becomes the call of its use case, and what the state hands on of the answer.

A call gets the use case, the event, the task's context and the stack. Use cases know no events. A function is named as
``module:function`` below ``fanout``, so that a task imports only what it calls.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from importlib import import_module
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from fanout.flow import events
from fanout.flow.events import field
from fanout.model.document import Json
from fanout.model.errors import InvalidRequest
from fanout.work.context import Context

if TYPE_CHECKING:
    from fanout.ports.aws import Starts
    from fanout.ports.pacing import MapRuns
    from fanout.ports.probe import ProbeDirectories

UseCase = Callable[..., Json]
HandsBack = Callable[[Json, Context], Json]
# Begins an attempt of a state inside of this function's: its context, whose ledger is kept for the whole walk.
Begin = Callable[[str], AbstractContextManager[Context]]


class StackSettings(Struct, frozen=True):
    """The settings of a stack that steps need; ``maps`` and ``starts`` make adapters of Step Functions at their use.

    ``begin`` begins an attempt of a state that a function walks through; all of them share one kept ledger.
    """

    mounts: tuple[str, ...]
    max_concurrency: int
    work_bucket: str
    state_machine: str = ""
    event_request: str = ""
    maps: Callable[[], MapRuns] | None = None
    starts: Callable[[], Starts] | None = None
    probe_directories: ProbeDirectories | None = None
    begin: Begin | None = None


def load(name: str) -> Any:
    """The function or class of a name; imports its module at the first call."""
    module, _, inside = name.partition(":")
    return getattr(import_module(f"fanout.{module}"), inside)


def alone(use_case: UseCase, _event: Json, context: Context, _stack: StackSettings) -> Json:
    return use_case(context)


def as_it_is(_event: Json, answer: Json) -> Json:
    return answer


def not_done(_event: Json, _context: Context) -> Json:
    return {"done": False}


# Segments


def list_segment(use_case: UseCase, event: Json, context: Context, _stack: StackSettings) -> Json:
    return use_case(events.segment_of(event), context)


def list_both_ends(use_case: UseCase, event: Json, context: Context, _stack: StackSettings) -> Json:
    if not events.window_of(event):
        return use_case(events.segment_of(event), context)
    found: Json = load("resuming.carry_over:list_in_window")(events.segment_of(event), context)
    return found


def segment_by(name: str) -> HandsBack:
    """Hands a segment back by that function."""
    return lambda event, context: load(name)(events.segment_of(event), context)


def gather(use_case: UseCase, event: Json, context: Context, _stack: StackSettings) -> Json:
    number, at_once = (field(event, "list", name) for name in ("round", "max_concurrency"))
    gathered = use_case(number, context, at_once)
    window = events.window_of(event)
    if not window:
        return {**gathered, "until": ""}
    from fanout.work.windows import paused_until

    return {**gathered, "until": paused_until(window, context.clock.now())}


# Shards


def of_shard(use_case: UseCase, event: Json, context: Context, _stack: StackSettings) -> Json:
    return use_case(events.shard_of(event), context)


def same_cursor(event: Json, _context: Context) -> Json:
    return {"cursor": event.get("cursor", 0), "done": False, "next": "unpack"}


def with_shard(event: Json, answer: Json) -> Json:
    return {"run": field(event, "run"), "shard": field(event, "shard"), **answer}


def finish_shard(use_case: UseCase, event: Json, context: Context, _stack: StackSettings) -> Json:
    return use_case(events.part_of(event, "shard", load("finishing.divide:FinishShard")), context)


def shard_by(name: str) -> HandsBack:
    """Hands a shard back by that function."""
    return lambda event, context: load(name)(events.shard_of(event), context)


def fail(use_case: UseCase, event: Json, context: Context, _stack: StackSettings) -> Json:
    return use_case(events.shard_of(event), field(event, "error"), context)


# The whole tree


def finish_tree(use_case: UseCase, event: Json, context: Context, _stack: StackSettings) -> Json:
    return use_case(context, deletes=events.deletes_later(event), mapped=events.round_mapped(event))


def unfinished(event: Json, _context: Context) -> Json:
    found: Json = load("finishing.finish_tree:unfinished")(events.round_mapped(event))
    return found


def unless_broken(use_case: UseCase, event: Json, context: Context, _stack: StackSettings) -> Json:
    return use_case(context, broken=events.has_broken_off(event))


def go_on(name: str) -> Callable[[UseCase, Json, Context, StackSettings], Json]:
    """Goes on from what the task before noted: a field of ``shards`` holds its key, empty for the first task."""
    return lambda use_case, event, context, _stack: use_case(field(event, "shards", name), context)


def with_shards(event: Json, answer: Json) -> Json:
    return {**field(event, "shards"), **answer}


def pace(use_case: UseCase, event: Json, context: Context, stack: StackSettings) -> Json:
    assert stack.maps is not None
    return use_case(field(event, "execution"), context, stack.maps())


def with_copying(event: Json, answer: Json) -> Json:
    return {"run": field(event, "run"), "shards": field(event, "shards"), **answer}


def begin_verification(use_case: UseCase, event: Json, context: Context, stack: StackSettings) -> Json:
    begun = use_case(context, stack.work_bucket)
    return {**begun, "run": {**field(event, "run"), **begun["run"]}}


def summarise(use_case: UseCase, event: Json, context: Context, _stack: StackSettings) -> Json:
    state = field(event, "state")
    return use_case(state.get("error"), context, state.get("pace"))


def short_way(use_case: UseCase, event: Json, context: Context, stack: StackSettings) -> Json:
    return use_case(event, context, stack)


# What begins a run


def asked_for(event: Json) -> str:
    run_id: str = field(event, "run_id")
    return run_id


def functions_on(mount: str, mounts: tuple[str, ...], offered: Sequence[Mapping[str, str]]) -> Mapping[str, str]:
    """The functions that see a mount, of those that are ``offered``. Raises ``InvalidRequest`` where there are none."""
    index = mounts.index(mount)
    if index >= len(offered):
        raise InvalidRequest("mount", f"the stack has no functions on {mount!r}", "deploy it with this mount")
    return offered[index]


def only_mount(mounts: Collection[str]) -> str:
    """The mount of a probe, whose functions see one. Raises ``InvalidRequest`` where there is none."""
    for mount in mounts:
        return mount
    raise InvalidRequest("FANOUT_MOUNTS", "names no mount", "deploy the function with templates/probe.yaml")


def plan_probe(use_case: UseCase, event: Json, context: Context, stack: StackSettings) -> Json:
    mount = only_mount(stack.mounts)
    return use_case(field(event, "request"), context, mount, stack.max_concurrency, stack.work_bucket)


def in_probe(use_case: UseCase, _event: Json, context: Context, stack: StackSettings) -> Json:
    return use_case(context, stack.probe_directories)


def experiment(use_case: UseCase, event: Json, context: Context, stack: StackSettings) -> Json:
    return use_case(context, field(event, "round"), field(event, "member"), stack.probe_directories)


def summarise_probe(use_case: UseCase, event: Json, context: Context, _stack: StackSettings) -> Json:
    return use_case(context, field(event, "state").get("error", {}))


def start_batch(use_case: UseCase, event: Json, context: Context, stack: StackSettings) -> Json:
    assert stack.starts is not None
    messages, where = events.messages_of(event), (stack.state_machine, stack.work_bucket, stack.max_concurrency)
    return use_case(messages, stack.event_request, *where, stack.starts(), context)


def refused_messages(_event: Json, answer: Json) -> Json:
    return {"batchItemFailures": [{"itemIdentifier": message_id} for message_id in answer["unreadable"]]}
