"""A probe without Lambda: its states in their order, the functions of a round in threads."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fanout.adapters.posix.probe.probe_directory import PosixProbeDirectory
from fanout.ledger.ledger import Ledger
from fanout.model.document import Json
from fanout.model.file_system import Staged
from fanout.ports.clock import Clock
from fanout.ports.probe import MadeByProbe, OtherProbes, ProbeDirectory
from fanout.ports.tree import Tree
from fanout.probe.open_probe import close_probe, open_probe
from fanout.probe.plan_probe import plan_probe
from fanout.probe.run_experiment import run_experiment
from fanout.probe.summarise_probe import summarise_probe
from fanout.request.plan import Plan
from fanout.work.context import Context, EndPorts, StackFacts, StackPorts
from tests.support.attempts import attempt_of
from tests.support.memory_meter import MemoryMeter
from tests.support.memory_store import MemoryStore

SCHEMA = Path(__file__).parents[2] / "docs/reference/probe.schema.json"
MIB = 1024 * 1024
SMALL = {"budget_bytes": 64 * MIB, "budget_seconds": 60, "max_functions": 2}
Wrap = Callable[[ProbeDirectory], ProbeDirectory]


def by_name(result: Any) -> dict[str, Any]:
    """The experiments of a probe's result by their names."""
    return {experiment["name"]: experiment for experiment in result["experiments"]}


class WallClock:
    """The machine's clock."""

    def now(self) -> float:
        """See ``ports.tree.Clock``."""
        return time.time()

    def sleep(self, seconds: float) -> None:
        """See ``ports.tree.Clock``."""
        time.sleep(seconds)


class SimulatedClock:
    """Time that passes while a simulated file system works, and at no other time.

    ``seen`` is the time as a thread knows it: when it read the clock last.
    """

    def __init__(self) -> None:
        self._time = 1_000_000.0
        self._lock = threading.Lock()
        self._local = threading.local()

    def now(self) -> float:
        """See ``ports.tree.Clock``."""
        with self._lock:
            self._local.seen = self._time
            return self._time

    def sleep(self, seconds: float) -> None:
        """See ``ports.tree.Clock``."""
        with self._lock:
            self._time += seconds

    @property
    def seen(self) -> float:
        """The time that this thread read last."""
        found: float = self._local.seen
        return found


class Simulated:
    """A file system that takes ``latency`` seconds an operation and moves ``rate`` bytes a second.

    The operations of ``stalls``, by their number, take hours. ``begun`` is when each that moves bytes began.
    """

    def __init__(self, rate: float, latency: float, stalls: set[int]) -> None:
        self.clock = SimulatedClock()
        self.moved = 0
        self.begun: list[float] = []
        self._rate, self._latency, self._stalls = rate, latency, stalls
        self._lock = threading.Lock()
        self._operations = itertools.count()
        self._names: dict[str, int] = {}

    def directory(self, member: int) -> SimulatedDirectory:
        """The directory as one function sees it."""
        return SimulatedDirectory(self, f"client{member}")

    def work(self, size: int = 0) -> None:
        """One operation."""
        seconds = 10_000.0 if next(self._operations) in self._stalls else self._latency + size / self._rate
        with self._lock:
            if size:
                self.moved += size
                self.begun.append(self.clock.seen)
        self.clock.sleep(seconds)

    def wrote(self, path: str, end: int) -> None:
        """Keep the size of a file."""
        with self._lock:
            self._names[path] = max(end, self._names.get(path, 0))

    def size(self, path: str) -> int:
        """The size of a file."""
        return self._names[path]

    def below(self, path: str) -> list[str]:
        """The files below a directory."""
        return sorted(name for name in self._names if name.startswith(f"{path}/"))


class SimulatedDirectory:
    """See ``ports.probe.ProbeDirectory``."""

    def __init__(self, files: Simulated, client: str) -> None:
        self._files, self._client = files, client

    @property
    def client(self) -> str:
        """See ``ports.probe.ProbeDirectory``."""
        return self._client

    def free_bytes(self) -> int:
        """See ``ports.probe.ProbeDirectory``."""
        return 2**60

    def begin(self) -> Staged:
        """See ``ports.probe.ProbeDirectory``."""
        return Staged("1", 0)

    def enter(self, made: Staged) -> None:
        """See ``ports.probe.ProbeDirectory``."""

    def remove_others(self, made_by: MadeByProbe) -> OtherProbes:
        """See ``ports.probe.ProbeDirectory``."""
        return OtherProbes()

    def claim(self, name: str) -> bool:
        """See ``ports.probe.ProbeDirectory``."""
        self._files.work()
        return True

    def make(self, path: str) -> None:
        """See ``ports.probe.ProbeDirectory``."""
        self._files.work()

    def files(self, path: str) -> list[str]:
        """See ``ports.probe.ProbeDirectory``."""
        return self._files.below(path)

    def create(self, path: str, *, shared: bool = False) -> SimulatedFile:
        """See ``ports.probe.ProbeDirectory``."""
        self._files.work()
        self._files.wrote(path, 0)
        return SimulatedFile(self._files, path)

    def open(self, path: str) -> SimulatedFile:
        """See ``ports.probe.ProbeDirectory``."""
        self._files.work()
        return SimulatedFile(self._files, path)

    def remove(self) -> str:
        """See ``ports.probe.ProbeDirectory``."""
        return ""

    def close(self) -> None:
        """See ``ports.probe.ProbeDirectory``."""


