"""The request as it comes from outside: checked field by field, and turned into the one that the run reads."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import Annotated, Any, Literal

from msgspec import Meta, field
from msgspec.structs import replace

from fanout.facts.prices import PRICES
from fanout.model.errors import InvalidRequest
from fanout.model.location import Location, MountLocation, overlap, parse_location
from fanout.request.fields.checked import checked
from fanout.request.fields.traits import COMMON, DELETING, FILTERS, OBJECTS, Traits
from fanout.request.fields.units import Size, age_of, size_of, time_of
from fanout.request.filtering.filters import GLOB_CHARACTERS, Filters
from fanout.request.manifest import parse_manifest_location
from fanout.request.mode_fields import check_mode_fields
from fanout.request.object_options import ContentType, ObjectOptions, check_metadata, check_tags
from fanout.request.options import Options, Verify
from fanout.request.parts.finish_by import parse_finish_by
from fanout.request.parts.limits import LARGEST, FunctionSize, Limits
from fanout.request.parts.publish_rules import check_publish
from fanout.request.parts.window import parse_window
from fanout.request.request import Request, check_request

# docs.aws.amazon.com/AmazonS3/latest/API/API_PutObject.html, less the classes that only directory buckets,
# Outposts and FSx have.
StorageClass = Literal[
    "STANDARD",
    "INTELLIGENT_TIERING",
    "STANDARD_IA",
    "ONEZONE_IA",
    "GLACIER_IR",
    "GLACIER",
    "DEEP_ARCHIVE",
    "REDUCED_REDUNDANCY",
]
_KMS_ARN = r"arn:aws[a-z-]*:kms:[a-z0-9-]+:[0-9]{12}:"
_KMS_ID = r"mrk-[0-9a-f]{32}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
# Chosen: what one expression still tries in little time for each entry.
GLOBS = 1_000
# Options of other tools that say which entries are taken.
_FILTERING = ("filter", "filters", "filter_from", "include_from", "exclude_from")
KMS_KEY = rf"^(({_KMS_ARN}key/)?({_KMS_ID})|({_KMS_ARN})?alias/[A-Za-z0-9/_-]{{1,250}})$"


class Fields(Options, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The input of an execution: the options, and what a plan holds in another form."""

    source: Annotated[str, Meta(description="the tree to read: s3://bucket/prefix/ or efs://MOUNT/path")]
    destination: Annotated[str, Meta(description="the tree to write: efs://MOUNT/path or s3://bucket/prefix/")]
    storage_class: Annotated[
        StorageClass | None, Meta(description="of the objects written; default: the bucket's"), Traits(OBJECTS, at=-2)
    ] = None
    kms_key_id: Annotated[
        str,
        Meta(
            pattern=KMS_KEY,
            description="KMS key (id, alias or ARN) of the objects written; default: the bucket's",
            extra_json_schema={"allowed": "the id, alias/NAME or ARN of a KMS key"},
        ),
        Traits(OBJECTS, at=-2, words=("sse_kms_key_id",)),
    ] = ""
    content_type: Annotated[
        Literal["guess", "none"] | None,
        Meta(description="of files written to S3: guess (the default) by the name's ending, or none"),
        Traits(OBJECTS, at=-2),
    ] = None
    object_tags: Annotated[
        Mapping[str, str],
        Meta(description="tags of each object written; inside S3 over those of its source, of which the others stay"),
        Traits(OBJECTS, at=-1, option="tag"),
    ] = field(default_factory=dict)
    object_metadata: Annotated[
        Mapping[str, str],
        Meta(
            description="user metadata of each object written, by names without x-amz-meta-;"
            " inside S3 over that of its source, of which the rest stays"
        ),
        Traits(OBJECTS, at=-1, option="metadata"),
    ] = field(default_factory=dict)
    object_acl: Annotated[
        Literal["bucket-owner-full-control"] | None,
        Meta(description="of the objects written, for a bucket that demands it; default: none is named"),
        Traits(OBJECTS, at=-2, words=("acl",)),
    ] = None
    include: Annotated[
        list[str],
        Meta(
            max_length=GLOBS,
            description=f"globs: what matches none is skipped; default: all; with exclude at most"
            f" {GLOB_CHARACTERS:,} characters",
        ),
        Traits(COMMON, at=-1, value="GLOB", words=_FILTERING),
    ] = field(default_factory=list)
    exclude: Annotated[
        list[str],
        Meta(
            max_length=GLOBS,
            description=f"globs: what matches one is skipped; with include at most {GLOB_CHARACTERS:,} characters",
        ),
        Traits(COMMON, at=-1, value="GLOB", words=_FILTERING),
    ] = field(default_factory=list)
    min_size: Annotated[
        Size | None,
        Meta(description='smaller files are skipped; bytes, or text as "10 MiB"'),
        Traits(FILTERS, value="SIZE"),
    ] = None
    max_size: Annotated[
        Size | None,
        Meta(description='larger files are skipped; bytes, or text as "10 MiB"'),
        Traits(FILTERS, value="SIZE"),
    ] = None
    modified_after: Annotated[
        str | None, Meta(description="older files are skipped; ISO 8601 with its zone"), Traits(FILTERS, value="TIME")
    ] = None
    modified_before: Annotated[
        str | None,
        Meta(description="files of this time or newer are skipped; ISO 8601 with its zone"),
        Traits(FILTERS, value="TIME"),
    ] = None
    older_than: Annotated[
        str | None,
        Meta(description='files whose mtime is no older than this when the run begins are skipped; an age as "30d"'),
        Traits(FILTERS, value="AGE", words=("min_age",)),
    ] = None
    newer_than: Annotated[
        str | None,
        Meta(description='files whose mtime is older than this when the run begins are skipped; an age as "6h"'),
        Traits(FILTERS, value="AGE", words=("max_age",)),
    ] = None
    manifest: Annotated[
        str | None,
        Meta(description="s3://bucket/key of a list of what to copy, instead of listing the source"),
        Traits(FILTERS, value="S3-URL", words=("files_from",)),
    ] = None
    backup_to: Annotated[
        str | None,
        Meta(
            description="efs://MOUNT/path outside the destination's tree: keeps there, under the run's id, what a copy"
            " replaces and a sync deletes; default: nothing is kept"
        ),
        Traits(DELETING, value="PLACE", words=("backup_dir",)),
    ] = None
    resume_from: Annotated[
        str | None,
        Meta(description="an earlier run: do what it did not, and what changed since; its request is the default"),
    ] = None


