"""The schedules of a stack, by the client of EventBridge Scheduler."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from fanout_cli.command_error import CommandError, code_of
from fanout_cli.schedules.schedule import Schedule
from fanout_cli.stacks import Stack

READS_IN_FLIGHT = 8
# The names that the service takes; those that `fanout schedule add` gives are fewer.
_POSSIBLE = re.compile(r"[0-9A-Za-z_.-]{1,64}")


@dataclass(frozen=True)
class Schedules:
    """The schedules in the group of a stack. Every method raises ``CommandError`` where a schedule is not there."""

    stack: Stack
    group: str
    role_arn: str

    @classmethod
    def of(cls, stack: Stack) -> Schedules:
        """Those of a stack; its outputs name the group and the role. Raises ``CommandError`` for an older stack."""
        found = [stack.outputs.get(name) for name in ("ScheduleGroupName", "NamedScheduleRoleArn")]
        if not all(found):
            raise CommandError(
                f"the stack {stack.name!r} has no output ScheduleGroupName: it is older than its schedules with names; "
                "deploy it again with this version"
            )
        return cls(stack, str(found[0]), str(found[1]))

    def names(self) -> list[str]:
        """The names in order."""
        pages = self._client.get_paginator("list_schedules").paginate(GroupName=self.group)
        return sorted(one["Name"] for page in pages for one in page["Schedules"])

    def every(self) -> list[Schedule]:
        """All of them, in the order of their names; one that goes away meanwhile is left out."""
        with ThreadPoolExecutor(READS_IN_FLIGHT) as pool:
            return [one for one in pool.map(self.find, self.names()) if one is not None]

    def find(self, name: str) -> Schedule | None:
        """The schedule of this name; ``None`` if there is none."""
        from botocore.exceptions import ClientError

        if not _POSSIBLE.fullmatch(name):
            return None
        try:
            return Schedule(self._client.get_schedule(GroupName=self.group, Name=name))
        except ClientError as error:
            if code_of(error) == "ResourceNotFoundException":
                return None
            raise

    def get(self, name: str) -> Schedule:
        """The schedule of this name."""
        found = self.find(name)
        if found is None:
            raise self._missing(name)
        return found

    def create(self, document: Mapping[str, Any]) -> None:
        """Make a schedule. Raises ``CommandError`` if there is one of its name."""
        from botocore.exceptions import ClientError

        try:
            self._client.create_schedule(**document)
        except ClientError as error:
            if code_of(error) == "ConflictException":
                name = document["Name"]
                raise CommandError(
                    f"there is a schedule {name!r} already; choose another name, or give --replace "
                    f"(`fanout schedule show {name} {self.stack.option}` shows it)"
                ) from error
            raise

    def update(self, document: Mapping[str, Any]) -> None:
        """Set every field of a schedule; what the document lacks goes back to its default."""
        with self._there(document["Name"]):
            self._client.update_schedule(**document)

    def remove(self, name: str) -> None:
        """Delete a schedule; runs that it has started go on."""
        if not _POSSIBLE.fullmatch(name):
            raise self._missing(name)
        with self._there(name):
            self._client.delete_schedule(GroupName=self.group, Name=name)

    @property
    def _client(self) -> Any:
        return self.stack.client("scheduler")

    @contextmanager
    def _there(self, name: str) -> Iterator[None]:
        from botocore.exceptions import ClientError

        try:
            yield
        except ClientError as error:
            if code_of(error) == "ResourceNotFoundException":
                raise self._missing(name) from error
            raise

    def _missing(self, name: str) -> CommandError:
        listing = f"`fanout schedule list {self.stack.option}`"
        return CommandError(f"no schedule {name!r} in the stack {self.stack.name!r}; {listing} shows the schedules")
