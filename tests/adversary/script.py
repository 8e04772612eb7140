"""A script: all that one run of the adversary does, as plain data that can be written down, replayed and cut."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct, field

from tests.adversary.services import Services

S3_TO_MOUNT, MOUNT_TO_S3, WITHIN_MOUNT, TWO_MOUNTS, INSIDE_S3 = (
    "S3 to mount",
    "mount to S3",
    "within a mount",
    "between two mounts",
    "inside S3",
)
DIRECTIONS = (S3_TO_MOUNT, MOUNT_TO_S3, WITHIN_MOUNT, TWO_MOUNTS, INSIDE_S3)

STAGING = ".fanout-staging-"


class Spec(Struct, frozen=True):
    """An entry of a tree; ``kind`` is file, directory, symlink, fifo or link (a further name of ``target``).

    ``attributes`` names the form that an object's have, as in ``attributes.FORMS``; ``storage`` its storage class.
    """

    path: str
    kind: str = "file"
    size: int = 0
    seed: int = 0
    mode: int | None = 0o644
    mtime_ns: int = 1_700_000_000_000_000_000
    target: str = ""
    uid: int | None = 0
    gid: int | None = 0
    attributes: str = ""
    storage: str = ""

    def data(self) -> bytes:
        """The bytes of a file: of the seed, every fifth with a hole."""
        return bytes_of(self.seed, self.size)


def bytes_of(seed: int, size: int) -> bytes:
    """Bytes that no other seed gives."""
    from random import Random

    data = Random(seed).randbytes(size)
    if seed % 5 == 0 and size > 3000:
        hole = size // 3
        data = data[:hole] + bytes(hole) + data[2 * hole :]
    return data


class Change(Struct, frozen=True):
    """What somebody else does to an entry of the source, the destination or the ledger."""

    what: str
    path: str
    seed: int = 0
    end: str = "source"

    def story(self) -> str:
        """The change in words."""
        return f"{self.end}: {self.what} {self.path!r}" + (f" (seed {self.seed})" if self.seed else "")


class Fault(Struct, frozen=True):
    """What goes wrong at the ``at``-th operation of a kind, for ``times`` of them; ``acts`` happen meanwhile.

    With a ``path``, such as ``in/d0/f1``, only at those of them that are about it.
    """

    kind: str
    at: int
    what: str
    after: bool = False
    times: int = 1
    seed: int = 0
    change: Change | None = None
    acts: tuple[Act, ...] = ()
    path: str = ""

    def story(self) -> list[str]:
        """The fault in words."""
        times = f", {self.times} times" if self.times > 1 else ""
        times += f", if it is about {self.path!r}" if self.path else ""
        doing = f": {self.change.story()}" if self.change else ""
        head = f"{'after' if self.after else 'at'} operation {self.at} of {self.kind}{times}: {self.what}{doing}"
        return [head, *(f"    meanwhile {line}" for act in self.acts for line in act.story())]


class Act(Struct, frozen=True):
    """A step of a script: a run, changes between runs, or time that passes."""

    what: str  # run, change, wait
    run: str = ""
    options: dict[str, Any] = field(default_factory=dict)
    faults: tuple[Fault, ...] = ()
    change: Change | None = None
    seconds: int = 0

    def story(self) -> list[str]:
        """The act in words."""
        if self.what == "wait":
            return [f"{self.seconds} s pass"]
        if self.change is not None:
            return [self.change.story()]
        options = f" with {json.dumps(self.options)}" if self.options else ""
        return [f"run {self.run}{options}", *(f"    {line}" for fault in self.faults for line in fault.story())]


class Script(Struct, frozen=True):
    """Everything: the ends, what they hold at first, and what happens.

    ``short``: what may go the short way does. ``s3_files``: the mount that is written, or the only one, is of S3 Files.
    ``plain``: functions are a plain user's, to whom modes apply.
    ``events``: the list is one that StartBatch made of S3's events.
    ``jobs``: objects that others write tell no checksum, and what goes wrong about the jobs that compute them.
    """

    seed: int
    direction: str
    source: tuple[Spec, ...]
    destination: tuple[Spec, ...]
    acts: tuple[Act, ...]
    options: dict[str, Any] = field(default_factory=dict)
    skew_seconds: int = 0
    ledger_in_s3: bool = False
    page_keys: int = 7
    short: bool = False
    s3_files: bool = False
    jobs: str = ""
    plain: bool = False
    events: bool = False
    services: Services = field(default_factory=Services)

    def story(self) -> str:
        """The whole in plain words."""
        lines = [f"seed {self.seed}, {self.direction}, request {json.dumps(self.options)}"]
        if self.skew_seconds:
            lines.append(f"S3's clock is {self.skew_seconds} s off")
        if self.short:
            lines.append("runs that may go the short way do")
        if self.events:
            lines.append("the list is made of events")
        if self.s3_files:
            lines.append("the mount is one of S3 Files")
        if self.plain:
            lines.append("functions are a plain user's")
        if self.jobs:
            lines.append(f"objects that others write tell no checksum; trouble of the jobs about them: {self.jobs}")
        if self.ledger_in_s3:
            lines.append("the ledger lies in the S3 that lies")
        lines += self.services.story()
        for name, specs in (("source", self.source), ("destination", self.destination)):
            lines += [f"  {name} holds {told(spec)}" for spec in specs]
        lines += [f"  {line}" for act in self.acts for line in act.story()]
        return "\n".join(lines)

    def faults(self) -> Iterator[Fault]:
        """All faults, those inside others too."""
        return _faults(self.acts)


def told(spec: Spec) -> str:
    """A spec in words."""
    mode = "" if spec.mode is None else f" {spec.mode:04o}"
    more = {"symlink": f" -> {spec.target}", "link": f" = {spec.target}", "file": f" of {spec.size} bytes"}
    form = f", attributes {spec.attributes}" if spec.attributes else ""
    form += f", in {spec.storage}" if spec.storage else ""
    return f"{spec.kind} {spec.path!r}{mode}{more.get(spec.kind, '')}{form}"


def _faults(acts: tuple[Act, ...]) -> Iterator[Fault]:
    for act in acts:
        for fault in act.faults:
            yield fault
            yield from _faults(fault.acts)


def to_json(script: Script) -> str:
    """The script as text; names that are not UTF-8 stand as escapes."""
    return json.dumps(msgspec.to_builtins(script))


def from_json(text: str) -> Script:
    """The script of a text."""
    return msgspec.convert(json.loads(text), Script)
