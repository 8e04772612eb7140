"""Mutants are drawn by their seed, differ from the module in one place, and have tests that are there."""

from __future__ import annotations

import ast

import pytest

from tests.mutants import ROOT, drawn, selection_of


@pytest.mark.parametrize("seed", range(3))
def test_a_mutant_is_its_module_with_one_change(seed: int) -> None:
    mutant = drawn(seed)
    assert drawn(seed).says == mutant.says
    compile(mutant.tree, mutant.file, "exec")
    plain = ast.unparse(ast.parse(mutant.file.read_text(encoding="utf-8"))).splitlines()
    changed = ast.unparse(mutant.tree).splitlines()
    assert len(changed) == len(plain) and sum(map(str.__ne__, plain, changed)) == 1
    assert all((ROOT / test).exists() for test in selection_of(mutant.module))
