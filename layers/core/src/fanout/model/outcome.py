"""What became of an entry, and the closed list of reasons why it was not copied."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct


class Result(StrEnum):
    """The seven outcomes; every entry ends with exactly one."""

    COPIED = "copied"
    UNCHANGED = "unchanged"
    SKIPPED = "skipped"
    FAILED = "failed"
    REJECTED = "rejected"
    DELETED = "deleted"


class Reason(StrEnum):
    """Why an entry is not copied."""

    SAME = "same"
    DONE_EARLIER = "done by the run that this one resumes"
    SPECIAL_FILE = "special file"
    SYMLINK = "symlink"
    LINK_DANGLING = "symlink that leads nowhere"
    LINK_LOOP = "symlink that leads back to a directory above it"
    LINK_OUTSIDE = "symlink that leads out of the source"
    LINK_IN_STORE = "symlink kept as an object can not be followed"
    FIRST_NAME = "the file's first name was not copied"
    NAME_EMPTY = "empty name component"
    NAME_DOT = "name component . or .."
    NAME_ABSOLUTE = "absolute name"
    NAME_NUL = "NUL in name"
    NAME_TOO_LONG = "name component over 255 bytes"
    NAME_RESERVED = "name reserved for the run's own files"
    PATH_TOO_DEEP = "over 1,000 directories deep"
    KEY_TOO_LONG = "key over 1,024 bytes"
    KEY_NOT_UTF8 = "name is not UTF-8"
    NAME_NOT_ESCAPED = "name is not one that escape makes"
    FILE_AND_DIRECTORY = "key is a file and also a directory"
    DESTINATION_KIND = "destination has another kind of entry"
    LINK_IN_PATH = "symlink in the destination's path"
    SOURCE_CHANGED = "source changed"
    SOURCE_VANISHED = "source vanished"
    SOURCE_ARCHIVED = "source object is archived"
    SOURCE_DENIED = "source can not be read"
    DESTINATION_DENIED = "destination can not be written"
    NO_SPACE = "no space at the destination"
    CHECKSUM = "checksum differs"
    MISSING = "missing at the destination"
    EXTRA = "not at the source"
    DIFFERS = "size or kind differs"
    MODE_DIFFERS = "mode differs"
    OWNER_DIFFERS = "owner differs"
    MTIME_DIFFERS = "mtime differs"
    LINKS_DIFFER = "hard links differ"
    METADATA_DIFFERS = "metadata differs"
    NOT_VERIFIED = "not verified"
    DESTINATION_VANISHED = "what was written is gone"
    DESTINATION_CHANGED = "destination changed"
    NOT_EMPTY = "directory is not empty"
    APPEARED = "is at the source by now"
    STAGED_BROKEN = "what was staged is broken"
    TRANSIENT = "failed after retries"
    OUT_OF_TIME = "too large for one function's time"
    UNEXPECTED = "unexpected error"
    SHARD_FAILED = "the shard failed"
    UNLISTABLE = "directory can not be listed"
    EXCLUDED = "excluded by the request"
    NOT_INCLUDED = "not included by the request"
    SIZE_FILTERED = "size out of the request's bounds"
    TIME_FILTERED = "time out of the request's bounds"
    NOT_AT_SOURCE = "in the manifest but not at the source"
    OUTSIDE_SOURCE = "key outside the source's prefix"
    MANIFEST_ROW = "row of the manifest can not be read"


REMEDIES: dict[Reason, str] = {
    Reason.NAME_EMPTY: "rename the object: // has no counterpart in a file system",
    Reason.NAME_DOT: "rename the object: . and .. lead out of its directory",
    Reason.NAME_ABSOLUTE: "rename the object: a key that starts with / has no counterpart below the destination",
    Reason.NAME_NUL: "rename the object: a file name cannot hold NUL",
    Reason.NAME_TOO_LONG: "shorten the name to 255 bytes",
    Reason.NAME_RESERVED: "rename the entry: .fanout-staging-* is where a run stages its files",
    Reason.PATH_TOO_DEEP: "flatten the tree to 1,000 levels",
    Reason.KEY_TOO_LONG: "shorten the path to 1,024 bytes, the destination's prefix included",
    Reason.KEY_NOT_UTF8: "rename the file: an S3 key is UTF-8",
    Reason.NAME_NOT_ESCAPED: "rename the entry, or copy it by a request without unescape",
    Reason.FILE_AND_DIRECTORY: "rename one of the two: a file system holds one entry a name",
    Reason.DESTINATION_KIND: "move the entry at the destination out of the way",
    Reason.LINK_IN_PATH: "replace the symlink at the destination by a directory",
    Reason.LINK_DANGLING: "remove the symlink, or request symlinks: keep",
    Reason.LINK_LOOP: "remove the symlink, or request symlinks: keep",
    Reason.LINK_OUTSIDE: "request symlinks: keep, or a source that holds what it leads to; absolute ones lead outside",
    Reason.LINK_IN_STORE: "request symlinks: keep or skip",
    Reason.FIRST_NAME: "see why the first name, which the message names, was not copied; then retry",
    Reason.SOURCE_CHANGED: "start anew when the source is at rest; a run that resumes keeps to the old listing",
    Reason.SOURCE_VANISHED: "start anew when the source is at rest; a run that resumes keeps to the old listing",
    Reason.SOURCE_ARCHIVED: "restore the object (aws s3api restore-object), then retry",
    Reason.SOURCE_DENIED: "give the function read permission on the entry",
    Reason.DESTINATION_DENIED: "give the function write permission on the directory",
    Reason.NO_SPACE: "free space or raise the quota, then retry",
    Reason.DESTINATION_VANISHED: "retry; check that no lifecycle rule aborts uploads within a day",
    Reason.DESTINATION_CHANGED: (
        "look who else writes to the destination, then start the transfer again, which lists it anew"
    ),
    Reason.NOT_EMPTY: "look who else writes to the destination, then sync again",
    Reason.APPEARED: "sync again: the next run copies it",
    Reason.MISSING: "copy it: start a transfer with mode copy",
    Reason.EXTRA: "delete it at the destination if it should not be there",
    Reason.DIFFERS: "copy it: start a transfer with mode copy and compare always",
    Reason.MODE_DIFFERS: "copy it: start a transfer with mode copy and compare always",
    Reason.OWNER_DIFFERS: "copy it: mode copy and compare always; a mount keeps owners with PosixUserId=0 alone",
    Reason.MTIME_DIFFERS: "copy it: start a transfer with mode copy and compare always",
    Reason.LINKS_DIFFER: "copy it: start a transfer with mode copy and compare always",
    Reason.METADATA_DIFFERS: "copy it: start a transfer with mode copy and compare always",
    Reason.NOT_VERIFIED: "verify again: start a transfer with mode verify",
    Reason.CHECKSUM: "retry; if it stays, the source object is damaged",
    Reason.STAGED_BROKEN: "retry; look what else writes to or deletes below staged/ in the work bucket",
    Reason.TRANSIENT: "retry",
    Reason.OUT_OF_TIME: "give CopyShard more memory, and with it more network, or store the file in parts",
    Reason.UNEXPECTED: "retry; if it stays, report it with the message: the program does not know this error",
    Reason.SHARD_FAILED: "retry; the message names the error of the function",
    Reason.UNLISTABLE: "give the function read and search permission on the directory",
    Reason.EXCLUDED: "drop the exclude that matches it, if it should be taken",
    Reason.NOT_INCLUDED: "add an include that matches it, if it should be taken",
    Reason.SIZE_FILTERED: "widen min_size and max_size, if it should be taken",
    Reason.TIME_FILTERED: "widen modified_after and modified_before, if it should be taken",
    Reason.NOT_AT_SOURCE: "correct the manifest: paths are relative to the source, and a directory's ends in /",
    Reason.OUTSIDE_SOURCE: "correct the manifest, or name a source that holds the key",
    Reason.MANIFEST_ROW: "correct the row that the message names (docs/manifests.md)",
}


_RESULTS = {
    Reason.SYMLINK: Result.SKIPPED,
    Reason.SPECIAL_FILE: Result.SKIPPED,
    Reason.LINK_LOOP: Result.REJECTED,
    Reason.LINK_OUTSIDE: Result.REJECTED,
    Reason.LINK_IN_STORE: Result.REJECTED,
    Reason.EXCLUDED: Result.SKIPPED,
    Reason.NOT_INCLUDED: Result.SKIPPED,
    Reason.SIZE_FILTERED: Result.SKIPPED,
    Reason.TIME_FILTERED: Result.SKIPPED,
    Reason.OUTSIDE_SOURCE: Result.REJECTED,
    Reason.MANIFEST_ROW: Result.REJECTED,
}


def result_of(reason: Reason) -> Result:
    """What an entry ends as that could not be copied for this reason: failed, unless a retry cannot help."""
    return _RESULTS.get(reason, Result.FAILED)


# Not frozen, though nothing changes one: see ``Entry``.
class Outcome(Struct, frozen=True):
    """The outcome of one entry: a row of the ledger.

    ``size`` counts bytes, ``crc64nvme`` is the checksum of what was read, as S3
    writes it (base64 of 8 big-endian bytes).
    """

    path: str
    kind: str
    size: int
    result: Result
    reason: Reason | None = None
    message: str = ""
    crc64nvme: str | None = None
