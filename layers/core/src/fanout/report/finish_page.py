"""The page of ``fanout estimate --by``: the plans that no other beats, as a curve and a table."""

from __future__ import annotations

from fanout.forecast.choosing.finish import Finish
from fanout.report.charts.curve import curve
from fanout.report.page import style
from fanout.report.templating import environment
from fanout.report.text import clock


def render_finish(finish: Finish, source: str, destination: str) -> str:
    """The page as HTML."""
    sheet, digest = style()
    ends = f"Ends at {clock(finish.predicted_end)}" if finish.functions else "No plan ends in time"
    page = {
        "style": sheet,
        "style_digest": digest,
        "headline": ends,
        "finish": finish,
        "curve": curve(finish),
        "source": source,
        "destination": destination,
    }
    return environment().get_template("estimate.html.j2").render(page)
