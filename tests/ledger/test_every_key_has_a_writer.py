"""Every kind of key that the ledger knows is one that some role may write."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase

import pytest

from fanout.ledger import keys, probe_keys, run_places
from scripts.ledger_rights import KINDS, OUTSIDE

# Parts of other keys, the name of a note, and what an operator writes.
PARTS = {"VERIFICATION", "PUBLISH", "FAILED", "verified_id", "source_id", "destination_id", "packed_id"}
BY_OPERATORS = {"LIMITS"}
# In the directory of a file system, beside all runs.
OF_FILE_SYSTEMS = {"LATEST"}


def samples() -> Iterator[tuple[str, str]]:
    """Each constant and each function for keys, with a key that it stands for."""
    for module in (keys, probe_keys):
        for name, value in vars(module).items():
            if isinstance(value, keys.Key):
                yield name, re.sub(r"\{(\w+)(:\w+)?\}", lambda part: "7" if part[2] else "x", value._text)
            elif isinstance(value, str) and name.isupper() and not name.startswith("_"):
                yield name, value if "." in value else f"{value}x"
    yield "made_key", keys.made_key("a", "b", "n", 0)
    yield "attributes_key", keys.attributes_key("a")


KEYS = [(name, key) for name, key in samples() if name not in PARTS | BY_OPERATORS]


@pytest.mark.parametrize(("name", "key"), KEYS)
def test_every_key_has_a_writer(name: str, key: str) -> None:
    place = probe_keys.results_prefix("fs-1") if name in OF_FILE_SYSTEMS else run_places.run_prefix("r")
    key = f"{place}{key}" if not key.endswith("/") else f"{place}{key}x"
    assert [writers for pattern, writers in (KINDS | OUTSIDE).items() if fnmatchcase(key, pattern) and writers]