class SimulatedFile:
    """See ``ports.probe.ProbeFile``."""

    def __init__(self, files: Simulated, path: str) -> None:
        self._files, self._path = files, path

    def write(self, offset: int, data: bytes | memoryview) -> None:
        """See ``ports.probe.ProbeFile``."""
        self._files.work(len(data))
        self._files.wrote(self._path, offset + len(data))

    def read(self, offset: int, length: int) -> int:
        """See ``ports.probe.ProbeFile``."""
        size = min(length, self._files.size(self._path) - offset)
        self._files.work(size)
        return size

    def sync(self) -> None:
        """See ``ports.probe.ProbeFile``."""
        self._files.work()

    def forget(self) -> None:
        """See ``ports.probe.ProbeFile``."""

    def close(self) -> None:
        """See ``ports.probe.ProbeFile``."""
        self._files.work()


def no_tree(_plan: Plan) -> Tree:
    """A probe has no trees."""
    raise AssertionError("a probe asked for a tree")


@dataclass
class ProbeWorld:
    """One mount and one ledger. ``wrap`` puts something between the probe and the directory; each member is a client.

    ``mounts`` are directories of the same file system, one a client; of one alone each member has the same.
    """

    mounts: list[Path]
    store: MemoryStore = field(default_factory=MemoryStore)
    clock: Clock = field(default_factory=WallClock)
    wrap: Wrap = lambda directory: directory
    meter: MemoryMeter = field(default_factory=MemoryMeter)
    file_system_ids: dict[str, str] = field(default_factory=dict)
    function_seconds: float = 150.0
    make: Callable[[int], ProbeDirectory] | None = None

    def ledger(self, probe_id: str) -> Ledger:
        return Ledger(self.store, probe_id)

    def context(self, probe_id: str) -> Context:
        stack = StackPorts(facts=StackFacts(file_systems=self.file_system_ids), meter=self.meter)
        ends = EndPorts(source=no_tree, destination=no_tree)
        return attempt_of(self.ledger(probe_id), self.clock, self.function_seconds, "00000000", ends, stack)

    def client(self, member: int) -> Callable[[str, str], Any]:
        """The directory as one function sees it."""

        @contextmanager
        def directories(probe_id: str, path: str) -> Iterator[ProbeDirectory]:
            if self.make is not None:
                yield self.make(member)
                return
            base = self.mounts[member % len(self.mounts)]
            directory = PosixProbeDirectory(base, path, probe_id, f"client{member}")
            try:
                yield self.wrap(directory)
            finally:
                directory.close()

        return directories

    def plan(self, request: Any, probe_id: str) -> Json:
        return plan_probe(request, self.context(probe_id), "data", 32, "work")

    def open(self, probe_id: str) -> Json:
        return open_probe(self.context(probe_id), self.client(0))

    def experiment(self, probe_id: str, number: int, member: int) -> Json:
        return run_experiment(self.context(probe_id), number, member, self.client(member))

    def rounds(self, probe_id: str, rounds: list[Json]) -> None:
        for one in rounds:
            with ThreadPoolExecutor(len(one["members"])) as pool:
                number = one["number"]
                list(pool.map(lambda member: self.experiment(probe_id, number, member), one["members"]))  # noqa: B023

    def close(self, probe_id: str) -> Json:
        return close_probe(self.context(probe_id), self.client(0))

    def summarise(self, probe_id: str, caught: dict[str, Any] | None = None) -> Json:
        return summarise_probe(self.context(probe_id), caught or {})

    def run(self, request: Any, probe_id: str = "probe-1") -> Json:
        """The whole probe; returns probe.json."""
        planned = self.plan(request, probe_id)
        self.open(probe_id)
        self.rounds(probe_id, planned["rounds"])
        self.close(probe_id)
        self.summarise(probe_id)
        return self.result(probe_id)

    def result(self, probe_id: str = "probe-1") -> Json:
        found: Json = self.ledger(probe_id).read_json("probe.json")
        return found
