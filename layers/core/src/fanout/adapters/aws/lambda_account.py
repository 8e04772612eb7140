"""Reads the account's concurrency from Lambda, by a single request."""

from __future__ import annotations

from fanout.adapters.aws.control_plane import client, our_errors
from fanout.model.errors import Unreachable

# Chosen: a plan does not wait long for a figure that it can do without.
_ATTEMPTS = 1


class LambdaAccount:
    """See ``ports.pacing.Account``; needs lambda:GetAccountSettings."""

    def __init__(self, region: str, url: str = "") -> None:
        self._lambda = client("lambda", region, url, _ATTEMPTS)

    def unreserved_concurrency(self) -> int:
        with our_errors("lambda:GetAccountSettings", "the account", lost=Unreachable):
            found = self._lambda.get_account_settings()["AccountLimit"]["UnreservedConcurrentExecutions"]
            return int(found)
