"""A request as a command line: the option of each field, its part of the help, and the line itself."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from fanout.model.document import Json
from fanout.request.course import Mode
from fanout.request.mode_fields import why_not

COMMON, FILTERS, DELETING = "Common", "Filters", "Deleting"
SPEED, OBJECTS, ATTRIBUTES = "Speed and cost", "Objects in S3", "Attributes"
PUBLISHING, PROOF = "Publishing", "Proof and records"
PANELS = (COMMON, FILTERS, DELETING, SPEED, OBJECTS, ATTRIBUTES, PUBLISHING, PROOF)
# The modes that have a command of their own.
VERBS = (Mode.COPY, Mode.SYNC, Mode.MOVE, Mode.PLAN, Mode.VERIFY)
# Of the command itself: its arguments, its name, and what `fanout retry` is for.
NOT_OPTIONS = frozenset({"source", "destination", "mode", "resume_from"})


class Named(Struct, frozen=True):
    """The option of a field, without its dashes, and its part of the help."""

    option: str
    panel: str


def _named(panel: str, *fields: str, **others: str) -> dict[str, Named]:
    """Fields whose option has their own name, and others by another: ``limits__max_seconds`` has a dot."""
    own = {field: Named(field.rpartition(".")[2].replace("_", "-"), panel) for field in fields}
    return own | {field.replace("__", "."): Named(option, panel) for field, option in others.items()}


# A row a field, in the order of the help.
OPTIONS: Mapping[str, Named] = {
    **_named(COMMON, "include", "exclude", "compare", "overwrite", "verify", limits__bytes_per_second="rate"),
    **_named(FILTERS, "min_size", "max_size", "modified_after", "modified_before", "older_than", "newer_than"),
    **_named(FILTERS, "manifest", "symlinks", "on_conflict"),
    **_named(
        DELETING,
        "allow_empty_source",
        "backup_to",
        delete_guard__max_count="max-delete",
        delete_guard__max_percent="max-delete-percent",
    ),
    **_named(SPEED, "limits.max_concurrency", "limits.files_per_second", "limits.max_seconds", "limits.max_dollars"),
    **_named(SPEED, "limits.finish_by"),
    **_named(SPEED, "limits.window", "limits.credit_reserve_percent", "limits.shard_seconds", "limits.split_bytes"),
    **_named(SPEED, "calibration", prices="price"),
    **_named(
        OBJECTS,
        *("storage_class", "kms_key_id", "content_type", "object_acl", "archived"),
        object_tags="tag",
        object_metadata="metadata",
        restore__tier="restore-tier",
        restore__days="restore-days",
        source_bucket__requester_pays="source-requester-pays",
        source_bucket__expected_owner="source-owner",
        destination_bucket__requester_pays="destination-requester-pays",
        destination_bucket__expected_owner="destination-owner",
        source_bucket__role="source-role",
        source_bucket__external_id="source-external-id",
        destination_bucket__role="destination-role",
        destination_bucket__external_id="destination-external-id",
    ),
    **_named(ATTRIBUTES, "attributes.uid", "attributes.gid", "attributes.file_mode", "attributes.directory_mode"),
    **_named(
        ATTRIBUTES,
        "attributes.mtime",
        attributes__from="attributes-from",
        attributes__set_ids="keep-set-ids",
        attributes__override="override-attributes",
    ),
    **_named(PUBLISHING, "publish.keep_hours", publish__link="publish", publish__keep="keep-versions"),
    **_named(PROOF, "certificate", "checksums", "report_entries"),
}


def command_of(request: Any, mode: Mode | None = None) -> str:
    """The command line of a request, with another ``mode`` if one is given; empty where no command can say it.

    Nothing of it is believed: a request that was refused may hold anything.
    """
    if not isinstance(request, dict) or not all(isinstance(request.get(end), str) for end in ("source", "destination")):
        return ""
    verb = mode or request.get("mode", Mode.COPY)
    fields = dict(_flat({name: value for name, value in request.items() if value is not None}))
    for field in NOT_OPTIONS:
        fields.pop(field, None)
    if not isinstance(verb, str) or verb not in VERBS or not fields.keys() <= OPTIONS.keys():
        return ""
    verb = Mode(verb)
    taken = [field for field in OPTIONS if field in fields and not why_not(verb, field)]
    words = [word for field in taken for word in _words(OPTIONS[field].option, fields[field])]
    return shlex.join(["fanout", verb.value, request["source"], request["destination"], *words])


def _flat(document: Json, prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in document.items():
        path = f"{prefix}{name}"
        if isinstance(value, dict) and path not in OPTIONS:
            yield from _flat(value, f"{path}.")
        else:
            yield path, value


def _words(option: str, value: Any) -> Iterator[str]:
    if isinstance(value, bool):
        yield from [f"--{option}"] if value else []
        return
    values = [f"{name}={one}" for name, one in value.items()] if isinstance(value, dict) else value
    for one in values if isinstance(values, list) else [values]:
        yield from (f"--{option}={one}",) if str(one).startswith("-") else (f"--{option}", str(one))
