"""Tables of results are of the engine that is here, and what tells so sees a change of code and no other."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from benchmarks import engine_of_today
from benchmarks.engine_of_today import ROOMS, code_of, engine_of, known, read_rows, rooms_changed


def test_no_table_is_older_than_what_it_measures() -> None:
    now, since = engine_of(), known()
    old = {name: rooms_changed(row.get("engine", {}), now, since) for name, row in read_rows()}
    changed = {name: rooms for name, rooms in old.items() if rooms}
    assert not changed, "measure again, or show that the figures hold: see benchmarks/engine_of_today.py"


def test_each_table_has_rows_of_ours() -> None:
    assert {name for name, _ in read_rows()} == set(engine_of_today.TABLES)


@pytest.mark.parametrize("room", ROOMS)
def test_a_change_of_code_is_a_change(tmp_path: Path, room: str) -> None:
    package = tmp_path / "layers/core/src/fanout"
    shutil.copytree(engine_of_today.ROOT / "layers/core/src/fanout", package)
    before = engine_of(tmp_path)
    engine_of.cache_clear()
    assert before == engine_of()
    module = max((package / room).rglob("*.py"), key=lambda path: path.stat().st_size)
    module.write_text(module.read_text() + "\n# a comment\n\n")
    engine_of.cache_clear()
    assert engine_of(tmp_path) == before
    module.write_text(module.read_text() + "CHANGED = 1\n")
    engine_of.cache_clear()
    assert rooms_changed(before, engine_of(tmp_path), []) == [room]


def test_the_code_of_a_module() -> None:
    source = (
        '"""What it is.\n\nMore."""\n\n# why\nX = "#"  # because\n\ndef f():\n    """See."""\n    return """a\n# b"""\n'
    )
    assert code_of(source) == ['X = "#"  # because', "def f():", '    return """a']
    assert code_of("def f():\n    '''What.'''\n") == ["def f():"]


def test_figures_hold_for_what_was_measured_beside_them() -> None:
    one, two, three = (dict.fromkeys(ROOMS, word) for word in ("one", "two", "three"))
    since = [{"of": one, "holds": two}, {"of": two, "holds": three}]
    assert rooms_changed(one, three, since) == []
    assert rooms_changed(two, one, since) == list(ROOMS)
    assert rooms_changed(one, {**three, "listing": "four"}, since) == ["listing"]
