"""The page: what the template is given, and how it is rendered."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from typing import Any

from markupsafe import Markup
from msgspec import Struct, field
from msgspec.structs import asdict

from fanout.books.failures import Failure, FailureClass
from fanout.books.next_step import next_step_of
from fanout.books.summary_document import SummaryDocument, TasksDone, figures_of
from fanout.forecast.choosing.finish import Finish
from fanout.forecast.phases import INSIDE
from fanout.model.books import Count
from fanout.model.document import Json
from fanout.pacing.rows import PacingDecision
from fanout.report.charts.curve import Curve, curve
from fanout.report.charts.gantt import Gantt, gantt
from fanout.report.charts.pacing import paced
from fanout.report.charts.prediction import Prediction, prediction
from fanout.report.charts.series import OverTime, over_time
from fanout.report.charts.sizes import histogram
from fanout.report.comparison import compared
from fanout.report.origin import place_of
from fanout.report.templating import TEMPLATES, environment
from fanout.report.text import clock
from fanout.report.verdict import verdict
from fanout.shards.tasks.activity import Activity
from fanout.shards.tasks.attempt import AttemptEnd

# The outcomes that add up to what was listed, in the order of the page.
_PARTS = ("copied", "unchanged", "skipped", "failed", "rejected")

# Chosen: a phase shorter than this has no charts, and with fewer shards none of predicted against actual seconds.
_CHART_SECONDS = 10.0
_PREDICTED_SHARDS = 20
# Chosen: characters of a request that a page shows.
_REQUEST_SHOWN = 4_000


class NamedEntry(Struct, frozen=True):
    """A path, and the size of its entry in bytes."""

    path: str
    size: int


class NamedEntries(Struct, frozen=True):
    """A list of the page: ``rows`` are the first of ``total`` entries."""

    title: str
    total: Count
    rows: list[NamedEntry]


class Findings(Struct, frozen=True):
    """The data of the page: summary.json, plan.json, failures by class, tasks and pacing over time, named entries.

    ``request`` is request.json, ``defaults`` the plan of one that names nothing but its ends.
    """

    summary: SummaryDocument
    plan: Json
    classes: list[tuple[FailureClass, list[Failure]]]
    activities: list[Activity]
    decisions: list[PacingDecision] = field(default_factory=list)
    named: list[NamedEntries] = field(default_factory=list)
    request: Json | None = None
    defaults: Json = field(default_factory=dict)


class _PhaseCharts(Struct, frozen=True):
    """The charts of one phase; each is none where there is nothing to draw."""

    activity: Activity
    tasks: TasksDone
    over_time: OverTime | None
    gantt: Gantt | None
    prediction: Prediction | None


def render_report(findings: Findings) -> str:
    """The page as HTML. Text of the run is escaped, and shown as it is: no name can hide or act."""
    summary = findings.summary
    settings, defaults = _flat(findings.plan), _flat(findings.defaults)
    place, step = place_of(summary.origin), next_step_of(summary)
    asked = (findings.request or {}).get("request")
    command = step.command(summary.run_id, summary.skipped.holder if summary.skipped else "", asked)
    page: dict[str, Any] = {
        "summary": summary,
        "publishes": bool(findings.plan.get("publish")) and summary.mode.course.writes,
        "verdict": verdict(summary),
        "place": place,
        "compared": compared(summary, figures_of(summary)),
        "next_step": step,
        "next_command": f"{command} {place.option}".strip() if command else "",
        "totals": asdict(summary.totals),
        "parts": _PARTS,
        "histogram": histogram(summary.sizes),
        "classes": findings.classes,
        "named": findings.named,
        "phases": [_phase(activity, tasks) for activity, tasks in zip(findings.activities, summary.tasks, strict=True)],
        "inside": {*INSIDE, "pause"},
        "pacing": paced(findings.decisions),
        "finish_curve": _finish_curve(summary),
        "attempts": {tasks.phase: tasks.begun for tasks in summary.tasks},
        "request": _readable(findings.request),
        "newline": Markup("\n"),
        "changed": [row for row in settings if row not in defaults],
        "unchanged": [row for row in settings if row in defaults],
        "lost": AttemptEnd.LOST,
    }
    return rendered("report.html.j2", page)


def _phase(activity: Activity, tasks: TasksDone) -> _PhaseCharts:
    """A phase with the charts that show something: none of a short one."""
    if activity.ended - activity.began < _CHART_SECONDS:
        return _PhaseCharts(activity, tasks, None, None, None)
    predicted = prediction(activity) if activity.shards >= _PREDICTED_SHARDS else None
    return _PhaseCharts(activity, tasks, over_time(activity), gantt(activity), predicted)


def _finish_curve(summary: SummaryDocument) -> Curve | None:
    """The plans of a run that had to end by a time."""
    finish = summary.forecast.finish if summary.forecast else None
    return None if finish is None else curve(finish)


def style() -> tuple[Markup, str]:
    """The style sheet, and the digest by which a page allows itself to have it."""
    sheet = Markup((TEMPLATES / "report.css").read_text(encoding="utf-8"))
    return sheet, base64.b64encode(hashlib.sha256(sheet.encode()).digest()).decode()


def rendered(template: str, page: Mapping[str, Any]) -> str:
    """The HTML of a page, with the style sheet."""
    sheet, digest = style()
    return environment().get_template(template).render({**page, "style": sheet, "style_digest": digest})


def _readable(document: Json | None) -> list[str]:
    """The lines of the request as JSON to copy; none of one that is too long to show."""
    text = json.dumps(document.get("request"), indent=1) if document else ""
    return text.splitlines() if len(text) <= _REQUEST_SHOWN else []


def _flat(document: Json, prefix: str = "") -> list[tuple[str, str]]:
    """The settings of plan.json, one a row, the names of nested ones joined by dots."""
    rows: list[tuple[str, str]] = []
    for name, value in document.items():
        if isinstance(value, dict):
            rows += _flat(value, f"{prefix}{name}.")
        elif name != "schema_version":
            rows.append((f"{prefix}{name}", str(value) if value not in ("", None) else "not set"))
    return rows


def render_finish(finish: Finish, source: str, destination: str) -> str:
    """The page of ``fanout estimate --by``: the plans that no other beats, as a curve and a table."""
    ends = f"Ends at {clock(finish.predicted_end)}" if finish.functions else "No plan ends in time"
    page = {"headline": ends, "finish": finish, "curve": curve(finish), "source": source, "destination": destination}
    return rendered("estimate.html.j2", page)
