"""Credentials, and the provider that is asked for them at every request."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field

from fanout.domain.errors import AccessDenied


@dataclass(frozen=True, slots=True)
class Credentials:
    """What a request is signed with; the secrets stay out of its ``repr``."""

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
