"""The request as it comes from outside: checked field by field, and turned into the domain's."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from fanout.facts import limits
from fanout.facts.limits import LEAST_BYTES_PER_SECOND, LEAST_FILES_PER_SECOND
from fanout.facts.prices import PRICES
from fanout.model.errors import InvalidRequest
from fanout.model.location import Location, MountLocation, S3Location, parse_location
from fanout.request.bucket_options import BucketOptions
from fanout.request.filters import Filters
from fanout.request.manifest import parse_manifest_location
from fanout.request.object_options import ContentType, ObjectOptions, check_metadata, check_tags
from fanout.request.options import Compare, DeleteGuard, OnConflict
from fanout.request.parts import INNER, BucketModel, DeleteGuardModel
from fanout.request.prices import check_prices
from fanout.request.request import (
    CREDIT_RESERVE_PERCENT,
    NEWEST,
    Limits,
    Mode,
    Request,
    Symlinks,
    Verify,
    check_request,
)
from fanout.request.units import Size, size_of, time_of

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
KMS_KEY = rf"^(({_KMS_ARN}key/)?({_KMS_ID})|({_KMS_ARN})?alias/[A-Za-z0-9/_-]{{1,250}})$"


class LimitsModel(BaseModel):
    """What the run may use."""

    model_config = ConfigDict(extra="forbid", strict=True)

    max_concurrency: Annotated[
        int | None,
        Field(ge=1, le=limits.MAP_CONCURRENCY, description="functions that copy at once; default: the stack's"),
    ] = None
    shard_seconds: Annotated[
        float,
        Field(ge=0.1, le=limits.LAMBDA_TIMEOUT_SECONDS / 2, description="predicted seconds of a shard"),
    ] = 60.0
    split_bytes: Annotated[
        int,
        Field(ge=limits.BLOCK_BYTES, description="a file of this size is copied in blocks by several functions"),
    ] = limits.SPLIT_BYTES
    credit_reserve_percent: Annotated[
        float,
        Field(
            ge=0,
            le=100,
            description="burst credits of a file system that are to stay for others, percent of the most: "
            "so few functions start, and while they copy PaceCopy holds all of them to a rate",
        ),
    ] = CREDIT_RESERVE_PERCENT
    bytes_per_second: Annotated[
        float | None,
        Field(ge=LEAST_BYTES_PER_SECOND, description="bytes a second of all functions together; default: no limit"),
    ] = None
    files_per_second: Annotated[
        float | None,
        Field(ge=LEAST_FILES_PER_SECOND, description="entries a second of all functions together; default: no limit"),
    ] = None


class RequestModel(BaseModel):
    """The input of an execution."""

    model_config = ConfigDict(extra="forbid", strict=True)

    source: Annotated[str, Field(description="the tree to read: s3://bucket/prefix/ or efs://MOUNT/path")]
    destination: Annotated[str, Field(description="the tree to write: efs://MOUNT/path or s3://bucket/prefix/")]
    mode: Annotated[
        Literal["copy", "sync", "verify", "plan"],
        Field(
            description="copy: write what is new or changed, delete nothing; sync: and delete what the source lacks;"
            " verify: only compare both ends; plan: only say what a copy and a sync would do"
        ),
    ] = "copy"
    verify: Annotated[
        Literal["none", "copied", "content", "all"],
        Field(
            description="after a copy: none; copied: compare what was copied with the source; all: compare both whole"
            " trees; content: the same without modes, owners, times, hard links and metadata, also in mode verify"
        ),
    ] = "none"
    compare: Annotated[
        Literal["size-mtime", "checksum", "always"],
        Field(
            description="size-mtime: leave what looks the same; checksum: leave what holds the same bytes;"
            " always: copy everything"
        ),
    ] = "size-mtime"
    symlinks: Annotated[
        Literal["keep", "follow", "skip"],
        Field(description="keep: as symlinks; follow: copy what they lead to, within the source; skip: leave them out"),
    ] = "keep"
    on_conflict: Annotated[
        Literal["fail", "skip", "escape", "unescape"],
        Field(description="names that the destination cannot hold: rejected, skipped, escaped; or escaped ones undone"),
    ] = "fail"
    storage_class: Annotated[
        StorageClass | None, Field(description="of the objects written; default: the bucket's")
    ] = None
    kms_key_id: Annotated[
        str | None,
        Field(pattern=KMS_KEY, description="KMS key (id, alias or ARN) of the objects written; default: the bucket's"),
    ] = None
    content_type: Annotated[
        Literal["guess", "none"] | None,
        Field(description="of files written to S3: guess (the default) by the name's ending, or none"),
    ] = None
    object_tags: Annotated[
        dict[str, str],
        Field(description="tags of each object written; inside S3 over those of its source, of which the others stay"),
    ] = {}
    object_metadata: Annotated[
        dict[str, str],
        Field(
            description="user metadata of each object written, by names without x-amz-meta-;"
            " inside S3 over that of its source, of which the rest stays"
        ),
    ] = {}
    object_acl: Annotated[
        Literal["bucket-owner-full-control"] | None,
        Field(description="of the objects written, for a bucket that demands it; default: none is named"),
    ] = None
    source_bucket: Annotated[
        BucketModel, Field(description="how the source's bucket is asked; a manifest in it too")
    ] = BucketModel()
    destination_bucket: Annotated[BucketModel, Field(description="how the destination's bucket is asked")] = (
        BucketModel()
    )
    include: Annotated[
        list[str], Field(max_length=GLOBS, description="globs: what matches none of them is skipped; default: all")
    ] = []
    exclude: Annotated[list[str], Field(max_length=GLOBS, description="globs: what matches one is skipped")] = []
    min_size: Annotated[Size | None, Field(description='smaller files are skipped; bytes, or text as "10 MiB"')] = None
    max_size: Annotated[Size | None, Field(description='larger files are skipped; bytes, or text as "10 MiB"')] = None
    modified_after: Annotated[str | None, Field(description="older files are skipped; ISO 8601 with its zone")] = None
    modified_before: Annotated[
        str | None, Field(description="files of this time or newer are skipped; ISO 8601 with its zone")
    ] = None
    manifest: Annotated[
        str | None, Field(description="s3://bucket/key of a list of what to copy, instead of listing the source")
    ] = None
    delete_guard: Annotated[DeleteGuardModel, Field(description="the most that a sync deletes")] = DeleteGuardModel()
    limits: Annotated[LimitsModel, Field(description="what the run may use")] = LimitsModel()
    prices: Annotated[
        dict[str, Annotated[float, Field(ge=0)]],
        Field(description=f"dollars that the forecast reckons with instead of those of its table: {', '.join(PRICES)}"),
    ] = {}
    calibration: Annotated[
        str,
        Field(
            pattern=r"^[A-Za-z0-9][A-Za-z0-9_.:-]{0,79}$",
            description="whose rates the plan uses: newest: of the newest probe of each file system;"
            " none: the published ones; or the id of a probe of an end's file system",
        ),
    ] = NEWEST
    resume_from: Annotated[
        str | None,
        Field(description="an earlier run: copy what it did not, without listing again; its request is the default"),
    ] = None


def parse_request(document: Any, mounts: tuple[str, ...], max_concurrency: int) -> Request:
    """The request of a JSON document. Raises ``InvalidRequest`` for the first field that is wrong."""
    if not isinstance(document, dict):
        raise InvalidRequest(
            "request", "is not a JSON object", 'e.g. {"source": "s3://...", "destination": "efs://..."}'
        )
    try:
        model = RequestModel.model_validate(document)
    except ValidationError as error:
        raise _first_problem(error) from error
    check_prices("prices", model.prices)
    source = parse_location("source", model.source, mounts)
    destination = parse_location("destination", model.destination, mounts)
    request = Request(
        source=source,
        destination=destination,
        compare=Compare(model.compare),
        limits=_limits(model.limits, max_concurrency),
        mode=Mode(model.mode),
        verify=Verify(model.verify),
        symlinks=Symlinks(model.symlinks),
        on_conflict=OnConflict(model.on_conflict),
        objects=_objects(model, source, destination),
        filters=_filters(model),
        manifest=None if model.manifest is None else parse_manifest_location(model.manifest, source),
        delete_guard=DeleteGuard(model.delete_guard.max_count, model.delete_guard.max_percent),
        prices=model.prices,
        calibration=model.calibration,
        source_bucket=_bucket(model.source_bucket),
        destination_bucket=_bucket(model.destination_bucket),
    )
    check_request(request)
    return request


def _objects(model: RequestModel, source: Location, destination: Location) -> ObjectOptions:
    for field in ("storage_class", "kms_key_id", "content_type", "object_tags", "object_metadata", "object_acl"):
        if getattr(model, field) not in (None, {}) and not isinstance(destination, S3Location):
            raise InvalidRequest(
                field, f"the destination {destination} holds no objects", "leave it out, or name s3://"
            )
    if model.content_type is not None and not isinstance(source, MountLocation):
        raise InvalidRequest("content_type", f"objects of {source} keep their own", "leave it out")
    content_type = ContentType(model.content_type or ContentType.GUESS)
    check_tags("object_tags", model.object_tags)
    check_metadata("object_metadata", model.object_metadata, of_files=isinstance(source, MountLocation))
    return ObjectOptions(
        model.storage_class or "",
        model.kms_key_id or "",
        content_type,
        model.object_tags,
        model.object_metadata,
        model.object_acl or "",
    )


def _bucket(model: BucketModel) -> BucketOptions:
    return BucketOptions(model.requester_pays, model.expected_owner or "")


def _filters(model: RequestModel) -> Filters:
    return Filters(
        include=tuple(model.include),
        exclude=tuple(model.exclude),
        min_size=size_of("min_size", model.min_size),
        max_size=size_of("max_size", model.max_size),
        modified_after_ns=time_of("modified_after", model.modified_after),
        modified_before_ns=time_of("modified_before", model.modified_before),
    )


def _limits(model: LimitsModel, max_concurrency: int) -> Limits:
    wanted = max_concurrency if model.max_concurrency is None else model.max_concurrency
    if wanted > max_concurrency:
        field = "limits.max_concurrency"
        raise InvalidRequest(field, f"{wanted} is over the stack's {max_concurrency}", "ask for less or redeploy")
    return Limits(
        wanted,
        model.shard_seconds,
        model.split_bytes,
        model.credit_reserve_percent,
        model.bytes_per_second,
        model.files_per_second,
    )


def _first_problem(error: ValidationError) -> InvalidRequest:
    problem = error.errors()[0]
    path = [str(part) for part in problem["loc"]]
    field = ".".join(path)
    if problem["type"] == "extra_forbidden":
        inner: dict[str, type[BaseModel]] = {"limits": LimitsModel, **INNER}
        model = inner.get(path[0], RequestModel) if len(path) > 1 else RequestModel
        if path[-1].startswith("sse_c"):
            no_key = "SSE-C, a customer's own key in each request, is not supported"
            return InvalidRequest(field, no_key, "leave it out, or name a key of KMS in kms_key_id")
        return InvalidRequest(field, "unknown field", f"known are {', '.join(model.model_fields)}")
    if problem["type"] == "missing":
        return InvalidRequest(field, "is missing", RequestModel.model_fields[field].description or "")
    given = repr(problem["input"])[:80]
    return InvalidRequest(field, f"{given} is not allowed", problem["msg"])
