"""Words by which other tools call what a field of a request does, for who types them."""

from __future__ import annotations

from collections.abc import Mapping

# Option names of rclone, rsync, s5cmd and aws s3, with _ for -, and the fields that do the same.
FOREIGN_WORDS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("filter", "filters", "filter_from", "include_from", "exclude_from"), ("include", "exclude")),
    **dict.fromkeys(("bwlimit", "bandwidth", "bandwidth_limit", "max_bandwidth"), ("limits.bytes_per_second",)),
    **dict.fromkeys(("transfers", "checkers", "concurrency", "numworkers", "threads"), ("limits.max_concurrency",)),
    "tpslimit": ("limits.files_per_second",),
    "max_duration": ("limits.max_seconds",),
    **dict.fromkeys(("checksum", "size_only", "ignore_times", "exact_timestamps"), ("compare",)),
    **dict.fromkeys(("ignore_existing", "no_clobber", "update", "if_source_newer"), ("overwrite",)),
    **dict.fromkeys(("links", "copy_links", "follow_symlinks", "no_follow_symlinks"), ("symlinks",)),
    "max_age": ("newer_than",),
    "min_age": ("older_than",),
    "files_from": ("manifest",),
    "backup_dir": ("backup_to",),
    "acl": ("object_acl",),
    "sse_kms_key_id": ("kms_key_id",),
    **dict.fromkeys(("force_glacier_transfer", "ignore_glacier_warnings"), ("archived",)),
    "request_payer": ("source_bucket.requester_pays", "destination_bucket.requester_pays"),
    **dict.fromkeys(("delete", "delete_after", "delete_excluded"), ("mode",)),
}


def fields_meant(word: str) -> tuple[str, ...]:
    """The fields that do what a word of another tool says, however its parts are joined; none for other words."""
    return FOREIGN_WORDS.get(word.strip("-").replace("-", "_").lower(), ())
