"""The rights of functions in the work bucket: a lack of one is an error that no rule names, and so a finding."""

from __future__ import annotations

from typing import Any

from fanout.flow.steps import STEPS
from fanout.model.errors import AccessDenied
from tests.support.actions import Need
from tests.support.deployed import RIGHTS
from tests.support.rights import Asking


class NoRight(Exception):
    """The role of a function does not allow what its state does."""


class AskingAloud(Asking):
    """A role whose lack of a right is never taken for a bucket's refusal."""

    def ask(self, action: str, bucket: str, key: str = "", prefix: str | None = None) -> None:
        try:
            super().ask(action, bucket, key, prefix)
        except AccessDenied as error:
            raise NoRight(str(error)) from error


def as_role(store: Any, state: str) -> Any:
    """The work bucket as the function of a state sees it; the store itself where no state is named."""
    denied: list[tuple[str, Need]] = []
    return AskingAloud(RIGHTS, STEPS[state].function, denied).store(store) if state else store
