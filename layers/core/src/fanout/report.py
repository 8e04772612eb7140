"""report.html: one page that says what became of the run, with no network and no script."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from fanout.domain.rows import Json

_STYLE = """
:root { color-scheme: light dark; --line: #8886; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
.verdict { font-size: 1.4rem; border-left: .4rem solid; padding: .2rem 1rem; }
.SUCCEEDED { border-color: #2e8540; } .FAILED, .FAILED_WITH_ITEMS { border-color: #cd2026; }
table { border-collapse: collapse; margin: 1rem 0; }
th, td { padding: .25rem .8rem; border-bottom: 1px solid var(--line); }
th { text-align: left; } td.number { text-align: right; font-variant-numeric: tabular-nums; }
.scroll { overflow-x: auto; } code { overflow-wrap: anywhere; }
"""

_BALANCED = "The books balance: listed = copied + unchanged + skipped + failed + rejected."


def render_report(summary: Json, failures: list[Json]) -> str:
    """The page for summary.json and the first rows of failures.jsonl."""
    verdict = summary["status"].replace("_", " ")
    error = summary["error"]
    parts = [
        f"<h1>Transfer {escape(summary['run_id'])}</h1>",
        f'<p class="verdict {summary["status"]}" role="status">{verdict}</p>',
        f"<p><code>{escape(summary['source'])}</code> to <code>{escape(summary['destination'])}</code></p>",
        f"<p>{escape(error['name'])}: {escape(error['message'])}</p>" if error else "",
        "<h2>Books</h2>",
        _table(("", "entries", "bytes"), _book_rows(summary["totals"])),
        f"<p>{_BALANCED if summary['balanced'] else 'The books do not balance.'}</p>",
        "<h2>Seconds by phase</h2>",
        _table(("phase", "seconds"), [(phase, f"{seconds:.1f}") for phase, seconds in summary["seconds"].items()]),
        _failures(failures, summary["failures"]),
    ]
    notes = "".join(f"<p>{escape(note)}</p>" for note in summary["notes"])
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{verdict}: {escape(summary['run_id'])}</title><style>{_STYLE}</style></head><body><main>"
        f"{''.join(parts)}{notes}</main></body></html>\n"
    )


def _book_rows(totals: Json) -> list[tuple[str, str, str]]:
    return [(name, f"{count['entries']:,}", f"{count['bytes']:,}") for name, count in totals.items()]


def _table(heads: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in heads)
    body = "".join(
        f'<tr><th scope="row">{escape(row[0])}</th>'
        + "".join(f'<td class="number">{escape(cell)}</td>' for cell in row[1:])
        + "</tr>"
        for row in rows
    )
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _failures(rows: list[Json], count: int) -> str:
    if not count:
        return ""
    body = "".join(
        "<tr>"
        + "".join(f"<td>{escape(_printable(str(row[name])))}</td>" for name in ("outcome", "reason", "path", "remedy"))
        + "</tr>"
        for row in rows
    )
    return (
        f"<h2>Failures</h2><p>{count:,} entries; the first {len(rows)} are shown, failures.jsonl holds all.</p>"
        '<div class="scroll"><table><thead><tr><th scope="col">outcome</th><th scope="col">reason</th>'
        f'<th scope="col">path</th><th scope="col">remedy</th></tr></thead><tbody>{body}</tbody></table></div>'
    )


def _printable(text: str) -> str:
    """The text with control characters and stray bytes shown as escapes."""
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)
