"""selftest.json and selftest.html: the same figures for programs and for people; the page has no script."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import boto3
from jinja2 import ChoiceLoader, FileSystemLoader
from msgspec import to_builtins

from fanout import __version__
from fanout.ports.finding import Finding
from fanout.report.page import style
from fanout.report.templating import environment
from fanout_cli.runs.work_bucket import dump
from fanout_cli.selftest.runner import CaseRow

SCHEMA_VERSION = 1
_HEADLINES = {
    "SUCCEEDED": ("✓", "Proven", "SUCCEEDED", "Every case came out as expected."),
    "INTERRUPTED": ("!", "Broken off", "FAILED_WITH_ITEMS", "It was broken off; these figures are of what was done."),
    "FAILED": ("✗", "Not as expected", "FAILED", "Something did not come out as expected."),
}


def document_of(
    about: dict[str, Any],
    findings: Sequence[Finding],
    rows: Sequence[CaseRow],
    left: Sequence[str],
    *,
    interrupted: bool = False,
) -> dict[str, Any]:
    """The content of selftest.json; ``about`` has id, stack, region, bucket, size, budget, spent, began and ended."""
    wrong = [f"doctor: {one.name}: {one.what}" for one in findings if one.level.value == "fail"]
    wrong += [f"{row.title}: {problem}" for row in rows for problem in row.problems]
    wrong += [f"left behind: {one}" for one in left]
    done = all(row.status == "succeeded" for row in rows)
    status = "INTERRUPTED" if interrupted else "SUCCEEDED" if done and not wrong else "FAILED"
    versions = {"fanout": __version__, "python": platform.python_version(), "boto3": boto3.__version__}
    return {
        "schema_version": SCHEMA_VERSION,
        "status": status,
        **about,
        "versions": versions,
        "doctor": [to_builtins(one) for one in findings],
        "cases": [row.document() for row in rows],
        "wrong": wrong,
        "left": list(left),
    }


def render(document: dict[str, Any]) -> str:
    """The page of a selftest.json as HTML."""
    sheet, digest = style()
    found = environment()
    loader = ChoiceLoader([FileSystemLoader(Path(__file__).parent), *([found.loader] if found.loader else [])])
    template = found.overlay(loader=loader).get_template("selftest.html.j2")
    return template.render(style=sheet, style_digest=digest, test=document, headline=_HEADLINES[document["status"]])


def write(document: dict[str, Any], directory: Path) -> dict[str, str]:
    """Write both files into a directory; returns their paths."""
    directory.mkdir(parents=True, exist_ok=True)
    paths = {"json": directory / "selftest.json", "page": directory / "selftest.html"}
    paths["json"].write_text(dump(document) + "\n", encoding="utf-8")
    paths["page"].write_text(render(document), encoding="utf-8")
    return {name: str(path) for name, path in paths.items()}
