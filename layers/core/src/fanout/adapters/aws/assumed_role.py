"""Credentials of a role that is assumed, renewed before they end."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from fanout.adapters.aws.control_plane import client, our_errors
from fanout.adapters.aws.credentials import Credentials
from fanout.model.errors import AccessDenied

# Chosen: a request that was signed just before is long answered by then.
RENEW_SECONDS = 300.0
_SESSION = "fanout"
_ATTEMPTS = 4
_REMEDY = (
    "name it in the stack's AssumableRoleArns, and let its trust policy name the stack's account, and the external id"
    " that the request gives"
)


class AssumedRole:
    """A provider of a role's credentials. Safe to share between threads.

    A role assumes another one for an hour at most (IAM/latest/UserGuide/id_roles.html, role chaining), less than a run
    may take.
    """

    def __init__(
        self, region: str, role: str, external_id: str, url: str = "", now: Callable[[], float] = time.time
    ) -> None:
        self._region, self._role, self._external_id, self._url = region, role, external_id, url
        self._now = now
        self._lock = threading.Lock()
        self._found: tuple[float, Credentials] | None = None

    def __call__(self) -> Credentials:
        """The credentials, which hold for some minutes more. Raises ``AccessDenied`` where the role is not given."""
        with self._lock:
            if self._found is None or self._now() > self._found[0] - RENEW_SECONDS:
                self._found = self._assume()
            return self._found[1]

    def _assume(self) -> tuple[float, Credentials]:
        external: dict[str, Any] = {"ExternalId": self._external_id} if self._external_id else {}
        try:
            with our_errors("sts:AssumeRole", self._role):
                service = client("sts", self._region, self._url, _ATTEMPTS)
                found = service.assume_role(RoleArn=self._role, RoleSessionName=_SESSION, **external)["Credentials"]
                keys = Credentials(found["AccessKeyId"], found["SecretAccessKey"], found["SessionToken"])
                return found["Expiration"].timestamp(), keys
        except AccessDenied as denied:
            raise AccessDenied("sts:AssumeRole", self._role, _REMEDY) from denied
