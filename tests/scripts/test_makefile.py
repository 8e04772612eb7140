"""`make help` names every target, with what it does, and make takes none of them for a file."""

from __future__ import annotations

import re
import subprocess

from tests.template.templates import REPO

MAKEFILE = (REPO / "Makefile").read_text(encoding="utf-8")
# What is made as a file is no target that a person types.
TARGETS = set(re.findall(r"^([a-z][a-z0-9-]*):", MAKEFILE, re.MULTILINE))


def test_help_names_every_target_and_what_it_does() -> None:
    said = subprocess.run(["make", "-s", "help"], cwd=REPO, capture_output=True, text=True, check=True).stdout
    shown = dict(line.split("\t", 1) for line in said.splitlines())
    assert shown.keys() == TARGETS
    assert all(does.strip() for does in shown.values())


def test_every_target_is_phony() -> None:
    phony = re.search(r"^\.PHONY: (.*)$", MAKEFILE, re.MULTILINE)
    assert phony is not None
    assert set(phony[1].split()) == TARGETS
