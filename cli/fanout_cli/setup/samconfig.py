"""Writes a commented section of samconfig.toml."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Sequence
from pathlib import Path

from fanout.model.errors import InvalidRequest
from fanout_cli.setup.answers import Parameter


def section(name: str, stack: str, region: str, parameters: Sequence[Parameter]) -> str:
    """The section as text, which begins with an empty line."""
    lines = ["", f"# ---- {stack}: written by `fanout init`; deploy with `fanout deploy --config-env {name}` ----", ""]
    lines += [f"[{name}.global.parameters]", f"stack_name = {_text(stack)}", ""]
    lines += [f"[{name}.deploy.parameters]", 'capabilities = "CAPABILITY_IAM"', "resolve_s3 = true"]
    lines += [f"s3_prefix = {_text(stack)}", *([f"region = {_text(region)}"] if region else [])]
    lines += ["confirm_changeset = true", "fail_on_empty_changeset = false", "parameter_overrides = ["]
    for why, parameter, value in parameters:
        lines += [f"  # {why}"] if why else []
        lines.append(f"  {_text(f'{parameter}={_quoted(value)}')},")
    return "\n".join([*lines, "]", ""])


def add_section(file: Path, name: str, text: str) -> None:
    """Append the section to the file, which is made where there is none.

    Raises ``InvalidRequest`` where the file has a section of that name, or cannot be read as TOML.
    """
    before = file.read_text(encoding="utf-8") if file.exists() else "version = 0.1\n"
    try:
        known = tomllib.loads(before)
    except tomllib.TOMLDecodeError as error:
        raise InvalidRequest(str(file), f"cannot be read ({error})", "mend it, or name another file") from error
    if name in known:
        problem = f"{file} has a section {name!r} already"
        raise InvalidRequest("--config-env", problem, "choose another name, or remove that section first")
    after = before.rstrip("\n") + "\n" + text
    tomllib.loads(after)
    whole = file.with_name(f".{file.name}.{os.getpid()}")
    whole.write_text(after, encoding="utf-8")
    whole.replace(file)


def _text(value: str) -> str:
    """A string of TOML: JSON's escapes are TOML's."""
    return json.dumps(value)


def _quoted(value: str) -> str:
    """A value as sam splits it: one with a space is in single quotes, which none of ours holds."""
    return f"'{value}'" if " " in value or '"' in value else value
