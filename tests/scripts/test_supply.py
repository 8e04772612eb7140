"""What is installed and who may publish: hashes everywhere, and no rights where other people's code runs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

REPO = Path(__file__).parents[2]
LOCKS = sorted(REPO.glob("tools/*.txt"))
WORKFLOWS = sorted(REPO.glob(".github/workflows/*.yml"))


def jobs_of(workflow: Path) -> dict[str, Any]:
    document = yaml.safe_load(workflow.read_text(encoding="utf-8"))
    assert document["permissions"] == {"contents": "read"}, "what a job does not name"
    jobs: dict[str, Any] = document["jobs"]
    return jobs


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: path.stem)
def test_every_tool_is_pinned_by_hashes_and_made_by_make_lock(lock: Path) -> None:
    text = lock.read_text(encoding="utf-8")
    pinned = re.findall(r"^[A-Za-z0-9_.\[\]-]+==\S+.*$", text, re.MULTILINE)
    assert pinned and all(line.endswith("\\") for line in pinned), "a hash follows"
    assert f"tools/{lock.stem}.in -o tools/{lock.stem}.txt" in (REPO / "Makefile").read_text(encoding="utf-8")


def test_every_requirement_of_the_layer_is_locked_with_hashes() -> None:
    text = (REPO / "layers/core/requirements.txt").read_text(encoding="utf-8").replace("\\\n", "")
    lines = [line for line in text.splitlines() if line.strip() and not line.strip().startswith("#")]
    assert len(lines) > 5
    assert all("==" in line and "--hash=sha256:" in line for line in lines)


def test_everything_is_installed_by_its_hashes() -> None:
    """``uv sync --frozen`` checks those of uv.lock."""
    for path in (REPO / "scripts").glob("*.sh"):
        for line in path.read_text(encoding="utf-8").splitlines():
            if "pip install" in line or "pip sync" in line:
                assert "--require-hashes" in line or "python3-" in line, f"{path.name}: {line.strip()}"
    assert re.search(r"uv tool run|UV\) tool run", (REPO / "Makefile").read_text(encoding="utf-8")) is None
    backend = re.search(r'requires = \["hatchling==([\d.]+)"\]', (REPO / "pyproject.toml").read_text(encoding="utf-8"))
    assert backend is not None
    assert f"hatchling=={backend[1]} " in (REPO / "tools/build.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_a_job_that_may_write_runs_no_code_of_the_repository_or_of_a_dependency(workflow: Path) -> None:
    for name, job in jobs_of(workflow).items():
        if "write" not in (job.get("permissions") or {}).values():
            continue
        for step in job["steps"]:
            assert "checkout" not in step.get("uses", ""), name
            assert not re.search(r"\b(make|python|pip|uv|sh)\b", step.get("run", "")), name


def test_a_release_waits_for_somebody_who_approves_it() -> None:
    jobs = jobs_of(REPO / ".github/workflows/release.yml")
    assert [name for name, job in jobs.items() if job.get("permissions")] == ["publish"]
    assert (jobs["publish"]["environment"], jobs["publish"]["needs"]) == ("release", "build")


def test_what_is_released_is_built_where_no_test_has_run() -> None:
    jobs = jobs_of(REPO / ".github/workflows/release.yml")
    commands = {name: "\n".join(step.get("run", "") for step in job["steps"]) for name, job in jobs.items()}
    building = [name for name, text in commands.items() if "sam build" in text or "make packages" in text]
    assert building == ["build"] and jobs["build"]["needs"] == "test"
    assert "make test" in commands["test"]
    assert not re.search(r"pytest|make (test|check|unit|adversary|nfs|setup-tests)\b", commands["build"])
    assert any("checkout" in step.get("uses", "") for step in jobs["build"]["steps"])


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_every_action_is_pinned_by_its_commit(workflow: Path) -> None:
    used = re.findall(r"uses: (\S+)", workflow.read_text(encoding="utf-8"))
    assert used and all(re.fullmatch(r"[\w.-]+/[\w./-]+@[0-9a-f]{40}", one) for one in used)


def test_a_release_is_built_for_processors_that_the_layer_knows() -> None:
    workflow = (REPO / ".github/workflows/release.yml").read_text(encoding="utf-8")
    found = re.search(r"for platform in (.*); do", workflow)
    allowed = re.search(r"allowed: ([a-z0-9_, ]+)", (REPO / "layers/core/Makefile").read_text(encoding="utf-8"))
    assert found is not None and allowed is not None
    assert set(found[1].split()) == set(allowed[1].split(", "))
