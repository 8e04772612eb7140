"""The six outcomes, and the closed list of reasons why an entry was not copied."""

from __future__ import annotations

from enum import StrEnum
from functools import partial
from typing import Self


class Result(StrEnum):
    """The six outcomes; every entry ends with exactly one."""

    COPIED = "copied"
    UNCHANGED = "unchanged"
    SKIPPED = "skipped"
    FAILED = "failed"
    REJECTED = "rejected"
    DELETED = "deleted"


# The results that keep a run from success; each such entry is a row of failures.jsonl.
TROUBLE = (Result.FAILED, Result.REJECTED)

# A row of the table: words, result, remedy, and whether it is a name that the destination cannot hold.
_Reasoned = tuple[str, Result, str, bool]


def _reasoned(result: Result, words: str, remedy: str = "", is_name: bool = False) -> _Reasoned:
    return words, result, remedy, is_name


_skipped = partial(_reasoned, Result.SKIPPED)
_rejected = partial(_reasoned, Result.REJECTED)
_failed = partial(_reasoned, Result.FAILED)
_name = partial(_rejected, is_name=True)
_AGAIN = "then start the transfer again"
_RENAME = f"rename the object, {_AGAIN}; or request on_conflict: escape"
_NOBODY_WRITES = "start the transfer again when nobody writes to the source; a retry keeps to the old listing"
_COPY_IT = "copy it: start a transfer with mode copy and compare always"


