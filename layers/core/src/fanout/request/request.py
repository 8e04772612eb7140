"""A request, validated: what the plan is made of; which requests one function can carry out."""

from __future__ import annotations

import json
from functools import cache
from hashlib import sha256
from typing import Annotated

from msgspec import field, to_builtins
from msgspec.structs import fields, replace

from fanout.model.errors import InvalidRequest
from fanout.model.location import Location, MountLocation, overlap
from fanout.model.outcome import Reason
from fanout.request.course import Course
from fanout.request.fields.traits import Decides, Traits, traits_of
from fanout.request.filtering.filters import Filters
from fanout.request.manifest import ManifestLocation
from fanout.request.mode_fields import no_whole_trees
from fanout.request.object_options import ObjectOptions
from fanout.request.options import Checksums, OnConflict, Options, OtherKind, Overwrite, Vanished, Verify
from fanout.request.parts.bucket_options import BucketOptions
from fanout.request.parts.given_attributes import GivenAttributes, Mtime
from fanout.request.parts.limits import FunctionSize
from fanout.request.parts.symlinks import Symlinks


class Request(Options, frozen=True, kw_only=True):
    """A transfer: its options, its ends, and the fields that a document holds in another form.

    ``prices`` are dollars by the names of ``fanout.facts.prices``, instead of the table's. ``function`` is the stack's.
    """

    source: Location
    destination: Location
    objects: Annotated[ObjectOptions, Traits(decides=Decides.OBJECT)] = field(default_factory=ObjectOptions)
    filters: Filters = field(default_factory=Filters)
    manifest: ManifestLocation | None = None
    backup_to: Annotated[MountLocation | None, Traits(decides=Decides.ACTION)] = None
    function: Annotated[FunctionSize, Traits(decides=Decides.WORK)] = FunctionSize()

    @property
    def course(self) -> Course:
        """The actions of a run of this request."""
        return self.mode.course

    @property
    def bucket_options(self) -> dict[str, BucketOptions]:
        """How the bucket of each end in S3 is asked; of two ends in one bucket, what either end says."""
        found: dict[str, BucketOptions] = {}
        for end, own in ((self.source, self.source_bucket), (self.destination, self.destination_bucket)):
            if end.is_keyed:
                other = found.get(end.bucket, own)
                pays = own.requester_pays or other.requester_pays
                found[end.bucket] = BucketOptions(pays, own.expected_owner or other.expected_owner)
        return found

    @property
    def assumed(self) -> tuple[str, str]:
        """The role that the run assumes and the external id; both empty where it works with the functions' own."""
        own = next((one for one in (self.source_bucket, self.destination_bucket) if one.role), BucketOptions())
        return own.role, own.external_id

    @property
    def role_field(self) -> str:
        return "source_bucket.role" if self.source_bucket.role else "destination_bucket.role"

    @property
    def inside_s3(self) -> bool:
        """Whether both ends lie in S3, which then copies by itself."""
        return self.source.is_keyed and self.destination.is_keyed

    @property
    def replaces_kinds(self) -> bool:
        """Whether a copy replaces an entry of another kind at the destination."""
        return self.other_kind is OtherKind.REPLACE and self.course.deletes_extras

    @property
    def left_out(self) -> frozenset[Reason]:
        """The reasons for which an entry is left out, as skipped, that is failed or rejected otherwise."""
        names = self.on_conflict is OnConflict.SKIP
        return frozenset(one for one in Reason if one.is_name and names) | self.left_out_unseen | self.left_out_gone

    @property
    def left_out_gone(self) -> frozenset[Reason]:
        """Those of them for an entry that is not at the source any more."""
        return frozenset({Reason.SOURCE_VANISHED} if self.vanished is Vanished.SKIP else ())

    @property
    def left_out_unseen(self) -> frozenset[Reason]:
        """Those of them that no listing shows: only reading the entry does, and the destination may lack it."""
        return self.held.left_out

    @property
    def brings_back(self) -> bool:
        """Whether the run has the entries that are held brought back, and waits for them; a plan only says so."""
        return self.held.brings_back(self.course)

    @property
    def computes_checksums(self) -> bool:
        """Whether S3 computes checksums that a comparison of both whole trees would have to read objects for."""
        whole_trees = self.course.compares or self.verifies_after.whole_trees
        return self.checksums is Checksums.COMPUTED and whole_trees

    @property
    def verifies_after(self) -> Verify:
        """The verification after the copy; none in a mode that copies nothing."""
        return self.verify if self.course.copies else Verify.NONE

    @property
    def written_ends(self) -> tuple[Location, ...]:
        """The ends that the run changes: a move deletes at the source."""
        if not self.course.writes:
            return ()
        return (self.destination, self.source) if self.course.deletes_proven else (self.destination,)

    @property
    def on_mounts(self) -> bool:
        """Whether both ends lie on mounts, be it one or two."""
        return not self.source.is_keyed and not self.destination.is_keyed

    @property
    def between_mounts(self) -> bool:
        """Whether the ends lie on two mounts, of which no function sees both."""
        return self.source.mount != self.destination.mount and self.on_mounts


