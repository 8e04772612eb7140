"""Draws the protocol of two runs that write to one mount as docs/protocol.svg: who does what, where, and when."""

from __future__ import annotations

from html import escape
from pathlib import Path

from scripts.draw_flow import STYLE

DRAWING = Path(__file__).resolve().parents[1] / "docs/protocol.svg"
LANES = ("a function of run 1", "list and ledger", "destination", "a function of run 2")
# From lane to lane, with a text; a step within a lane goes nowhere.
STEPS = (
    (0, 1, "enters the list: its turn"),
    (0, 2, "CheckMount: makes its staging directory"),
    (0, 1, "notes that it has begun; lists both ends"),
    (0, 2, "writes a file aside, in its staging directory"),
    (0, 0, "is frozen, and run 1 is stopped"),
    (3, 1, "run 1 goes on no more: takes its place over"),
    (3, 2, "makes its own, removes run 1's, waits"),
    (3, 1, "notes that it has begun; lists both ends"),
    (3, 2, "gives a file its name; notes the outcome"),
    (0, 2, "wakes up: the rename fails, and it ends as Superseded"),
    (3, 2, "looks at its right and at the entry, deletes"),
    (3, 2, "removes its staging directory"),
    (3, 1, "balances the books, leaves the list"),
)
LANE_STYLE = """  .lane { marker-end: none; stroke-dasharray: 3 4; opacity: 0.6 }
  .text { font-size: 12px }
"""
WIDTH, LANE, LEFT, TOP, ROW = 900, 240, 90, 60, 40


def _x(lane: int) -> int:
    return LEFT + LANE * lane


def _step(number: int, step: tuple[int, int, str]) -> str:
    here, there, text = step
    y = TOP + 34 + ROW * number
    if here == there:
        return f'<text class="text" x="{_x(here) + 8}" y="{y + 4}">{escape(text)}</text>'
    middle, anchor = (_x(here) + 10, "start") if there > here else (_x(here) - 10, "end")
    end = _x(there) + (-3 if there > here else 3)
    label = f'<text class="text" style="text-anchor: {anchor}" x="{middle}" y="{y - 6}">{escape(text)}</text>'
    return f'{label}\n<path d="M{_x(here)} {y} H{end}"/>'


def drawing() -> str:
    """The SVG."""
    height = TOP + 34 + ROW * len(STEPS)
    lanes = [
        f'<rect x="{_x(number) - 84}" y="12" width="168" height="30" rx="6"/>\n'
        f'<text class="name" x="{_x(number)}" y="32">{escape(name)}</text>\n'
        f'<path class="lane" d="M{_x(number)} 42 V{height - 12}"/>'
        for number, name in enumerate(LANES)
    ]
    told = "; ".join(f"{LANES[here]}: {text}" for here, _, text in STEPS)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        'aria-labelledby="title desc">\n'
        f'<title id="title">Two runs at one mount</title>\n<desc id="desc">{escape(told)}.</desc>\n'
        f"<style>{STYLE}{LANE_STYLE}</style>\n"
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0 8 4 0 8Z"/></marker></defs>\n'
        + "\n".join([*lanes, *(_step(number, step) for number, step in enumerate(STEPS))])
        + "\n</svg>\n"
    )


if __name__ == "__main__":
    DRAWING.write_text(drawing(), encoding="utf-8")
