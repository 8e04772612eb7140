"""Documents of the ledger are types: outside of ``ledger`` nothing reads a field of one by a string."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import fanout

PACKAGE = Path(fanout.__file__).parent
# Values that are no documents of the ledger: what services and callers send, headers, and tables of this product.
NOT_OF_THE_LEDGER = {
    "adapters": "answers of services",
    "planning/event_batches.py": "S3's events",
    "planning/start_batch.py": "the request that a batch starts",
    "flow": "events of the state machine, and its definition",
    "runtime": "what is logged",
    "model/errors.py": "the cause that Lambda names",
    "request/command_line.py": "the request as somebody wrote it",
    "request/checked.py": "a schema's own words",
    "request/parse.py": "a literal type",
    "resuming/rules.py": "the request as somebody wrote it",
    "resuming/earlier_run.py": "the request as somebody wrote it",
    "listing/manifests/inventory.py": "the manifest of an S3 Inventory",
    "listing/index/copied_index.py": "rows of an index, written and read in this file alone",
    "forecast/costs.py": "the table of prices",
    "forecast/datasync.py": "the table of prices",
    "restoring/forecast.py": "the table of prices",
    "checksums/forecast.py": "the table of prices",
    "forecast/between_regions.py": "the table of prices",
    "checksums/rows.py": "the report of a job of S3",
    "efs/capacity.py": "the table of quotas",
    "staging/unpack_shard.py": "the answer to the state machine",
    "deleting/remove_directories.py": "the answer to the state machine",
}


def subscripts(file: Path) -> Iterator[int]:
    """Lines where something is read by a constant string."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if not (isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load)):
            continue
        if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
            yield node.lineno


def is_of_the_ledger(file: Path) -> bool:
    name = file.relative_to(PACKAGE).as_posix()
    return not name.startswith("ledger/") and not any(name.startswith(other) for other in NOT_OF_THE_LEDGER)


def test_no_document_is_read_by_strings() -> None:
    found = [f"{file}:{line}" for file in PACKAGE.rglob("*.py") if is_of_the_ledger(file) for line in subscripts(file)]
    assert found == []


def test_the_exceptions_are_still_needed() -> None:
    files = [file.relative_to(PACKAGE).as_posix() for file in PACKAGE.rglob("*.py") if list(subscripts(file))]
    assert [name for name in NOT_OF_THE_LEDGER if not any(file.startswith(name) for file in files)] == []
