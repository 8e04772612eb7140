"""Certificates are drawn where a request may ask for one, and the oracle finds one that says too much."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.adversary.certified import judge_certificate
from tests.adversary.result import Result
from tests.adversary.runner import carry_out
from tests.adversary.scope import Finding, Record, Scope
from tests.adversary.script import DIRECTIONS, Act, Script, Spec
from tests.adversary.trees import Version
from tests.adversary.worlds import script_of

HERE = Version("file", b"here", 0o644, 1, 0, 0)
OPTIONS = {"verify": "all", "certificate": True}


def found(status: str, there: Version, certificate: str | None) -> list[Finding]:
    result = Result(status, None, {"certificate": certificate})
    record = Record("r1", OPTIONS, {}, {"a": there}, [{"a": HERE}], result, [])
    script = Script(0, DIRECTIONS[0], (), (), ())
    return list(judge_certificate(record, Scope(script, record)))


def test_a_certificate_is_issued_of_equal_trees_alone() -> None:
    other = Version("file", b"other", 0o644, 1, 0, 0)
    assert found("SUCCEEDED", HERE, "one") == found("FAILED_WITH_ITEMS", other, None) == []
    for status, there, certificate in (
        ("SUCCEEDED", other, "one"),
        ("FAILED_WITH_ITEMS", HERE, "one"),
        ("SUCCEEDED", HERE, None),
    ):
        assert {one.kind for one in found(status, there, certificate)} == {"certificate"}


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_a_certified_run_is_sealed_as_in_a_stack(direction: str, tmp_path: Path) -> None:
    script = Script(0, direction, (Spec("d/f", size=9, seed=1),), (), (Act("run", "last"),), OPTIONS)
    outcome = carry_out(script, tmp_path / "lab")
    assert (outcome.findings, outcome.statuses) == ([], [("last", "SUCCEEDED")])


def test_certificates_are_drawn_in_every_direction() -> None:
    asked = {script.direction for script in map(script_of, range(600)) if script.options.get("certificate")}
    assert asked == set(DIRECTIONS)
