"""The benchmark of a run that finds nothing to do runs what is deployed, and leaves the checkout as it is."""

from __future__ import annotations

import subprocess
from pathlib import Path

from benchmarks import interpreter
from benchmarks.no_change import deploy, environment, read_again
from fanout.report.templating import COMPILED

# PEP 552: by hash, and never held against the source.
UNCHECKED = (1).to_bytes(4, "little")
SHOW = """
import fanout.report.templating as templating
print(templating.environment().get_template("report.html.j2").filename)
"""


def test_ours_renders_templates_that_were_compiled_beforehand(tmp_path: Path) -> None:
    deploy(tmp_path)
    read_again("fanout", tmp_path)
    compiled = tmp_path / "layer/fanout/report/compiled"
    command = [interpreter.of_worker(), "-c", SHOW]
    shown = subprocess.run(command, env=environment(tmp_path), capture_output=True, text=True, check=True).stdout
    assert Path(shown.strip()).parent == compiled
    assert len(list((tmp_path / "bytecode").rglob("tmpl_*.pyc"))) == len(list(compiled.glob("tmpl_*.py"))) > 5
    assert not COMPILED.exists()


def test_ours_is_compiled_beforehand_as_the_layer_is(tmp_path: Path) -> None:
    kept = {name: value for name, value in environment(tmp_path).items() if name != "PYTHONPYCACHEPREFIX"}
    interpreter.deploy(tmp_path / "layer", kept)
    compiled = list((tmp_path / "layer").rglob("*.pyc"))
    modules = {path.parent.parent / path.name.partition(".")[0] for path in compiled}
    assert modules == {path.with_suffix("") for path in (tmp_path / "layer").rglob("*.py")}
    assert all(path.read_bytes()[4:8] == UNCHECKED for path in compiled)
