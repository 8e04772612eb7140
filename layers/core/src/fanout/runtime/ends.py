"""The adapters of a run's source and destination: of a stack's function, and of the engine on this machine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from msgspec import Struct, field

from fanout.adapters.given_tree import with_given_attributes
from fanout.adapters.posix.tree import PosixTree
from fanout.adapters.s3.client.client import S3Client
from fanout.adapters.s3.copier import S3EntryCopier
from fanout.adapters.s3.metadata import write_headers
from fanout.adapters.s3.place import is_one_bucket
from fanout.adapters.s3.tree import S3Tree
from fanout.ledger.ledger import Ledger
from fanout.model.errors import InvalidRequest
from fanout.model.location import Location, MountLocation, S3Location
from fanout.ports.aws import ObjectReader
from fanout.ports.s3_services import S3Services
from fanout.ports.tree import EntryCopier, Tree
from fanout.request.object_options import ContentType
from fanout.request.parts.allowed_attributes import Allowed, StackAllows, allowed_for
from fanout.request.plan import Plan
from fanout.work.context import EndPorts, nothing
from fanout.work.mount_owners import own_user
from fanout.work.roots import keep_out


class Reach(Struct, frozen=True, kw_only=True):
    """The file systems and the S3 that a process reaches.

    ``mounts`` maps a mount's name to its path here. ``client_for`` makes the client for the buckets of a plan.
    ``allows`` is what copies on a mount may have. The others are as in ``EndPorts``.
    """

    mounts: Mapping[str, Path]
    client_for: Callable[[Plan], S3Client]
    objects: Callable[[Plan], ObjectReader]
    far_buckets: Callable[[Iterable[str]], dict[str, str]]
    s3_services: S3Services
    check_sessions: Callable[[Plan], None] = nothing
    allows: StackAllows = field(default_factory=StackAllows)

    def allowed(self, plan: Plan) -> Allowed:
        """The attributes that copies of the run may have."""
        return allowed_for(plan.request, self.allows)


def ends_of(reach: Reach, ledger: Ledger, nonce: str) -> EndPorts:
    """The source and the destination of an attempt, within a process's reach."""
    opened: list[Tree] = []

    def tree(end: str, location: Location, plan: Plan) -> Tree | None:
        is_seen = isinstance(location, S3Location) or location.mount in reach.mounts
        if plan.request.between_mounts and not is_seen:
            return None
        opened.append(keep_out(end, make_tree(reach, end, location, plan, nonce), plan, ledger))
        return opened[-1]

    def source(plan: Plan) -> Tree | None:
        found = tree("source", plan.request.source, plan)
        if found is None:
            return None
        allowed = reach.allowed(plan)
        own = own_user(ledger) if allowed.owners else None
        return with_given_attributes(found, plan.request.attributes, allowed, own)

    def release() -> None:
        for one in opened:
            one.close()

    return EndPorts(
        source=source,
        destination=lambda plan: tree("destination", plan.destination, plan),
        copier=lambda plan: make_entry_copier(reach, plan),
        release=release,
        forks=lambda plan: both_are_mounts(reach, plan),
        is_one_bucket=lambda plan, key: ends_are_one_bucket(reach, plan, key),
        far_buckets=reach.far_buckets,
        ownership=lambda plan: reach.client_for(plan).get_bucket_ownership_controls(plan.request.destination.bucket),
        check_sessions=reach.check_sessions,
        objects=reach.objects,
        s3_services=reach.s3_services,
    )


def both_are_mounts(reach: Reach, plan: Plan) -> bool:
    """Whether both ends are mounts of this process."""
    ends = (plan.request.source, plan.request.destination)
    return all(isinstance(end, MountLocation) and end.mount in reach.mounts for end in ends)


def make_tree(reach: Reach, end: str, location: Location, plan: Plan, nonce: str) -> Tree:
    """The adapter of a location; only a source's symlinks are ever followed."""
    if isinstance(location, S3Location):
        objects = plan.request.objects
        return S3Tree(
            reach.client_for(plan),
            location.bucket,
            location.prefix,
            write_headers=write_headers(objects),
            guess_content_type=objects.content_type is ContentType.GUESS,
            overwrite=plan.request.overwrite,
            tells_held=end == "source" and plan.request.brings_back,
            is_source=end == "source",
        )
    mount = reach.mounts.get(location.mount)
    if mount is None:
        known = ", ".join(reach.mounts) or "none"
        raise InvalidRequest(end, f"this function does not see the mount {location.mount!r}", f"it sees {known}")
    follow = end == "source" and plan.request.symlinks.follows
    overwrite = plan.request.overwrite
    backup = plan.request.backup_to
    kept = backup.place if backup is not None and backup.mount == location.mount else ""
    return PosixTree(
        mount,
        location.path,
        plan.run_id,
        nonce,
        end,
        follow=follow,
        overwrite=overwrite,
        backup_to=kept if end == "destination" else "",
        spares=kept,
        stages_at=plan.staging_place if end == "destination" and plan.version else None,
        allowed=reach.allowed(plan),
        replaces_kinds=end == "destination" and plan.request.replaces_kinds,
    )


def make_entry_copier(reach: Reach, plan: Plan) -> EntryCopier | None:
    """The server-side copier, where one store holds both ends; else ``None``."""
    source, destination = plan.request.source, plan.request.destination
    if isinstance(source, S3Location) and isinstance(destination, S3Location):
        objects = plan.request.objects
        client = reach.client_for(plan)
        headers, overwrite = write_headers(objects), plan.request.overwrite
        return S3EntryCopier(client, source, destination, headers, tags=objects.tags, overwrite=overwrite)
    return None


def ends_are_one_bucket(reach: Reach, plan: Plan, key: str) -> bool:
    """Whether the buckets of both ends are one; ``key`` is of the upload that tells."""
    request = plan.request
    return is_one_bucket(reach.client_for(plan), request.destination.bucket, request.source.bucket, key)
