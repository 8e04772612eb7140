"""The command ``deploy``: builds and deploys the stack with sam, then examines what is deployed."""

from __future__ import annotations

import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Annotated

import typer

from fanout_cli.account import stated
from fanout_cli.command_error import CommandError
from fanout_cli.commands.common_options import StackOption, command
from fanout_cli.commands.stack.doctor_command import doctor
from fanout_cli.local.paths import LocalPaths
from fanout_cli.stacks import DEFAULT_STACK

NO_SAM = (
    "sam was not found, and it builds and deploys the stack; run `make setup`, which installs it, or install the AWS "
    "SAM command line (docs.aws.amazon.com/serverless-application-model, Install), then try again"
)


def deploy(
    config_env: Annotated[
        str, typer.Option(help="Section of samconfig.toml that holds the parameters, for example prod")
    ] = "default",
    stack: StackOption = None,
) -> None:
    """Build and deploy the stack with sam, then run doctor. Status: 0, or that of what failed."""
    with command() as console:
        paths = LocalPaths.find()
        sam = find_sam(paths)
        name = stack or stack_name(paths.samconfig, config_env)
        config = ["--config-file", str(paths.samconfig), "--config-env", config_env]
        for words in (["build"], ["deploy", "--stack-name", name, *stated().split()]):
            console.print(f"sam {' '.join(words)}", soft_wrap=True)
            ended = subprocess.run([sam, *words, *config], cwd=paths.repo, check=False)
            if ended.returncode:
                raise CommandError(f"sam {words[0]} failed with status {ended.returncode}; its last lines say why")
    doctor(stack=name)


def find_sam(paths: LocalPaths) -> str:
    """The SAM command line on PATH, else that of the set-up. Raises ``CommandError`` where neither is there."""
    from fanout_cli.local.toolchain import sam_of

    own = sam_of(paths.repo)
    found = shutil.which("sam") or (str(own) if own.is_file() else None)
    if found is None:
        raise CommandError(NO_SAM)
    return found


def stack_name(samconfig: Path, config_env: str) -> str:
    """The stack of a section. Raises ``CommandError`` where there is no such section or file."""
    if not samconfig.is_file():
        raise CommandError(f"{samconfig} is not there; write it with `fanout init`")
    document = tomllib.loads(samconfig.read_text(encoding="utf-8"))
    if config_env not in document:
        known = ", ".join(name for name in document if name != "version")
        raise CommandError(f"samconfig.toml has no section {config_env[:80]!r}; it has {known}")
    section = document[config_env].get("global", {}).get("parameters", {})
    return str(section.get("stack_name", DEFAULT_STACK))


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command()(deploy)
