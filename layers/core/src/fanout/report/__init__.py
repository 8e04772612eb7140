"""report.html: one page that says what became of the run, with no network and no script."""

from __future__ import annotations

from fanout.report.page import Findings, render_report

__all__ = ["Findings", "render_report"]
