"""The files that name archived objects, counted as docs/develop/packages.md counts them."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from tests.docs.pages import ROOT

PACKAGE, COMMAND = ROOT / "layers/core/src/fanout", ROOT / "cli/fanout_cli"
NAMES_THEM = re.compile(r"restor|archiv|glacier", re.IGNORECASE)
# Lines that mean something else: a class of Amazon EFS, a class that copies are written in, a ZIP file, a name.
MEANS_ANOTHER = re.compile(
    r"archive_bytes|ValueInArchive|^    \"(GLACIER|GLACIER_IR|DEEP_ARCHIVE)\",$|ZipFile|archive\.writestr"
    r"|s3://archive/|/mnt/archive|so that they can be restored|restore its target"
)
TABLE_ROW = re.compile(r"^\| (.*`.*|.*command.*?) +\| +\d+ \| +(\d+) \| .* \|$")


def room_of(path: Path) -> str:
    """The room of a file, as the table calls it."""
    return "the command" if path.is_relative_to(COMMAND) else path.relative_to(PACKAGE).parts[0]


def names_them(path: Path) -> bool:
    return any(NAMES_THEM.search(line) and not MEANS_ANOTHER.search(line) for line in path.read_text().splitlines())


def files() -> list[Path]:
    """Everything that is written by hand: code and templates."""
    return [path for top in (PACKAGE, COMMAND) for ending in ("*.py", "*.j2") for path in top.rglob(ending)]


def test_the_table_counts_the_files_that_name_archived_objects() -> None:
    counted = Counter(room_of(path) for path in files() if names_them(path))
    counted["transfer.yaml"] = 1
    page = (ROOT / "docs/develop/packages.md").read_text()
    rows = [found for line in page.splitlines() if (found := TABLE_ROW.match(line))]
    told = {tuple(re.findall(r"`([\w.]+)`|(the command)", row[1])): int(row[2]) for row in rows}
    rooms = {row: ["".join(names) for names in row] for row in told}
    assert {row: sum(counted[room] for room in rooms[row]) for row in told} == told
    assert set(counted) <= {room for row in rooms.values() for room in row}
