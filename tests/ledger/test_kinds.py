"""Each kind of object of the ledger is declared once, and what it says of itself holds."""

from __future__ import annotations

import pickle
import re
import subprocess
import sys
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest

import fanout
from fanout.flow.steps import STEPS
from fanout.ledger import keys
from fanout.ledger.documents import Notes
from fanout.ledger.kind import ObjectKind, RowsKind, Untyped
from fanout.ledger.ledger import Ledger
from fanout.model.shard import Shard
from scripts.ledger_rights import KINDS, OUTSIDE, WRITERS
from tests.support.kinds import declared
from tests.support.memory_store import MemoryStore

KIND_IDS = [f"{kind.place}{kind}" for kind in declared()]


def sample(kind: ObjectKind[Any]) -> str:
    """The key of one object, with its whole prefix."""
    name = re.sub(r"\{(\w+)(:\w+)?\}", lambda part: "7" if part[2] else "x", kind)
    return f"{kind.place or 'runs/r/'}{name}"


def test_no_two_kinds_have_one_key() -> None:
    assert len(set(KIND_IDS)) == len(KIND_IDS) > 80


@pytest.mark.parametrize("kind", declared(), ids=KIND_IDS)
def test_every_kind_has_writers_that_are_functions_and_whose_roles_may_write_it(kind: ObjectKind[Any]) -> None:
    functions = {step.function for step in STEPS.values()}
    assert kind.by
    assert {*kind.by} <= functions & {*WRITERS}
    for one in kind.by:
        assert any(fnmatchcase(sample(kind), pattern) and one in who for pattern, who in (KINDS | OUTSIDE).items())


def test_a_kind_without_a_type_gets_it_from_a_higher_room() -> None:
    assert {str(kind) for kind in declared() if kind.holds is Untyped} == {
        *("summary.json", "forecast.json", "shards.json", "probe-plan.json", "probe.json")
    }


def test_the_key_of_an_object_is_of_its_kind_also_in_another_process() -> None:
    one = keys.round_key(7)
    assert one == "segments/round-0007.json"
    again = pickle.loads(pickle.dumps(one.at(f"runs/r/{one}")))
    assert (again, again.wave, again.holds, again.by) == (f"runs/r/{one}", one.wave, one.holds, one.by)
    assert len(ObjectKind.declared) == len(declared())


def test_the_key_of_rows_is_plain_text_which_documents_hold() -> None:
    assert isinstance(keys.shard_key, RowsKind)
    assert type(keys.shard_key("s")) is str
    assert keys.shard_key("s") == "shards/s.jsonl.gz"


def test_a_document_and_a_row_hold_the_text_of_a_key() -> None:
    ledger, key = Ledger(MemoryStore(), "r"), keys.big_file_key("b")
    ledger.write(keys.SHARDS.of(list[Shard]), [Shard("s", key, 1, 1, 1.0)])
    ledger.write(keys.note_key("list"), Notes([key]))
    ledger.write_rows("rows.jsonl", [[key]])
    assert ledger.read_json("shards.json")[0]["key"] == ledger.read_json("notes/list.json")["notes"][0] == key
    assert list(ledger.read_rows("rows.jsonl")) == [[key]]
    with pytest.raises(TypeError, match="a object cannot be written"):
        ledger.write(keys.note_key("list"), Notes([object()]))  # type: ignore[list-item]


def test_a_key_lacks_no_part_and_has_none_too_many() -> None:
    with pytest.raises(ValueError, match="zip"):
        keys.round_key()
    with pytest.raises(ValueError, match="zip"):
        keys.round_key(1, 2)


def test_plan_transfer_knows_all_that_it_may_find() -> None:
    """``check_new`` asks the kinds that its function has imported."""
    code = (
        "import fanout.planning.plan_transfer; from fanout.ledger.kind import ObjectKind;"
        "print(sorted(key for kind in ObjectKind.declared for key in kind.may_be_early))"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == str(sorted(key for kind in declared() for key in kind.may_be_early))
    early = [kind for kind in declared() if kind.early is not None]
    assert all("PlanTransfer" in kind.by for kind in early)


# What is asked of a document before its version is known, or of the list that a Map reads.
RAW = {"flow/own_run.py", "flow/short_way.py", "resuming/earlier_run.py", "summary/summarise_transfer.py"}


def test_all_else_reads_a_document_by_its_kind() -> None:
    """So mypy knows its fields: nothing is read of it by a string."""
    package = Path(fanout.__file__).parent
    files = {file.relative_to(package).as_posix(): file.read_text(encoding="utf-8") for file in package.rglob("*.py")}
    raw = {name for name, text in files.items() if re.search(r"\.(read|find|write)_json\(", text)}
    assert {name for name in raw if not name.startswith("ledger/")} == RAW
