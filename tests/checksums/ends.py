"""Two stores that hold the same, of which some tell checksums, and runs that compare them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fanout.model.document import Json
from fanout.model.entry import Kind
from fanout.model.location import S3Location
from tests.support.batch_operations import MemoryJobs
from tests.support.flow import World
from tests.support.telling import Telling

FROM_S3 = {"source": "s3://a-bucket/in/", "destination": "efs:///copy"}
VERIFY = {"mode": "verify", "verify": "content", "checksums": "computed"}
NAMES = ("plain", "d/ü and ' %41+&", 'd/a,b"c', "d/line\nbreak")
DATA = b"the same bytes"


@dataclass
class Ends:
    """Two stores that hold the same, and the jobs about them."""

    source: Telling
    destination: Telling
    world: World
    jobs: MemoryJobs
    request: Json

    def run(self, run_id: str = "run-1", **more: object) -> Json:
        """A run that compares them."""
        self.source.read_bytes = self.destination.read_bytes = 0
        self.world.run_id = run_id
        return self.world.run(self.request | VERIFY | more)

    @property
    def read(self) -> tuple[int, int]:
        """Objects that were read at each end."""
        return self.source.read_bytes // len(DATA), self.destination.read_bytes // len(DATA)

    @property
    def note(self) -> str:
        """What the run says about the checksums."""
        notes: list[str] = self.world.ledger.read_json("notes/checksums.json")["notes"]
        return "; ".join(notes)


def ends(request: Json, here: Sequence[str] = (), there: Sequence[str] = (), names: Sequence[str] = NAMES) -> Ends:
    source, destination = Telling(here), Telling(there)
    for tree in (source, destination):
        for name in names:
            tree.put(name, Kind.FILE, DATA)
        tree.put("empty", Kind.FILE, b"")
    world = World(source=source, destination=destination)
    places = {
        end: S3Location(*request[end].removeprefix("s3://").split("/", 1))
        for end in ("source", "destination")
        if request[end].startswith("s3://")
    }
    jobs = MemoryJobs({"source": source, "destination": destination}, places, world.store)
    jobs.batch.now = lambda: world.clock.time
    world.checksum_jobs = jobs
    return Ends(source, destination, world, jobs, request)