class Reason(StrEnum):
    """Why an entry is not copied: code (the member's name), words (in the ledger too), result, remedy. The one table.

    - unchanged, skipped: nothing is wrong. A remedy says how to have the entry copied all the same.
    - failed: the copy of this entry did not work. A run that resumes (``fanout retry``) tries it again.
    - rejected: the destination cannot hold the entry as it is, whichever state finds out. A run that resumes keeps
      the result; the remedy asks for a new start.

    A reason has one result in every phase. Only the request changes it (``Request.left_out``): it may skip an entry
    whose name the destination cannot hold (``is_name``), or that is held (``is_held``).
    """

    result: Result
    remedy: str
    is_name: bool

    # The defaults are for a call with the words alone, which looks a reason up and makes none.
    def __new__(cls, words: str, result: Result = Result.FAILED, remedy: str = "", is_name: bool = False) -> Self:
        self = str.__new__(cls, words)
        self._value_ = words
        self.result, self.remedy, self.is_name = result, remedy, is_name
        return self

    @property
    def is_held(self) -> bool:
        """Whether the entry cannot be read before something brings it back."""
        return self in _HELD

    # Unchanged.
    SAME = "same", Result.UNCHANGED
    DONE_EARLIER = "done by the run that this one resumes", Result.UNCHANGED

    # Left out by the request.
    SPECIAL_FILE = _skipped("special file")
    SYMLINK = _skipped("symlink", "request symlinks: keep or follow, if it should be copied")
    EXCLUDED = _skipped("excluded by the request", "remove the exclude pattern that matches it, if it should be copied")
    NOT_INCLUDED = _skipped(
        "not included by the request", "add an include pattern that matches it, if it should be copied"
    )
    SIZE_FILTERED = _skipped("size outside the request's bounds", "change min_size or max_size, if it should be copied")
    TIME_FILTERED = _skipped(
        "time outside the request's bounds", "change modified_after or modified_before, if it should be copied"
    )
    KEPT = _skipped(
        "left as it is at the destination", "request overwrite: always, if it should be replaced by the source's"
    )
    EXTRA_IN_MANIFEST = _skipped("the manifest lists it as only at the destination")
    NOT_THERE = _skipped("the source does not hold it, as the manifest allows")
    KEY_OF_A_FILE = _skipped("the directory's key is that of a file in it")
    CAME_LATER = _skipped(
        "came to the source, or changed there, after the run began", "start the move again, which moves it"
    )
    NOT_COPIED = _skipped(
        "an equal one is at the destination, but it failed to be copied, or another name of its file did",
        "follow the remedy of the failed entry, then retry, which moves it",
    )
    HOLDS_MORE = _skipped(
        "directory is not empty: it holds what was not moved", "move or delete what it holds, if it should go"
    )
    HOLDS_KEPT = _skipped(
        "directory is not empty: it holds an entry that was not deleted",
        "follow the remedy of that entry, then sync again, if it should be deleted",
    )
    FILTERED_NOT_EMPTY = _skipped(
        "directory is not empty, and the request has filters",
        "empty the directory or change the filters, then sync again, if it should be deleted",
    )

    # Names that the destination cannot hold.
    NAME_EMPTY = _name("empty name component", _RENAME)
    NAME_DOT = _name("name component . or ..", _RENAME)
    NAME_ABSOLUTE = _name("absolute name", _RENAME)
    NAME_NUL = _name("NUL in name", _RENAME)
    NAME_TOO_LONG = _name("name component over 255 bytes", f"shorten the name to 255 bytes, {_AGAIN}")
    NAME_RESERVED = _name(
        "name reserved for the run's own files",
        f"rename the entry, {_AGAIN}: runs stage their files under .fanout-staging-*",
    )
    PATH_TOO_DEEP = _name("over 1,000 directories deep", f"flatten the tree to 1,000 levels, {_AGAIN}")
    KEY_TOO_LONG = _name(
        "key over 1,024 bytes",
        f"shorten the path, {_AGAIN}: the destination's prefix and the path share 1,024 bytes",
    )
    KEY_NOT_UTF8 = _name(
        "name is not UTF-8",
        f"rename the file, {_AGAIN}; or request on_conflict: escape, to a bucket",
    )
    ROW_NOT_BELOW = _name(
        "row of the manifest is not a path below the source",
        f"correct the manifest: paths are relative to the source, as in directory/file; {_AGAIN}",
    )
    NAME_NOT_ESCAPED = _rejected(
        "name is not one that escape makes",
        f"rename the entry, {_AGAIN}; or request on_conflict: fail, which copies names as they are",
    )
    FILE_AND_DIRECTORY = _name(
        "key is a file and also a directory",
        f"rename what lies below the file's key, {_AGAIN}; or request on_conflict: escape",
    )
    MARKER_AND_DIRECTORY = _name(
        "empty object whose key is also a directory",
        "delete the empty file at the destination, and request min_size: 1, which leaves empty objects out;"
        f" or delete the empty object and that file, {_AGAIN}",
    )

    # Other entries that cannot be copied as they are.
    IN_PUBLISHED = _rejected(
        "place lies in a published tree",
        f"exclude it, or name a destination that shares no entry with the published tree; {_AGAIN}",
    )
    DESTINATION_KIND = _rejected(
        "destination has another kind of entry",
        f"move the entry at the destination away, {_AGAIN};"
        " or request mode: sync with other_kind: replace, which deletes it",
    )
    LINK_LOOP = _rejected(
        "symlink that leads back to a directory above it",
        f"remove the symlink, {_AGAIN}; or request symlinks: keep",
    )
    LINK_OUTSIDE = _rejected(
        "symlink that leads out of the source",
        "request symlinks: keep, or a source that holds the target; an absolute target always leads outside",
    )
    LINK_NO_TARGET = _rejected(
        "symlink kept as an object holds no target",
        f"write a target of 1 to 4,080 bytes without NUL to the object, {_AGAIN}; or request symlinks: skip",
    )
    CUSTOMER_KEY = _rejected(
        "source object is encrypted with SSE-C",
        f"copy the object over itself with SSE-S3 or a key of KMS, {_AGAIN}; or exclude it",
    )
    LINK_IN_STORE = _rejected("symlink kept as an object cannot be followed", "request symlinks: keep or skip")
    OUTSIDE_SOURCE = _rejected(
        "key outside the source's prefix", "correct the manifest; or request a source that holds the key"
    )
    OTHER_BUCKET = _rejected(
        "row of the manifest names another bucket",
        "correct the manifest; or request a source in the bucket that the row names",
    )
    KEY_ENCODED = _rejected("key in the manifest is URL-encoded", f"name its column or field encoded_key, {_AGAIN}")
    MANIFEST_ROW = _rejected(
        "row of the manifest cannot be read", "correct the row that the message names (docs/how-to/manifests.md)"
    )

    # Failed at the source.
    LINK_DANGLING = _failed(
        "symlink that leads nowhere", "restore its target or remove the symlink, then retry; or request symlinks: keep"
    )
    FIRST_NAME = _failed(
        "the file's first name was not copied",
        "follow the remedy of the first name, which the message names; then retry",
    )
    SOURCE_CHANGED = _failed("source changed", _NOBODY_WRITES)
    SOURCE_VANISHED = _failed(
        "source vanished", f"{_NOBODY_WRITES}; or request vanished: skip, which leaves out what is gone"
    )
    SOURCE_ARCHIVED = _failed(
        "source object is archived",
        "request archived: restore or skip, then retry; of a run that restores, retry once S3 has restored the object",
    )
    NOT_RESTORED = _failed(
        "source object cannot be restored",
        "allow s3:RestoreObject on the source to the stack's role, or change restore.tier; then retry",
    )
    SOURCE_DENIED = _failed("source cannot be read", "give the function read permission on the entry, then retry")
    UNLISTABLE = _failed(
        "directory cannot be listed", "give the function read and search permission on the directory, then retry"
    )
    NOT_AT_SOURCE = _failed(
        "in the manifest but not at the source",
        "correct the manifest: paths are relative to the source, and the path of a directory ends in /",
    )
    SOURCE_NOT_DELETED = _failed(
        "cannot be deleted at the source",
        "give the function write permission on its directory, or name its bucket in WriteBucketArns;"
        " then start the move again",
    )
    NAME_TOUCHED = _failed(
        "a file with several names was touched, or a task ended between two of its names",
        "retry: it compares the file again, and moves the names that are left if nobody wrote to it;"
        " or start the move again, which copies the names that are left as a file of their own",
    )
    PUBLISHED = _failed(
        "part of a published tree",
        "a run that publishes removes old versions by itself: exclude the published tree, or name an end outside it",
    )
    IN_BACKUP = _failed(
        "part of the run's backup",
        "exclude that directory, or name one as backup_to that shares no entry with either end; then start again",
    )
    APPEARED = _failed("appeared at the source", "sync again: the next run copies it")

    # Failed at the destination.
    LINK_IN_PATH = _failed(
        "symlink in the destination's path", "replace the symlink at the destination with a directory, then retry"
    )
    DESTINATION_DENIED = _failed(
        "destination cannot be written",
        "the message names the refusal: mostly the function needs write permission; then retry",
    )
    LINK_LIMIT = _failed(
        "file has no room for another name",
        "the file system allows a file so many names (177 on EFS): remove some of them at the destination, then retry;"
        " or leave backup_to out",
    )
    NO_SPACE = _failed("no space at the destination", "free space or raise the quota, then retry")
    DESTINATION_VANISHED = _failed(
        "written parts are gone", "retry; check that no lifecycle rule aborts multipart uploads within a day"
    )
    DESTINATION_CHANGED = _failed(
        "destination changed",
        f"find who else writes to the destination, {_AGAIN}, which lists it anew",
    )
    NOT_EMPTY = _failed("directory is not empty", "find who else writes to the destination, then sync again")

    # Differences between the ends.
    CHECKSUM = _failed("checksum differs", f"{_COPY_IT}; if it still differs, the source is damaged")
    MISSING = _failed("missing at the destination", "copy it: start a transfer with mode copy")
    EXTRA = _failed("not at the source", "delete it at the destination if it should not be there")
    DIFFERS = _failed("size or kind differs", _COPY_IT)
    MODE_DIFFERS = _failed("mode differs", _COPY_IT)
    OWNER_DIFFERS = _failed(
        "owner differs",
        f"{_COPY_IT}; a mount keeps owners only with PosixUserId=0;"
        " or move with on_not_holdable: allow, which lets it go and counts it",
    )
    MTIME_DIFFERS = _failed("mtime differs", _COPY_IT)
    LINKS_DIFFER = _failed("hard links differ", _COPY_IT)
    METADATA_DIFFERS = _failed("metadata differs", _COPY_IT)
    ATTRIBUTE_UNREADABLE = _failed(
        "attribute of the source cannot be read",
        "correct the object's metadata that the message names, or request attributes that give it, or verify: content;"
        f" {_AGAIN}",
    )
    NOT_HOLDABLE = _failed(
        "destination cannot hold all of it",
        "copy it in place of moving it; or move with on_not_holdable: allow, which lets go what the message names and"
        " counts it",
    )
    NOT_VERIFIED = _failed("not verified", "verify again: start a transfer with mode verify")

    # Failed in the work itself.
    STAGED_BROKEN = _failed(
        "staged data is broken", "retry; find who else writes or deletes below staged/ in the work bucket"
    )
    TRANSIENT = _failed("failed after retries", "retry")
    OUT_OF_TIME = _failed(
        "too large for one function's time",
        "give CopyShard more memory, which brings more network, then retry; or store the file in parts",
    )
    UNEXPECTED = _failed(
        "unexpected error", "retry; if it fails again, report the message: the product does not know this error"
    )
    SHARD_FAILED = _failed("the shard failed", "retry; the message names the function's error")
    NOT_ATTEMPTED = _failed("not attempted", "mend what the run's error names, then start the request again")


_HELD = frozenset({Reason.SOURCE_ARCHIVED, Reason.NOT_RESTORED})