def parse_request(
    document: Any, mounts: tuple[str, ...], max_concurrency: int, function: FunctionSize = LARGEST
) -> Request:
    """The request of a JSON document; its ages have no moment yet, see ``request_at``.

    Raises ``InvalidRequest`` for the first field that is wrong.
    """
    if not isinstance(document, dict):
        raise InvalidRequest(
            "request", "is not a JSON object", 'e.g. {"source": "s3://...", "destination": "efs://..."}'
        )
    _refuse_customer_keys(document)
    fields = checked(document, Fields)
    check_prices("prices", fields.prices)
    source = parse_location("source", fields.source, mounts)
    destination = parse_location("destination", fields.destination, mounts)
    same = {name: getattr(fields, name) for name in Options.__struct_fields__}
    if fields.mode.course.deletes_proven and fields.verify is Verify.NONE:
        same["verify"] = Verify.ALL  # the proof that a move needs
    request = Request(
        **same | {"limits": _limits(fields.limits, max_concurrency)},
        source=source,
        destination=destination,
        objects=_objects(fields, source, destination),
        filters=filters_of(fields),
        backup_to=None if fields.backup_to is None else parse_backup(fields.backup_to, source, destination, mounts),
        manifest=None if fields.manifest is None else parse_manifest_location(fields.manifest, source),
        function=function,
    )
    check_mode_fields(request)
    check_publish(request)
    check_request(request)
    _check_window(request)
    _check_other_kind(request)
    if request.limits.finish_by:
        parse_finish_by(request.limits.finish_by)
    return request


def _refuse_customer_keys(document: Mapping[str, Any]) -> None:
    for name in document:
        if name.startswith("sse_c"):
            problem = "SSE-C, a customer's own key in each request, is not supported"
            raise InvalidRequest(name, problem, "leave it out, or name a key of KMS in kms_key_id")


