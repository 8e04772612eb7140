"""Draws the flow of a state machine's YAML as SVG: the states that are marked `Drawn`, and the arrows between them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape
from typing import Any, NamedTuple

State = Mapping[str, Any]
ROW, HEIGHT, WIDTH, LEFT, TOP, TEXT = 58, 34, 176, 84, 16, 20
ENDS = ("Succeed", "Fail")
STYLE = """
  text { font: 14px system-ui, sans-serif; fill: #1f2328 }
  .name { font-weight: 600; text-anchor: middle }
  .text, .ends { fill: #59636e }
  rect { fill: #ddf4ff; stroke: #0969da; stroke-width: 1.2 }
  path { fill: none; stroke: #59636e; stroke-width: 1.4; marker-end: url(#tip) }
  marker path { fill: #59636e; stroke: none }
  @media (prefers-color-scheme: dark) {
    text { fill: #f0f6fc } .text, .ends { fill: #9198a1 }
    rect { fill: #121d2f; stroke: #4493f8 } path { stroke: #9198a1 } marker path { fill: #9198a1 }
  }
"""


class Box(NamedTuple):
    """A state as it is drawn; ``beside`` is one that runs in parallel with it."""

    name: str
    text: str
    is_map: bool
    beside: tuple[str, str] | None = None


def drawing(flow: State) -> str:
    """The SVG of a flow.

    Arrows are derived: one box leads to the next or back to the one before where only states that are not drawn lie
    between. Longer jumps are left out, for most boxes can be skipped.
    """
    boxes = list(_boxes(flow["States"]))
    rows = {box.name: number for number, box in enumerate(boxes)}
    ends = [name for name, state in flow["States"].items() if state.get("Type") in ENDS]
    height = TOP + ROW * len(boxes) + 36
    parts = [_box(box, number) for number, box in enumerate(boxes)]
    parts += [
        _arrow(rows[here], rows[there])
        for here, there in sorted(set(_edges(flow["States"])))
        if abs(rows[here] - rows[there]) == 1
    ]
    last = TOP + ROW * (len(boxes) - 1) + HEIGHT
    parts.append(_line(LEFT + WIDTH // 2, last, last + 22))
    parts.append(f'<text class="ends" x="{LEFT}" y="{height - 8}">{escape(" | ".join(ends))}</text>')
    names = ", ".join(box.name for box in boxes)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 860 {height}" role="img" aria-labelledby="title desc">\n'
        f'<title id="title">The flow of a transfer</title>\n<desc id="desc">One after the other: {names}.</desc>\n'
        f"<style>{STYLE}</style>\n"
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0 8 4 0 8Z"/></marker></defs>\n' + "\n".join(parts) + "\n</svg>\n"
    )


def _boxes(states: Mapping[str, State]) -> Iterator[Box]:
    for name, state in states.items():
        drawn = [box for branch in state.get("Branches", ()) for box in _boxes(branch["States"])]
        if drawn:
            first, *others = drawn
            beside = (others[0].name, others[0].text) if others else None
            yield first._replace(beside=beside)
        if "Drawn" in state:
            yield Box(name, state["Drawn"], state.get("Type") == "Map")


def _edges(states: Mapping[str, State]) -> Iterator[tuple[str, str]]:
    """From each box to those that follow it, past what is not drawn; errors that are caught are left out."""
    boxes = {name: [box.name for box in _boxes({name: state})] for name, state in states.items()}
    for name, own in boxes.items():
        if not own:
            continue
        seen: set[str] = set()
        after = list(_next(states[name]))
        while after:
            there = after.pop()
            if there in seen:
                continue
            seen.add(there)
            if boxes[there]:
                yield own[0], boxes[there][0]
            else:
                after += _next(states[there])


def _next(state: State) -> Iterator[str]:
    yield from (one["Next"] for one in state.get("Choices", ()))
    yield from (state[word] for word in ("Next", "Default") if word in state)


def _box(box: Box, number: int) -> str:
    top = TOP + ROW * number
    shapes = [_rect(LEFT + shift, top - shift, WIDTH) for shift in ((8, 4, 0) if box.is_map else (0,))]
    name = f'<text class="name" x="{LEFT + WIDTH // 2}" y="{top + 22}">{escape(box.name)}</text>'
    x = LEFT + WIDTH + TEXT
    text = [f'<text class="text" x="{x}" y="{top + 22}">{escape(box.text)}</text>']
    if box.beside is not None:
        beside, its_text = box.beside
        text = [f'<text class="text" x="{x}" y="{top + 8}">{escape(box.text)}</text>']
        text.append(f'<text class="text" x="{x}" y="{top + 30}">{escape(f"beside it {beside} {its_text}")}</text>')
    return "\n".join([*shapes, name, *text])


def _rect(x: int, y: int, width: int) -> str:
    return f'<rect x="{x}" y="{y}" width="{width}" height="{HEIGHT}" rx="6"/>'


def _arrow(here: int, there: int) -> str:
    if there > here:
        return _line(LEFT + WIDTH // 2, TOP + ROW * here + HEIGHT, TOP + ROW * there - 6)
    begin, end = TOP + ROW * here + HEIGHT // 2, TOP + ROW * there + HEIGHT // 2
    return f'<path d="M{LEFT} {begin} C{LEFT - 44} {begin} {LEFT - 44} {end} {LEFT - 2} {end}"/>'


def _line(x: int, begin: int, end: int) -> str:
    return f'<path d="M{x} {begin} V{end}"/>'
