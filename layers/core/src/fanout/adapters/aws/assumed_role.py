"""Credentials of a role that is assumed, renewed before they end.

| the service of credentials | credentials that still hold | none do                                          |
|----------------------------|-----------------------------|--------------------------------------------------|
| gives new ones             | are replaced                | are taken                                        |
| refuses, or does not answer | stay in use                | the error, to whoever asks within some seconds   |

A task asks for each request that it signs, in many threads. So a refusal holds for all of them: it is neither asked
for again by each, nor waited for in a row.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from fanout.adapters.aws.control_plane import client, our_errors
from fanout.adapters.aws.credentials import Credentials
from fanout.adapters.aws.session_policy import session_policy
from fanout.model.errors import AccessDenied, FanoutError

# Chosen: a request that was signed just before is long answered by then.
RENEW_SECONDS = 300.0
# Chosen: no request is signed with credentials that end sooner.
LEAST_SECONDS = 30.0
# Chosen: what was refused is asked for again after so many seconds.
AGAIN_SECONDS = 10.0
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
        self,
        region: str,
        role: str,
        external_id: str,
        url: str = "",
        policy: str = "",
        name: str = _SESSION,
        now: Callable[[], float] = time.time,
    ) -> None:
        """The sessions have this name and at most the rights of this policy; without a policy they have none."""
        self._region, self._role, self._external_id, self._url = region, role, external_id, url
        self._policy, self._name = policy or session_policy(()), name
        self._now = now
        self._lock = threading.Lock()
        self._found: tuple[float, Credentials] | None = None
        self._refused: tuple[float, FanoutError] | None = None

    def __getstate__(self) -> dict[str, Any]:
        """For another process of the function, which uses the credentials while they hold."""
        return {name: value for name, value in vars(self).items() if name not in ("_lock", "_refused")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _lock=threading.Lock(), _refused=None)

    def __call__(self) -> Credentials:
        """Credentials that hold for some time more.

        Raises ``AccessDenied`` where the role is not given, and ``Throttled`` or ``Transient``.
        """
        with self._lock:
            now = self._now()
            if self._left(now) <= RENEW_SECONDS and not self._was_refused(now):
                try:
                    self._found, self._refused = self._assume(), None
                except FanoutError as error:
                    self._refused = self._now(), error
            if self._refused is not None and self._left(self._now()) <= LEAST_SECONDS:
                raise self._refused[1].with_traceback(None)
            assert self._found is not None
            return self._found[1]

    def _left(self, now: float) -> float:
        """The seconds for which the credentials hold, if there are any."""
        return self._found[0] - now if self._found is not None else 0.0

    def _was_refused(self, now: float) -> bool:
        return self._refused is not None and now < self._refused[0] + AGAIN_SECONDS

    def _assume(self) -> tuple[float, Credentials]:
        external: dict[str, Any] = {"ExternalId": self._external_id} if self._external_id else {}
        try:
            with our_errors("sts:AssumeRole", self._role):
                service = client("sts", self._region, self._url, _ATTEMPTS)
                found = service.assume_role(
                    RoleArn=self._role, RoleSessionName=self._name, Policy=self._policy, **external
                )["Credentials"]
                keys = Credentials(found["AccessKeyId"], found["SecretAccessKey"], found["SessionToken"])
                return found["Expiration"].timestamp(), keys
        except AccessDenied as denied:
            raise AccessDenied("sts:AssumeRole", self._role, _REMEDY) from denied
