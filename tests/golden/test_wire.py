"""What is written into the work bucket, held against copies: ``UPDATE_GOLDEN=1`` writes them anew.

A copy is one file for each scenario, with every key and its document: JSON as it stands, rows as lines. Left out is
``report.html``, which tests/browser shows. A change of a copy is a change of the wire: it needs a new schema version.
"""

from __future__ import annotations

import gzip
import json
import os
import re
from pathlib import Path

import pytest

from fanout import __version__
from tests.golden.scenarios import SCENARIOS
from tests.support.flow import World
from tests.support.probes import ProbeWorld

COPIES = Path(__file__).parent / "copies"
# The checksum that ends an object is not repeated: tests/ledger/test_seals.py holds it.
_SEAL = " \t\n"
_DIGEST = re.compile(r'("plan": ")[0-9a-f]{64}(")')
# Rows in the order in which threads ended.
_IN_ANY_ORDER = "/outcomes/"


def text_of(key: str, data: bytes) -> str:
    """A document as lines that a person can compare."""
    if key.endswith(".gz"):
        data = gzip.decompress(data)
    text = data.decode()
    if ".jsonl" in key:
        lines = [f"  {line}" for line in text.splitlines() if line.strip()]
        return "\n".join(sorted(lines) if _IN_ANY_ORDER in key else lines)
    shown = json.dumps(json.loads(text.rstrip(_SEAL)), indent=1, ensure_ascii=False)
    shown = _DIGEST.sub(r"\1DIGEST\2", shown)  # of a plan, which names the version
    return shown.replace(f'"version": "{__version__}"', '"version": "VERSION"')  # a release changes no wire


def wire_of(world: World | ProbeWorld) -> str:
    """Every document of the work bucket, by key."""
    store = world.store
    parts = [f"# {key}\n{text_of(key, store.get(key))}" for key in store.list("") if not key.endswith(".html")]
    return "\n\n".join(parts) + "\n"


@pytest.mark.parametrize("name", SCENARIOS)
def test_what_is_written_is_what_was_written(name: str) -> None:
    found, path = wire_of(SCENARIOS[name]()), COPIES / f"{name}.txt"
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(found, encoding="utf-8")
    assert found.splitlines() == path.read_text(encoding="utf-8").splitlines(), "UPDATE_GOLDEN=1 writes it anew"


def test_every_copy_has_its_scenario() -> None:
    assert {path.stem for path in COPIES.glob("*.txt")} == set(SCENARIOS)
