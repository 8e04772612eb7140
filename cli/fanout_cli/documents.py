"""JSON documents that a command reads from the work bucket, or from where it brought them to."""

from __future__ import annotations

from typing import Any

from fanout.model.json_text import json_value
from fanout_cli.command_error import CommandError


def document_in(data: bytes, name: str) -> Any:
    """The value of a document. Raises ``CommandError`` for one that another wrote, or that is not whole."""
    try:
        return json_value(data)
    except ValueError as error:
        raise CommandError(f"{name} is not whole ({error}); start the run again under another name") from error
