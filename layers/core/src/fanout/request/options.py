"""The options of a request: one definition a field, with its bounds, its default and what it means.

A field is defined here once: parsing, the plan's document, the table in docs/reference/request.md and the words of an
error come from it. ``Meta`` holds bounds and meaning; msgspec checks them.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated

from msgspec import Meta, Struct, field

from fanout.facts.prices import PRICES
from fanout.model.entry import SECOND_NS
from fanout.request.course import Mode
from fanout.request.fields.traits import COMMON, DELETING, FILTERS, OBJECTS, PROOF, SPEED, Decides, Traits
from fanout.request.parts.bucket_options import BucketOptions
from fanout.request.parts.given_attributes import GivenAttributes
from fanout.request.parts.limits import DeleteGuard, Limits, OnNotHoldable
from fanout.request.parts.publish import Publish
from fanout.request.parts.restore import ArchivedPolicy, HeldRule, Restore
from fanout.request.parts.symlinks import Symlinks

# Values of ``Options.calibration`` besides the id of a probe: whose rates a plan uses.
NEWEST = "newest"
NO_PROBE = "none"


class Compare(StrEnum):
    """How entries at both ends are compared."""

    SIZE_MTIME = "size-mtime"
    CHECKSUM = "checksum"
    ALWAYS = "always"


class Checksums(StrEnum):
    """Where the checksum comes from of an object that S3 keeps none of.

    Read: a function reads the object. Computed: S3 computes it, by a job of S3 Batch Operations.
    """

    READ = "read"
    COMPUTED = "computed"


class Overwrite(StrEnum):
    """The policy for what is at the place of an entry that is to be copied."""

    ALWAYS = "always"
    NEVER = "never"
    IF_NEWER = "if-newer"


class OtherKind(StrEnum):
    """The policy for an entry of another kind in the way of a copy on a mount."""

    REJECT = "reject"
    REPLACE = "replace"


class Vanished(StrEnum):
    """The policy for entries that are gone from the source when they are copied or compared."""

    FAIL = "fail"
    SKIP = "skip"


class OnConflict(StrEnum):
    """The policy for names that the destination cannot hold."""

    FAIL = "fail"
    SKIP = "skip"
    ESCAPE = "escape"
    UNESCAPE = "unescape"


class Verify(StrEnum):
    """The verification after a copy: none, the copied entries, or both whole trees.

    ``CONTENT`` compares both trees by names, kinds, sizes and bytes, ``ALL`` by attributes too. In ``mode: verify``
    ``CONTENT`` means the same, and every other value means ``ALL``.
    """

    NONE = "none"
    COPIED = "copied"
    CONTENT = "content"
    ALL = "all"

    @property
    def whole_trees(self) -> bool:
        """Whether both whole trees are compared after a copy."""
        return self in (Verify.CONTENT, Verify.ALL)


class ReportEntries(StrEnum):
    """Which entries a run reports one by one, as files for Athena."""

    NONE = "none"
    FAILED = "failed"
    ALL = "all"


class Options(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The options that a request, its plan and every state hold in the same form."""

    mode: Annotated[
        Mode,
        Meta(
            description="copy: write what is new or changed, delete nothing; sync: and delete what the source lacks;"
            " move: copy, compare both ends, and delete at the source what is proven equal; verify: only compare both"
            " ends; plan: only say what a copy and a sync would do; rollback: publish the version again that the source"
            " names"
        ),
        Traits(decides=Decides.ACTION, words=("delete", "delete_after", "delete_excluded")),
    ] = Mode.COPY
    verify: Annotated[
        Verify,
        Meta(
            description="what is compared after a copy; copied: what was copied, with its source; all: both whole"
            " trees; content: the same without modes, owners, times, hard links and metadata, also in mode verify; a"
            " move takes all, or content"
        ),
        Traits(COMMON, at=1, decides=Decides.OBJECT),
    ] = Verify.NONE
    certificate: Annotated[
        bool,
        Meta(
            description="sign a certificate where both trees are proven equal; with mode verify, or verify all or"
            " content; reads both ends in full"
        ),
        Traits(PROOF, decides=Decides.OBJECT),
    ] = False
    checksums: Annotated[
        Checksums,
        Meta(
            description="of objects that S3 keeps no checksum of, where both whole trees are compared: read: they are"
            " read; computed: S3 Batch Operations computes them first"
        ),
        Traits(PROOF, decides=Decides.WORK),
    ] = Checksums.READ
    compare: Annotated[
        Compare,
        Meta(
            description="what is left as it is; size-mtime: what looks the same; checksum: what holds the same bytes;"
            " always: nothing"
        ),
        Traits(COMMON, words=("checksum", "size_only", "ignore_times", "exact_timestamps")),
    ] = Compare.SIZE_MTIME
    overwrite: Annotated[
        Overwrite,
        Meta(
            description="whether a changed entry replaces a file or object in its place; if-newer: only if the source's"
            " is newer. What is left is skipped"
        ),
        Traits(COMMON, words=("ignore_existing", "no_clobber", "update", "if_source_newer")),
    ] = Overwrite.ALWAYS
    symlinks: Annotated[
        Symlinks,
        Meta(description="keep: as symlinks; follow: copy what they lead to, within the source; skip: leave them out"),
        Traits(FILTERS, at=1, words=("links", "copy_links", "follow_symlinks", "no_follow_symlinks")),
    ] = Symlinks.KEEP
    on_conflict: Annotated[
        OnConflict,
        Meta(description="names that the destination cannot hold: rejected, skipped, escaped; or escaped ones undone"),
        Traits(FILTERS, at=1),
    ] = OnConflict.FAIL
    other_kind: Annotated[
        OtherKind,
        Meta(
            description="entries of a mount in whose place the source has another kind, as a file for a directory:"
            " reject: both stay, and the source's is rejected; replace, in a sync: they go, within its delete guard"
        ),
        Traits(DELETING, at=1, words=("force",), decides=Decides.ACTION),
    ] = OtherKind.REJECT
    vanished: Annotated[
        Vanished,
        Meta(
            description="entries that somebody removes from the source after they were listed, as temporary files go:"
            " fail: failed entries, so a sync deletes nothing; skip: left out, once the source was asked again"
        ),
        Traits(FILTERS, at=1, words=("ignore_missing_args",), decides=Decides.OBJECT),
    ] = Vanished.FAIL
    archived: Annotated[
        ArchivedPolicy,
        Meta(
            description="unrestored objects in GLACIER, DEEP_ARCHIVE or an archive tier of INTELLIGENT_TIERING: fail:"
            " failed entries; skip: left out, their copies stay; restore: the run restores, waits, and copies them"
        ),
        Traits(OBJECTS, at=-1, words=("force_glacier_transfer", "ignore_glacier_warnings"), decides=Decides.OBJECT),
    ] = ArchivedPolicy.FAIL
    restore: Annotated[
        Restore,
        Meta(description="how archived: restore has objects restored"),
        Traits(option="restore", decides=Decides.OBJECT),
    ] = field(default_factory=Restore)
    allow_empty_source: Annotated[
        bool,
        Meta(
            description="whether a source may hold nothing: true: with a warning; false: the run is refused before"
            " anything is copied or deleted, but for a retry of a move that emptied it"
        ),
        Traits(DELETING, decides=Decides.WORK),
    ] = True
    report_entries: Annotated[
        ReportEntries,
        Meta(description="what the run writes into entries/, a JSON line each: none; failed or rejected entries; all"),
        Traits(PROOF, decides=Decides.WORK),
    ] = ReportEntries.NONE
    source_bucket: Annotated[
        BucketOptions,
        Meta(description="how the source's bucket is asked; a manifest in it too"),
        Traits(option="source", decides=Decides.WORK),
    ] = field(default_factory=BucketOptions)
    destination_bucket: Annotated[
        BucketOptions,
        Meta(description="how the destination's bucket is asked"),
        Traits(option="destination", decides=Decides.WORK),
    ] = field(default_factory=BucketOptions)
    publish: (
        Annotated[
            Publish,
            Meta(description="copy into a new version next to the old ones, and switch a symlink once it is whole"),
            Traits(decides=Decides.ACTION),
        ]
        | None
    ) = None
    delete_guard: Annotated[
        DeleteGuard, Meta(description="the most that a sync deletes"), Traits(decides=Decides.ACTION)
    ] = field(default_factory=DeleteGuard)
    on_not_holdable: Annotated[
        OnNotHoldable,
        Meta(
            description="what a move does with entries of which the destination cannot hold all, such as tags on a"
            " mount; leave: they stay, as failed; allow: they are deleted, and a note counts them"
        ),
        Traits(DELETING, decides=Decides.ACTION),
    ] = OnNotHoldable.LEAVE
    attributes: Annotated[GivenAttributes, Meta(description="attributes of copies whose objects name none")] = field(
        default_factory=GivenAttributes
    )
    limits: Annotated[Limits, Meta(description="what the run may use"), Traits(decides=Decides.WORK)] = field(
        default_factory=Limits
    )
    prices: Annotated[
        Mapping[str, Annotated[float, Meta(ge=0)]],
        Meta(description=f"dollars in place of those of the forecast's table: {', '.join(PRICES)}"),
        Traits(SPEED, at=4, option="price", decides=Decides.WORK),
    ] = field(default_factory=dict)
    calibration: Annotated[
        str,
        Meta(
            pattern=r"^[A-Za-z0-9][A-Za-z0-9_.:-]{0,79}$",
            description="rates of the plan: newest: of each file system's newest probe; none: the published ones;"
            " or of the probe of that id",
            extra_json_schema={"allowed": "`newest`, `none`, or the id of a probe"},
        ),
        Traits(SPEED, at=3, decides=Decides.WORK),
    ] = NEWEST

    @property
    def held(self) -> HeldRule:
        """The treatment of entries of the source that are held."""
        return HeldRule(self.archived, self.restore)


def replaces(overwrite: Overwrite, source_ns: int, destination_ns: int) -> bool:
    """Whether what is there is replaced; times are nanoseconds since 1970, the destination's the latest it may be."""
    if overwrite is Overwrite.IF_NEWER:
        return source_ns > destination_ns
    return overwrite is Overwrite.ALWAYS


def latest_of_second(time_ns: int) -> int:
    """The latest time that a header in whole seconds may mean."""
    return time_ns - time_ns % SECOND_NS + SECOND_NS - 1
