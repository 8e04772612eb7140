"""One word names one thing: no two types of the package, the command and the functions share a name."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = ("layers/core/src", "cli", "functions")
# A class, or an alias of a module; a ``TypeVar`` names no type.
DEFINED = re.compile(r"^ *class _?(\w+)|^_?([A-Z]\w*[a-z]\w*) = (?!TypeVar\()", re.MULTILINE)
# Names that two types may share, each with the reason.
SHARED: dict[str, str] = {}


def test_no_two_types_share_a_name() -> None:
    """A leading underscore makes no other name: a search for one finds both."""
    homes: defaultdict[str, list[str]] = defaultdict(list)
    for folder in FOLDERS:
        for file in sorted((ROOT / folder).rglob("*.py")):
            for names in DEFINED.findall(file.read_text(encoding="utf-8")):
                homes["".join(names)].append(str(file.relative_to(ROOT)))
    assert len(homes) > 700
    assert {name: files for name, files in homes.items() if len(files) > 1 and name not in SHARED} == {}
    assert [name for name in SHARED if len(homes[name]) < 2] == []