@cache
def fields_up_to(last: Decides) -> frozenset[str]:
    """The fields of a request in this class and in those before it."""
    return frozenset(one.name for one in fields(Request) if traits_of(one.type).decides <= last)


def digest_without(request: Request, last: Decides) -> str:
    """The digest that requests share which differ in the fields of this class and of those before it alone."""
    document = to_builtins(request_at(request, None))
    rest = {name: value for name, value in document.items() if name not in fields_up_to(last)}
    return sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


def request_at(request: Request, moment_ns: int | None) -> Request:
    """The request with the moment that its ages are reckoned from, in nanoseconds since 1970.

    With ``None`` it is what two runs of one transfer share. Raises ``InvalidRequest`` if no file can be taken.
    """
    return replace(request, filters=request.filters.at(moment_ns))


def knows_extras(request: Request) -> bool:
    """Whether an entry that only the destination holds can be recognised: an escaped name has another path."""
    return request.on_conflict in (OnConflict.FAIL, OnConflict.SKIP)


def check_request(request: Request) -> None:
    """Raise ``InvalidRequest`` for ends that cannot be combined; ``publish_rules`` says it of a rollback."""
    if request.course.goes_back:
        return
    if overlap(request.source, request.destination):
        raise InvalidRequest(
            "destination",
            f"{request.destination} is equal to, inside or above the source {request.source}",
            "name a tree that shares no entry with the source",
        )
    _check_bucket_options(request)
    request.held.check(request.source, request.course)
    _check_attributes(request)
    same_scheme = request.source.is_keyed == request.destination.is_keyed
    if same_scheme and request.on_conflict in (OnConflict.ESCAPE, OnConflict.UNESCAPE):
        problem = f"there is nothing to {request.on_conflict.value} from {request.source} to {request.destination}"
        raise InvalidRequest("on_conflict", problem, "allowed between ends of one kind are fail and skip")
    if request.overwrite is not Overwrite.ALWAYS and request.verifies_after.whole_trees:
        problem = f"what overwrite: {request.overwrite.value} leaves at the destination differs from the source"
        raise InvalidRequest("verify", problem, "with it, none and copied are allowed")
    _check_certificate(request)
    _check_checksums(request)
    if request.manifest is not None and request.symlinks.follows:
        raise InvalidRequest("manifest", "its paths are not followed", "leave it out, or symlinks: keep or skip")
    if request.course.deletes_extras and not knows_extras(request):
        problem = "a sync cannot know which names of the destination belong to names of the source"
        raise InvalidRequest("on_conflict", problem, "with mode sync, fail and skip are allowed")
    if request.inside_s3 and request.symlinks is not Symlinks.KEEP:
        problem = "S3 copies the objects by itself, and no function looks at which of them say that they are symlinks"
        raise InvalidRequest("symlinks", problem, "leave it out: they are copied as they are")
    if request.inside_s3 and request.limits.bytes_per_second is not None:
        problem = "S3 copies between two buckets by itself, as fast as it does"
        raise InvalidRequest("limits.bytes_per_second", problem, "leave it out; limits.files_per_second is possible")
    most = request.function.shard_seconds
    if request.limits.shard_seconds > most:
        raise InvalidRequest("limits.shard_seconds", "is over half of a function's time", f"at most {most:g}")


def _check_certificate(request: Request) -> None:
    if not request.certificate:
        return
    if not (request.course.compares or request.verifies_after.whole_trees):
        raise no_whole_trees("certificate")
    if request.manifest is not None:
        problem = f"the manifest {request.manifest} names a part of a tree, which nobody could find again to check it"
        raise InvalidRequest("certificate", problem, "leave it out, or the manifest")


