"""Credentials, and the provider that is asked for them at every request."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from fanout.model.errors import AccessDenied


@dataclass(frozen=True, slots=True)
class Credentials:
    """The keys that sign a request; ``repr`` hides the secrets."""

    access_key_id: str
    secret_access_key: str = field(repr=False)
    session_token: str = field(default="", repr=False)


CredentialsProvider = Callable[[], Credentials]


def credentials_from_environment() -> Credentials:
    """The credentials that the environment holds now, as Lambda sets them. Raises ``AccessDenied`` without them."""
    try:
        access_key_id = os.environ["AWS_ACCESS_KEY_ID"]
        secret_access_key = os.environ["AWS_SECRET_ACCESS_KEY"]
    except KeyError as exc:
        raise AccessDenied("signing", "S3", f"set {exc.args[0]} or give the function a role") from exc
    return Credentials(access_key_id, secret_access_key, os.environ.get("AWS_SESSION_TOKEN", ""))


@dataclass(frozen=True, slots=True)
class Given:
    """A provider of credentials that stay."""

    credentials: Credentials

    def __call__(self) -> Credentials:
        """Always the same."""
        return self.credentials


class LooksEverySecond:
    """A provider that asks another one once a second, because asking for each of thousands of objects takes time."""

    def __init__(self, provider: CredentialsProvider, now: Callable[[], float] = time.monotonic) -> None:
        self._provider, self._now = provider, now
        self._found: tuple[float, Credentials] | None = None

    def __call__(self) -> Credentials:
        """The credentials of a second ago at most."""
        found, now = self._found, self._now()
        if found is None or now - found[0] >= 1:
            found = self._found = now, self._provider()
        return found[1]
