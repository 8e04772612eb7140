"""The words that scripts are made of: names, sizes, modes, requests, and what goes wrong."""

from __future__ import annotations

from tests.adversary.script import INSIDE_S3, MOUNT_TO_S3, S3_TO_MOUNT

# Around the sizes at which the product takes another way; see ``lab.LIMITS``.
SIZES = (0, 1, 100, 4096, 8191, 8192, 8193, 12_288, 16_384, 16_385, 33_000, 49_152, 60_000)
MODES = (0o644, 0o644, 0o600, 0o640, 0o755, 0o444, 0o4755, 0o2755, 0o000)
DIRECTORY_MODES = (0o755, 0o755, 0o700, 0o750, 0o1777, 0o2770, 0o711)
NAMES = ("a", "b.txt", "c d", "é", "new\nline", "x" * 200, "..f", "a+b%20", "z&<>", "~", "-n")
MOUNT_NAMES = ("\udcff\udc80",)
KEYS = ("a//b", "d1/../x", "./y", "d1", "x/", "y" * 260, "ctrl\x01")
# Over the depth at which a function that calls itself for each directory dies, and under what is promised.
DEEP = 520
OWNERS = (0, 0, 0, 1000, 4_294_967_295, None)
FILE_CHANGES = (
    "rewrite",
    "rewrite",
    "rewrite-now",
    "append",
    "truncate",
    "replace",
    "delete",
    "chmod",
    "to-symlink",
    "to-fifo",
    "to-directory",
    "rename",
    "create",
)
DIRECTORY_CHANGES = ("turn", "turn", "turn-back", "to-symlink", "rename", "delete", "chmod", "to-file")
OS_KINDS = (
    "os:open",
    "os:create",
    "os:pread",
    "os:pwrite",
    "os:rename",
    "os:link",
    "os:unlink",
    "os:mkdir",
    "os:rmdir",
    "os:scandir",
    "os:stat",
    "os:fstat",
    "os:fchmod",
    "os:utime",
    "os:close",
    "os:symlink",
)
REFUSALS = ("ENOSPC", "EDQUOT", "EIO", "EIO", "EACCES", "ESTALE", "EMFILE")
S3_LIES: dict[str, tuple[str, ...]] = {
    "s3:ListObjectsV2": (
        "S3: HTML inside 200",
        "S3: error inside 200",
        "S3: no IsTruncated",
        "S3: repeated page",
        "S3: skipped page",
        "S3: another's answer",
        "S3: cut answer",
    ),
    "s3:GetObject": (
        "S3: another's answer",
        "S3: wrong range",
        "S3: whole object for a range",
        "S3: stale read",
        "S3: stray answer",
        "S3: doubled answer",
        "S3: HTML inside 200",
        "S3: no ETag",
    ),
    "s3:HeadObject": ("S3: another's answer", "S3: stale read", "S3: HTML inside 200", "S3: 403"),
    "s3:PutObject": (
        "S3: another's answer",
        "S3: another's answer, applied",
        "S3: HTML inside 200",
        "S3: error inside 200",
        "S3: nothing inside 200",
        "S3: no ETag",
    ),
    "s3:UploadPart": ("S3: another's answer", "S3: HTML inside 200", "S3: nothing inside 200"),
    "s3:CompleteMultipartUpload": (
        "S3: HTML inside 200",
        "S3: error inside 200",
        "S3: error inside 200, applied",
        "S3: another's answer",
        "S3: another's answer, applied",
        "S3: nothing inside 200",
        "S3: reset after",
    ),
    "s3:CopyObject": ("S3: HTML inside 200", "S3: error inside 200", "S3: nothing inside 200"),
    "s3:UploadPartCopy": ("S3: HTML inside 200", "S3: error inside 200"),
    "s3:DeleteObjects": (
        "S3: another's answer",
        "S3: another's answer, applied",
        "S3: reset after",
        "S3: HTML inside 200",
        "S3: error inside 200",
        "S3: nothing inside 200",
    ),
}
ANY_LIES = (
    "S3: 500",
    "S3: 500, applied",
    "S3: 503",
    "S3: cut answer",
    "S3: reset before",
    "S3: reset after",
    "S3: closed before",
    "S3: closed after",
    "S3: doubled answer",
    "S3: stray answer",
)
_WRITES = ("s3:CompleteMultipartUpload", "s3:ListObjectsV2", "s3:HeadObject", "s3:DeleteObjects")
# What a run of each direction asks S3 for.
ASKED: dict[str, tuple[str, ...]] = {
    S3_TO_MOUNT: (
        "s3:ListObjectsV2",
        "s3:ListObjectsV2",
        "s3:GetObject",
        "s3:GetObject",
        "s3:GetObject",
        "s3:HeadObject",
    ),
    MOUNT_TO_S3: (*_WRITES, "s3:PutObject", "s3:PutObject", "s3:UploadPart"),
    INSIDE_S3: (*_WRITES, "s3:CopyObject", "s3:CopyObject", "s3:UploadPartCopy"),
}
STATES = (
    "list",
    "partition",
    "copy",
    "copy",
    "pack",
    "unpack",
    "finish",
    "delete",
    "delete",
    "remove directories",
    "verify",
)
LEDGER_OBJECTS = ("segments/", "outcomes/", "shards", "links.json", "big-files", "directories/", "index")
# A fault of each kind, in turn: what a direction's first run meets beside what is drawn.
IN_TURN: dict[str, tuple[tuple[str, str], ...]] = {
    direction: tuple(
        (kind, lie)
        for number, kind in enumerate(dict.fromkeys(kinds))
        for lie in (*S3_LIES[kind], *ANY_LIES[(number + 3) % 4 :: 4])
    )
    for direction, kinds in ASKED.items()
}
OS_IN_TURN = tuple((kind, refusal) for refusal in dict.fromkeys(REFUSALS) for kind in OS_KINDS)
# Requests about which only large files and what is to be deleted ask.
OF_PARTS = frozenset({"s3:UploadPart", "s3:CompleteMultipartUpload", "s3:UploadPartCopy", "s3:GetObject"})
# The operations that change something.
WRITING_S3 = ("PutObject", "DeleteObjects", "DeleteObject", "CreateMultipartUpload", "UploadPart", "CopyObject")
WRITING_OS = ("create", "pwrite", "rename", "link", "unlink", "mkdir", "rmdir", "fchmod", "fchown", "utime", "symlink")
WRITING = (*(f"s3:{name}" for name in WRITING_S3), *(f"os:{name}" for name in WRITING_OS))
# Trees that are larger than this are looked at when a run has ended, and not all the time.
WATCHED_ENTRIES = 80
# A run with one of these leaves no index, nor one that resumes another or escapes names (docs/understand).
NO_INDEX = frozenset({"manifest", "compare"})
