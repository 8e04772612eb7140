"""The state of a file system in the ledger."""

from __future__ import annotations

from msgspec.structs import asdict

from fanout.efs.model import FileSystemState
from fanout.model.document import Json
from fanout.model.file_system import ThroughputMode


def state_row(state: FileSystemState) -> Json:
    """A measured file system, as file-systems.json holds it by mount."""
    return asdict(state) | {"mode": state.mode.value, "assumptions": list(state.assumptions)}


def state_from_row(row: Json) -> FileSystemState:
    """The file system of a row."""
    given = row | {"mode": ThroughputMode(row["mode"]), "assumptions": tuple(row["assumptions"])}
    return FileSystemState(**given)