def _check_checksums(request: Request) -> None:
    if request.checksums is Checksums.READ:
        return
    if request.on_mounts:
        problem = f"neither {request.source} nor {request.destination} is a bucket, whose objects S3 could look at"
        raise InvalidRequest("checksums", problem, "with it, one end is s3://")
    if not request.computes_checksums:
        raise no_whole_trees("checksums")
    if request.certificate:
        problem = "a certificate reads every byte, whatever checksum S3 tells"
        raise InvalidRequest("checksums", problem, "leave it out, or the certificate")


def _check_bucket_options(request: Request) -> None:
    source, destination = request.source, request.destination
    given = (("source", source, request.source_bucket), ("destination", destination, request.destination_bucket))
    for name, end, options in given:
        if options != BucketOptions() and not end.is_keyed:
            raise InvalidRequest(f"{name}_bucket", f"the {name} {end} is no bucket", "leave it out, or name s3://")
        if options.external_id and not options.role:
            raise InvalidRequest(
                f"{name}_bucket.external_id", "there is no role to assume with it", "name the role too"
            )
    if not (source.is_keyed and destination.is_keyed):
        return
    _check_one_identity(request)
    owner, other = request.source_bucket.expected_owner, request.destination_bucket.expected_owner
    if source.bucket == destination.bucket and owner and other and owner != other:
        problem = f"{other} is not the {owner} of source_bucket, and both ends lie in {source.bucket}"
        raise InvalidRequest("destination_bucket.expected_owner", problem, "name one account")


def _check_one_identity(request: Request) -> None:
    one, other = request.source_bucket, request.destination_bucket
    if one.role and other.role and (one.role, one.external_id) != (other.role, other.external_id):
        problem = f"S3 copies for one identity, and source_bucket names {one.role}"
        remedy = "name one role that may read the one and write the other, or copy in two runs by way of a third bucket"
        raise InvalidRequest("destination_bucket.role", problem, remedy)


def _check_attributes(request: Request) -> None:
    given, source = request.attributes, request.source
    if given == GivenAttributes():
        return
    if not given.are_any:
        problem = "there is nothing to override with"
        raise InvalidRequest("attributes.override", problem, "name uid, gid, file_mode, directory_mode or mtime")
    if request.inside_s3:
        problem = f"S3 copies objects to {request.destination} with the metadata that they have"
        raise InvalidRequest("attributes", problem, "leave it out, and give attributes on the way to a mount")
    if not source.is_keyed and given.read_from is not None:
        problem = f"everything in {source} has attributes of its own"
        raise InvalidRequest("attributes.from", problem, "leave it out; it is for objects")
    if not source.is_keyed and given.mtime is not None:
        problem = f"a later run tells by the mtime what changed in {source}"
        raise InvalidRequest("attributes.mtime", problem, "leave it out; it is for objects")
    told_by_mtime = "backup_to" if request.backup_to else f"overwrite: {request.overwrite.value}"
    if given.mtime is Mtime.NOW and (request.backup_to or request.overwrite is not Overwrite.ALWAYS):
        problem = f"{told_by_mtime} tells by the mtime what a task of the run wrote, and what is newer"
        raise InvalidRequest("attributes.mtime", problem, "with it, last-modified is allowed")
    if not source.is_keyed and not given.override:
        problem = f"everything in {source} has attributes of its own"
        raise InvalidRequest("attributes", problem, "leave it out, or name override: true")


def is_fenced(end: Location) -> bool:
    """Whether the runs that write to the end's store can be fenced: on a mount, by their staging directories."""
    return not end.is_keyed


def may_go_short(request: Request) -> bool:
    """Whether one function may carry out the run from the listing on, as far as that is small.

    | not                                              | because                                                  |
    |--------------------------------------------------|----------------------------------------------------------|
    | with a certificate; of mode move or verify       | who proves is another function than who copies           |
    | between two mounts                               | a function sees one of them                              |
    | in a window; that brings back what is held       | a state waits, and no function does                      |
    | a version is published, or published again       | the link is switched by the function that owns versions  |
    """
    course = request.course
    proves = bool(request.certificate) or course.deletes_proven or course.compares
    waits = bool(request.limits.window) or request.brings_back
    return not (proves or waits or request.between_mounts or request.publish is not None or course.goes_back)
