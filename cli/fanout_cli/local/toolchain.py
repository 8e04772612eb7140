"""The programs that the local run needs in addition to the project."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from fanout_cli.local.checkout import set_up
from fanout_cli.local.errors import LocalRunError
from fanout_cli.local.tls.certificates import Certificates

SETUP = "run `make setup`"
FILES = ("authority", "certificate", "key")


@dataclass(frozen=True)
class Toolchain:
    """Each tool has a separate environment, because their dependencies exclude each other."""

    emulator_python: Path
    """Interpreter of the environment that holds ministack."""
    sam: Path
    """The SAM command line."""
    worker_python: Path
    """Interpreter that runs the handlers; its environment holds awslambdaric."""
    certificates: Certificates
    """The certificate that the emulator speaks TLS with."""
    uv: Path | None = None
    """Builds the layer; without it pip does."""


def find_toolchain(repo: Path) -> Toolchain:
    """The programs where the set-up puts them; it runs first where the checkout is that of an installed wheel."""
    set_up(repo)
    tools = repo / ".fanout" / "tools"
    return Toolchain(
        emulator_python=_program(tools / "emulator" / "bin" / "python"),
        sam=_program(sam_of(repo)),
        worker_python=_program(repo / ".venv" / "bin" / "python"),
        certificates=Certificates(*(_program(tools / "tls" / f"{name}.pem") for name in FILES)),
        uv=_optional(tools / "uv" / "bin" / "uv", "uv"),
    )


def sam_of(repo: Path) -> Path:
    """Where the set-up of a checkout puts the SAM command line."""
    return repo / ".fanout" / "tools" / "sam" / "bin" / "sam"


def _program(path: Path) -> Path:
    if not path.is_file():
        raise LocalRunError(f"{path} is missing: {SETUP}")
    return path


def _optional(path: Path, command: str) -> Path | None:
    found = str(path) if path.is_file() else shutil.which(command)
    return Path(found) if found else None
