"""Access to the local stack: its URL, the authority it is certified by, and the keys of its root."""

from __future__ import annotations

import os
import secrets
import shlex
import string
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Self

REGION = "us-east-1"
_LETTERS = string.ascii_uppercase + "234567"
_VARIABLES = {
    "endpoint": "AWS_ENDPOINT_URL",
    "ca_bundle": "AWS_CA_BUNDLE",
    "access_key_id": "AWS_ACCESS_KEY_ID",
    "secret_access_key": "AWS_SECRET_ACCESS_KEY",
}


@dataclass(frozen=True)
class Access:
    """One start of the local stack; its keys are new at every start."""

    endpoint: str
    ca_bundle: str
    access_key_id: str
    secret_access_key: str

    @classmethod
    def new(cls, endpoint: str, ca_bundle: Path) -> Self:
        """With new random keys."""
        key = "AKIA" + "".join(secrets.choice(_LETTERS) for _ in range(16))
        return cls(endpoint, str(ca_bundle), key, secrets.token_urlsafe(30))

    @classmethod
    def read(cls, file: Path) -> Self:
        """Read a file that ``write`` wrote. Raises ``OSError``, or ``ValueError`` where it holds something else."""
        words = shlex.split(file.read_text(encoding="utf-8"))
        found = dict(word.split("=", 1) for word in words if "=" in word)
        try:
            return cls(*(found[_VARIABLES[field.name]] for field in fields(cls)))
        except KeyError as error:
            raise ValueError(f"{file} names no {error.args[0]}") from None

    @property
    def is_running(self) -> bool:
        """Whether there is something to reach."""
        return bool(self.endpoint)

    def environment(self) -> dict[str, str]:
        """For AWS's tools and libraries."""
        given = {variable: str(getattr(self, name)) for name, variable in _VARIABLES.items()}
        return {**given, "AWS_REGION": REGION, "AWS_DEFAULT_REGION": REGION}

    def write(self, file: Path) -> None:
        """A file for a shell to source. No other user may read it, from the first byte on."""
        lines = [f"export {name}={shlex.quote(value)}" for name, value in self.environment().items()]
        lines.append("unset AWS_PROFILE AWS_SESSION_TOKEN")
        file.unlink(missing_ok=True)
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as script:
            script.write("\n".join(lines) + "\n")


NOT_RUNNING = Access("", "", "", "")