def _objects(fields: Fields, source: Location, destination: Location) -> ObjectOptions:
    for name in ("storage_class", "kms_key_id", "content_type", "object_tags", "object_metadata", "object_acl"):
        if getattr(fields, name) not in (None, {}, "") and not destination.is_keyed:
            raise InvalidRequest(name, f"the destination {destination} holds no objects", "leave it out, or name s3://")
    if fields.content_type is not None and source.is_keyed:
        raise InvalidRequest("content_type", f"objects of {source} keep their own", "leave it out")
    content_type = ContentType(fields.content_type or ContentType.GUESS)
    check_tags("object_tags", fields.object_tags)
    check_metadata("object_metadata", fields.object_metadata, of_files=not source.is_keyed)
    return ObjectOptions(
        fields.storage_class or "",
        fields.kms_key_id,
        content_type,
        fields.object_tags,
        fields.object_metadata,
        fields.object_acl or "",
    )


def filters_of(fields: Fields) -> Filters:
    """The filters of a request. Raises ``InvalidRequest``."""
    return Filters(
        include=tuple(fields.include),
        exclude=tuple(fields.exclude),
        min_size=size_of("min_size", fields.min_size),
        max_size=size_of("max_size", fields.max_size),
        modified_after_ns=time_of("modified_after", fields.modified_after),
        modified_before_ns=time_of("modified_before", fields.modified_before),
        newer_than_ns=age_of("newer_than", fields.newer_than, "modified_after"),
        older_than_ns=age_of("older_than", fields.older_than, "modified_before"),
    )


def _check_window(request: Request) -> None:
    if not (text := request.limits.window):
        return
    window = parse_window(text)
    if request.between_mounts and window.opens_not_daily:
        problem = "between two mounts, what is staged in the work bucket expires after two days"
        raise InvalidRequest("limits.window", problem, "a window that opens on every day")


def _check_other_kind(request: Request) -> None:
    if not request.replaces_kinds:
        return
    if request.destination.is_keyed:
        problem = f"in a bucket such as {request.destination} no key is in the way of another"
        raise InvalidRequest("other_kind", problem, "leave it out")
    if request.backup_to is not None:
        raise InvalidRequest("other_kind", "backup_to does not keep whole directories", "leave one of the two out")
    if not request.filters.take_all:
        problem = "a directory in the way may hold what the filters leave out"
        raise InvalidRequest("other_kind", problem, "leave the filters out, or reject")


def _limits(limits: Limits, max_concurrency: int) -> Limits:
    wanted = limits.max_concurrency or max_concurrency
    if wanted > max_concurrency:
        field = "limits.max_concurrency"
        raise InvalidRequest(field, f"{wanted} is over the stack's {max_concurrency}", "ask for less or redeploy")
    return replace(limits, max_concurrency=wanted)


def check_prices(field: str, given: Mapping[str, Any]) -> None:
    """Raise ``InvalidRequest`` for a price that is not in the table, or is no dollars."""
    for name, dollars in given.items():
        if name not in PRICES:
            raise InvalidRequest(f"{field}.{name}", "unknown price", f"known are {', '.join(PRICES)}")
        if isinstance(dollars, bool) or not isinstance(dollars, int | float) or not 0 <= dollars < inf:
            raise InvalidRequest(f"{field}.{name}", f"{dollars!r} is not allowed", "dollars, 0 or more")


def parse_backup(text: str, source: Location, destination: Location, mounts: tuple[str, ...]) -> MountLocation:
    """The directory of ``backup_to``. Raises ``InvalidRequest`` where the destination's files cannot be kept there."""
    if destination.is_keyed:
        problem = f"the destination {destination} is a bucket, in which nothing is kept by a link"
        remedy = "leave it out and turn on the bucket's versioning, which keeps what a run replaces or deletes"
        raise InvalidRequest("backup_to", problem, remedy)
    found = parse_location("backup_to", text, mounts)
    if not isinstance(found, MountLocation) or found.mount != destination.mount:
        problem = f"{found} does not lie on the file system of the destination {destination}"
        raise InvalidRequest("backup_to", problem, f"name a directory of it, as efs://{destination.mount}/backups")
    for name, end in (("destination", destination), ("source", source)):
        if overlap(found, end):
            problem = f"{found} is equal to, inside or above the {name} {end}"
            raise InvalidRequest("backup_to", problem, f"name a directory that shares no entry with the {name}")
    return found
