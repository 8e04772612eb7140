"""The bucket, mount or prefix that a refused request may have meant: one that is there and has a close name.

| the run says       | names that are held against it                                        |
|--------------------|-----------------------------------------------------------------------|
| no such bucket     | the buckets of the account, where the user may list them               |
| unknown mount      | the stack's mounts, by the run itself                                  |
| nothing below      | its sibling prefixes, where the user may list them                     |
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from fanout.model.document import Json
from fanout.model.errors import InvalidRequest, did_you_mean, meant
from fanout.request.command_line import command_of
from fanout_cli.runs.runs import asked_of
from fanout_cli.stacks import Stack

ENDS = ("source", "destination")
_MEANT_PLACE = re.compile(r"unknown mount .*; did you mean (.*)\? known are ")


class Correction(NamedTuple):
    """The question, and the command that answers it with yes."""

    question: str
    command: str


def correction_of(stack: Stack, run_id: str, error: Mapping[str, str]) -> Correction | None:
    """The correction of a refused request; ``None`` where nothing close to it is known."""
    asked = asked_of(stack, run_id) if error["name"] == InvalidRequest.__name__ else None
    if not isinstance(asked, dict):
        return None
    for end in ENDS:
        place = asked.get(end)
        if isinstance(place, str) and (right := _right_place(stack, end, place, error["message"])):
            request: Json = {**asked, end: right}
            command = command_of(request) or f"fanout retry {run_id} --again --set {end}={right}"
            return Correction(did_you_mean(right).strip(), command)
    return None


def _right_place(stack: Stack, end: str, place: str, message: str) -> str:
    scheme, _, rest = place.partition("://")
    name, _, path = rest.partition("/")
    close = ""
    if not message.startswith(f"{end}: "):
        return ""
    if scheme == "s3" and f"{name} does not exist" in message:
        close = meant(name, _buckets(stack))
    elif scheme == "efs" and (said := _MEANT_PLACE.search(message)):
        return said[1]
    elif scheme == "s3" and message.startswith(f"{end}: {place.rstrip('/')}/ holds nothing"):
        return _right_prefix(stack, name, path)
    return f"{scheme}://{close}/{path}" if close else ""


def _right_prefix(stack: Stack, bucket: str, path: str) -> str:
    """The place whose last directory has a close name."""
    parent, slash, last = path.rstrip("/").rpartition("/")
    if close := meant(last, _directories(stack, bucket, f"{parent}{slash}")):
        return f"s3://{bucket}/{parent}{slash}{close}/"
    return ""


def _buckets(stack: Stack) -> list[str]:
    """The buckets of the account; none where the user may not list them, for the run has said what is wrong."""
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        return [one["Name"] for one in stack.client("s3").list_buckets()["Buckets"]]
    except (ClientError, BotoCoreError):
        return []


def _directories(stack: Stack, bucket: str, prefix: str) -> list[str]:
    """The first directories below a prefix; none where the user may not list it."""
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        page = stack.client("s3").list_objects_v2(Bucket=bucket, Prefix=prefix, Delimiter="/")
    except (ClientError, BotoCoreError):
        return []
    return [one["Prefix"][len(prefix) :].rstrip("/") for one in page.get("CommonPrefixes", [])]
