"""The plan of a run: the request with every default filled in, as every state reads it."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct, field, to_builtins

from fanout.facts.aws import REGION
from fanout.facts.holdings import Direction, direction_of
from fanout.facts.mounts import EFS, S3_FILES, MountKind
from fanout.model.document import Json
from fanout.model.entry import SECOND_NS
from fanout.model.file_system import Behind
from fanout.model.location import Location, MountLocation
from fanout.model.outcome import Reason
from fanout.model.path_rules import PlainName
from fanout.model.shard import CREATIONS_PER_SECOND, Rates
from fanout.request.options import Verify
from fanout.request.parts.finish_by import parse_finish_by
from fanout.request.parts.publish import version_place
from fanout.request.parts.publish_rules import version_of
from fanout.request.request import Request


class Origin(Struct, frozen=True):
    """The run's execution by its ARN, the bucket of its ledger, and the version of the product; empty if not known."""

    execution: str = ""
    bucket: str = ""
    version: str = ""


class Plan(Struct, frozen=True):
    """The request with all defaults, the rates for predictions, and the runs that it resumes, the last one first.

    One directory of the destination takes ``creations_per_second``. ``quota`` is the most functions that the account
    or a reservation lets a run start at once; ``None`` if it is not known. ``began`` is in seconds since 1970.
    ``move_began`` is when a move began, or the first of the runs that it resumes, in seconds since 1970; ``None`` of
    any other run. The comparison inside a move has it too. ``asked`` is when it first asked for its turn, from which
    ``limits.finish_by`` counts. ``behind`` is what the mounts of S3 Files show, by mount;
    every other mount is one of EFS. ``regions`` are those of the buckets that are not in the stack's.
    """

    run_id: PlainName
    request: Request
    rates: Rates
    resumes: tuple[PlainName, ...] = ()
    creations_per_second: float = CREATIONS_PER_SECOND
    quota: int | None = None
    began: float = 0.0
    origin: Origin = Origin()
    move_began: float | None = None
    behind: dict[str, Behind] = field(default_factory=dict)
    asked: float = 0.0
    regions: dict[str, Annotated[str, Meta(pattern=rf"^(?:{REGION})\Z")]] = field(default_factory=dict)

    @property
    def leaves_network(self) -> bool:
        """Whether the run takes functions outside the network.

        S3 copies between regions for no others, and no others reach the service that gives credentials of a role.
        """
        return self.request.inside_s3 and bool(self.regions or self.request.assumed[0])

    @property
    def proves_move(self) -> bool:
        """Whether this is the plan of the comparison inside a move, which deletes what it finds equal."""
        return self.moves and self.request.course.compares

    @property
    def moves(self) -> bool:
        """Whether the run is a move, of which this is the plan or that of its comparison."""
        return self.move_began is not None

    @property
    def direction(self) -> Direction:
        """The kinds of source and destination."""
        return direction_of(self.request.source.is_keyed, self.request.destination.is_keyed)

    def missing(self, changed_ns: int) -> Reason:
        """Why an entry that last changed at ``changed_ns`` has no copy when both ends are compared.

        In a move that it came after the run began; it stays at the source. A store may tell whole seconds.
        """
        if self.move_began is None or changed_ns <= int(self.move_began * SECOND_NS) - SECOND_NS:
            return Reason.MISSING
        return Reason.CAME_LATER

    def kind_of(self, end: Location) -> MountKind | None:
        """The kind of an end's file system; ``None`` for a bucket."""
        if end.is_keyed:
            return None
        return S3_FILES if end.mount in self.behind else EFS

    def shown_by(self, end: Location) -> tuple[str, str] | None:
        """The bucket and the prefix that an end is in S3; ``None`` where it has none, or none is known."""
        if end.is_keyed:
            return end.bucket, end.place
        behind = self.behind.get(end.mount)
        return (behind.bucket, behind.prefix + end.place) if behind is not None and behind.bucket else None

    @property
    def holds_more_than_its_bucket(self) -> bool:
        """Whether the destination is a mount that may hold paths which are no keys in the bucket that it shows."""
        kind = self.kind_of(self.request.destination)
        return kind is not None and kind.key_bytes is not None

    @property
    def keeps_hard_links(self) -> bool:
        """Whether names of one file at the source become names of one file at the destination."""
        kinds = [self.kind_of(end) for end in (self.request.source, self.request.destination)]
        return all(kind is not None and kind.has_hard_links for kind in kinds)

    @property
    def version(self) -> str:
        """The version that the run publishes, the name of the first run that began it; empty where it publishes none.

        A plan says what publishing would do, and a verification inside a run compares with its version.
        """
        if self.request.publish is None:
            return ""
        if self.request.course.goes_back:
            return version_of(self.request.source, self.request.destination) or ""
        return self.resumes[-1] if self.resumes else self.run_id

    @property
    def publishes(self) -> bool:
        """Whether the run publishes its version."""
        return bool(self.version) and not self.request.course.plans

    @property
    def destination(self) -> Location:
        """Where entries are written: the request's destination, or in it the version that the run publishes."""
        end = self.request.destination
        if not self.version or not isinstance(end, MountLocation):
            return end
        return MountLocation(end.mount, version_place(end.place, self.version).removesuffix("/"))

    @property
    def staging_place(self) -> str:
        """The place in its store where the run stages, next to the versions that it publishes; else the destination."""
        end = self.request.destination
        return version_place(end.place, "")[:-1] if self.version else end.place

    @property
    def ends_at(self) -> float | None:
        """When the run stops, in seconds since 1970; ``None`` where the request does not say."""
        most = self.request.limits.max_seconds
        return None if most is None else self.began + most

    @property
    def finishes_at(self) -> float | None:
        """When the run is to have ended by ``limits.finish_by``, in seconds since 1970; ``None`` where none is."""
        text = self.request.limits.finish_by
        return parse_finish_by(text).at(self.asked) if text else None


def settings_row(plan: Plan) -> Json:
    """The request and the rates of a run, as the report shows them."""
    row: Json = to_builtins(plan)
    del row["origin"]  # is in the head of the page
    return {"run_id": row.pop("run_id"), **row.pop("request"), **row}


def compares_attributes(plan: Plan) -> bool:
    """Whether the run, or the verification inside it, compares more than names, kinds, sizes and bytes."""
    return plan.request.course.compares and plan.request.verify is not Verify.CONTENT
