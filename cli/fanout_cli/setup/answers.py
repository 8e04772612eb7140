"""The answers of ``fanout init``, and the parameters of the template that they give."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from fanout.model.errors import InvalidRequest
from fanout.request.parse import parse_request

_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+")
_SECTION = re.compile(r"[A-Za-z0-9_-]{1,60}")
# The mount's name where nobody chose another one, as in template.yaml.
_MOUNT = "data"
# Requests of a schedule are checked as the stack will check them, with its default of functions.
_FUNCTIONS = 100


@dataclass(frozen=True)
class ExistingFileSystem:
    """A file system that is there, as it was looked up; ids of subnets and groups that functions are to use.

    ``type`` is what the template calls its kind.
    """

    file_system: str
    access_point: str
    subnets: tuple[str, ...]
    groups: tuple[str, ...]
    user: int
    group: int
    type: str = "efs"


@dataclass(frozen=True)
class Answers:
    """The answers that describe a new stack. An empty schedule means none; its request is a document."""

    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    existing: ExistingFileSystem | None = None
    schedule: str = ""
    time_zone: str = "UTC"
    request: dict[str, Any] = field(default_factory=dict)
    email: str = ""
    production: bool = False
    computed_checksums: bool = False


class Parameter(NamedTuple):
    """A parameter of the template, and why it has its value."""

    why: str
    name: str
    value: str


def check(answers: Answers) -> None:
    """Raises ``InvalidRequest`` that names the option, what is wrong with it, and what would be right."""
    if not answers.read and not answers.write:
        raise InvalidRequest("--read", "no bucket is named", "name one to read or, with --write, one to write")
    for option, names in (("--read", answers.read), ("--write", answers.write)):
        for name in names:
            if not _BUCKET.fullmatch(name):
                raise InvalidRequest(option, f"{name[:80]!r} is not a bucket name", "3 to 63 of a-z, 0-9, . and -")
    if answers.email and not _EMAIL.fullmatch(answers.email):
        raise InvalidRequest("--email", f"{answers.email[:80]!r} is not an address", "name@example.com")
    if answers.schedule:
        _check_schedule(answers)
    elif answers.request:
        raise InvalidRequest("--schedule", "a request is given and no time", "say when, e.g. 'cron(0 3 * * ? *)'")


def _check_schedule(answers: Answers) -> None:
    from fanout_cli.schedules.times import known_times  # croniter, which the help need not load

    known_times(answers.schedule, answers.time_zone, "--schedule", "--timezone")
    if not answers.request:
        raise InvalidRequest("--from", "a schedule needs a source and a destination", "give --from and --to")
    request = parse_request(answers.request, (_MOUNT,), _FUNCTIONS)
    for option, end, allowed in (
        ("--from", request.source, answers.read),
        ("--to", request.destination, answers.write),
    ):
        if end.is_keyed and end.bucket not in allowed:
            named = "--read" if option == "--from" else "--write"
            raise InvalidRequest(option, f"the stack may not use the bucket {end.bucket}", f"name it with {named} too")


def check_section(name: str) -> None:
    """Raises ``InvalidRequest`` for a name that no section of samconfig.toml can have."""
    if not _SECTION.fullmatch(name):
        raise InvalidRequest("--config-env", f"{name[:80]!r} is not allowed", "1 to 60 of A-Z, a-z, 0-9, - and _")


def parameters(answers: Answers, partition: str = "aws") -> Iterator[Parameter]:
    """The parameters that differ from the template's defaults, in the order of the template."""
    for why, name, buckets in (
        ("The buckets that transfers read.", "ReadBucketArns", answers.read),
        ("The buckets that transfers write.", "WriteBucketArns", answers.write),
    ):
        if buckets:
            yield Parameter(why, name, ",".join(f"arn:{partition}:s3:::{bucket}" for bucket in buckets))
    if answers.email:
        yield Parameter("Told how runs end, once the address is confirmed.", "NotifyEmail", answers.email)
    if answers.computed_checksums:
        yield Parameter("Runs may have S3 compute checksums, by jobs that cost money.", "ComputedChecksums", "true")
    if answers.existing is not None:
        yield from _of_file_system(answers.existing)
    if answers.schedule:
        yield Parameter("When the request below is started.", "ScheduleExpression", answers.schedule)
        yield Parameter("", "ScheduleRequest", json.dumps(answers.request, separators=(",", ":")))
        yield Parameter("", "ScheduleTimeZone", answers.time_zone)
    if answers.production:
        yield Parameter(
            "Production: ledgers and logs stay long; data stays when the stack goes.", "WorkRetentionDays", "90"
        )
        yield Parameter("", "LogRetentionDays", "365")
    else:
        if answers.existing is None:
            yield Parameter("A trial: the new file system goes with the stack.", "FileSystemAtDeletion", "Delete")
        yield Parameter("A trial: ledgers and logs go after a week.", "WorkRetentionDays", "7")
        yield Parameter("", "LogRetentionDays", "7")
        yield Parameter("", "WorkBucketAtDeletion", "Delete")


def _of_file_system(found: ExistingFileSystem) -> Iterator[Parameter]:
    yield Parameter(
        "The file system that is there, its access point and network.", "ExistingAccessPointArn", found.access_point
    )
    yield Parameter("", "ExistingFileSystemId", found.file_system)
    if found.type != "efs":
        yield Parameter("It is of S3 Files: docs/start/deploy-existing.md.", "ExistingFileSystemType", found.type)
    yield Parameter("", "ExistingSubnetIds", ",".join(found.subnets))
    yield Parameter(
        "Groups that the mount targets let in at port 2049.", "ExistingSecurityGroupIds", ",".join(found.groups)
    )
    yield Parameter("The user of the access point.", "PosixUserId", str(found.user))
    yield Parameter("", "PosixGroupId", str(found.group))
