"""What the documents say is what the code does."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

from fanout.books.summary_document import Status
from fanout.model.errors import TASK_ERRORS
from fanout.model.outcome import Reason
from tests.docs.pages import DOCUMENTS, ROOT, name, text_of

SAID = re.compile(r"\b(unchanged|skipped|failed|rejected): ([^|;(.,:]+)")
LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)")


@pytest.mark.parametrize(
    "script",
    [
        *("generate_docs.py", "generate_man.py", "generate_state_machines.py", "generate_policies.py", "licences.py"),
    ],
)
def test_generated_parts_are_what_the_code_says(script: str) -> None:
    command = [sys.executable, str(ROOT / "scripts" / script), "--check"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr


def fail_states() -> set[str]:
    machines = [json.loads(path.read_text())["States"] for path in (ROOT / "statemachine").glob("*.asl.json")]
    states = [state for machine in machines for state in machine.values()]
    return {state["Error"] for state in states if state["Type"] == "Fail" and "Error" in state}


def test_every_error_has_an_entry() -> None:
    headings = "\n".join(re.findall(r"^## (.*)$", text_of(ROOT / "docs/reference/errors.md"), re.MULTILINE))
    errors = {one.__name__ for one in TASK_ERRORS} | fail_states()
    assert [error for error in sorted(errors) if not re.search(rf"\b{error}\b", headings)] == []


def test_the_words_for_the_end_of_a_run_are_told_once_and_all() -> None:
    page = (ROOT / "docs/reference/commands.md").read_text()
    rows = re.findall(r"^\| (`[^|]*) \|", page.partition("| status | meaning |")[2].partition("\n\n")[0], re.MULTILINE)
    told = [word for row in rows for word in re.findall(r"`([A-Z_]+)`", row)]
    # Beside those of a summary, those of Step Functions for what has none.
    assert sorted(told) == sorted([*Status, "RUNNING", "ABORTED", "TIMED_OUT"])


def test_every_link_leads_somewhere() -> None:
    links = [(document, link) for document in DOCUMENTS for link in LINK.findall(text_of(document))]
    assert [f"{name(page)}: {link}" for page, link in links if not (page.parent / link).exists()] == []


def test_the_reasons_of_names_that_stay_impossible_are_in_the_table_of_reasons() -> None:
    section = (ROOT / "docs/reference/names.md").read_text().partition("## What stays impossible")[2]
    said = set(re.findall(r"^\|.*\| `(.*)` \|$", section, re.MULTILINE))
    assert said
    assert said <= {reason.value for reason in Reason}


@pytest.mark.parametrize("document", ["how-to/manifests.md", "understand/source-changes.md"])
def test_what_a_table_says_of_a_reason_is_in_the_table_of_reasons(document: str) -> None:
    rows = [line for line in (ROOT / "docs" / document).read_text().splitlines() if line.startswith("|")]
    said = {(result, words.strip()) for row in rows for result, words in SAID.findall(row)}
    assert said
    assert said <= {(reason.result.value, reason.value) for reason in Reason}
