"""probe.html: what a probe found, as charts and tables; no network and no script."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from msgspec import Struct

from fanout.model.document import Json
from fanout.report.page import style
from fanout.report.sweep import Measure, Sweep, latency, rate, sweep
from fanout.report.templating import environment
from fanout.report.text import number, size

_HEADLINES = {
    "SUCCEEDED": ("✓", "Measured", "SUCCEEDED"),
    "FAILED_EXPERIMENTS": ("!", "Measured in part", "FAILED_WITH_ITEMS"),
    "FAILED": ("✗", "Broken off", "FAILED"),
}


class _Headline(Struct, frozen=True):
    sign: str
    text: str
    tone: str
    sentence: str


def render_probe(probe: Json) -> str:
    """The page of a probe.json as HTML."""
    sheet, digest = style()
    page: dict[str, Any] = {
        "style": sheet,
        "style_digest": digest,
        "probe": probe,
        "headline": _headline(probe),
        "charts_of": [chart for chart in _charts(probe) if chart is not None],
        "calibration": _calibration(probe),
        "missing": [row for experiment in probe["experiments"] for row in _missing(experiment)],
        "problems": [
            (experiment["name"], problem) for experiment in probe["experiments"] for problem in experiment["problems"]
        ],
    }
    return environment().get_template("probe.html.j2").render(page)


def _headline(probe: Json) -> _Headline:
    sign, text, tone = _HEADLINES[probe["status"]]
    measured = sum(len(experiment["points"]) for experiment in probe["experiments"])
    missing = sum(len(experiment["not_measured"]) for experiment in probe["experiments"])
    sentence = f"{measured} points were measured, {missing} were not."
    if probe["error"]:
        sentence += f" {probe['error']['name']}: {probe['error']['message']}"
    elif probe["calibration"] is None:
        sentence += " That is too little to calibrate a plan."
    return _Headline(sign, text, tone, sentence)


def _charts(probe: Json) -> Iterator[Sweep | None]:
    points = {experiment["name"]: experiment["points"] for experiment in probe["experiments"]}
    caps = probe["caps"]
    whole = "file system (assumed)" if caps["file_system_is_assumed"] else "file system"
    of_function = [("network of a function", float(caps["function_bytes_per_second"]))]
    of_client = [*of_function, ("NFS client", float(caps["client_bytes_per_second"]))]
    of_all = [(whole, float(caps["file_system_bytes_per_second"]))]
    files = sorted({row["files"] for row in points["write_latency"]})
    kinds = ("first", "second", "third", "fourth")
    yield sweep(
        "Write latency by size",
        "Size",
        [
            (
                kind,
                f"{count} file" if count == 1 else f"{count} files in turn",
                _measures(points["write_latency"], "file_bytes", size, count),
            )
            for kind, count in zip(kinds, files, strict=False)
        ],
        latency,
    )
    threads = _measures(points["write_by_threads"], "threads", str)
    yield sweep("Write throughput by threads", "Threads", [("first", "written", threads)], rate, of_client + of_all)
    together = [
        (
            "first",
            "written, a file each thread",
            _measures(points["write_by_functions"], "functions", str),
        ),
        ("second", "read", _measures(points["read_by_functions"], "functions", str)),
        ("third", "written, one file for all", _measures(points["ranged_writes"], "functions", str)),
    ]
    yield sweep("Throughput by functions", "Functions", together, rate, of_function + of_all)
    by_io = _measures(points["write_by_io_size"], "io_bytes", size)
    yield sweep("Write throughput by I/O size", "One write", [("first", "written", by_io)], rate, of_function)
    synced = [
        _measure(row, index, {"end": "once at the end", "block": "after each block"}.get(row["sync"], row["sync"]))
        for index, row in enumerate(points["write_by_sync"])
    ]
    streamed = [_measure(row, 9, "1 KiB chunks") for row in points["stream"]]
    yield sweep("Write throughput by sync, and streamed", "Synced", [("first", "written", synced + streamed)], rate)
    created = [
        _measure(row, row["directories"], _plural(row["directories"], "directory", "directories"))
        for row in points["creations"]
    ]
    yield sweep("Creations a second", "Directories", [("first", "created", created)], _per_second)


def _measures(rows: list[Json], field: str, label: Callable[[int], str], files: int | None = None) -> list[Measure]:
    return [_measure(row, row[field], label(row[field])) for row in rows if files in (None, row["files"])]


def _measure(row: Json, at: float, label: str) -> Measure:
    return Measure(at, label, row["median"], row["lower_quartile"], row["upper_quartile"], row["samples"])


def _plain(word: str) -> Callable[[int], str]:
    return lambda value: _plural(value, word, f"{word}s")


def _plural(value: int, one: str, many: str) -> str:
    return f"{value} {one if value == 1 else many}"


def _per_second(value: float) -> str:
    return f"{number(value)}/s"


def _calibration(probe: Json) -> list[tuple[str, str]]:
    found = probe["calibration"]
    if found is None:
        return []
    rows = [
        ("one function writes", rate(found["write_bytes_per_second_client"])),
        ("one function reads", rate(found["read_bytes_per_second_client"])),
        ("one file is written with", rate(found["write_bytes_per_second_file"])),
        ("an empty file is created in", latency(found["create_seconds"])),
        ("a file of 4 KiB is created, written and closed in", latency(found["small_write_seconds"])),
        ("in one directory are created", _per_second(found["creations_per_second_directory"])),
    ]
    together = [(f"{n} functions write together", rate(r)) for n, r in found["functions"].items() if n != "1"]
    return rows + together


def _missing(experiment: Json) -> Iterator[tuple[str, str, str]]:
    for row in experiment["not_measured"]:
        parts = [_plain("function")(row["functions"]), _plain("thread")(row["threads"]), _plain("file")(row["files"])]
        parts += [f"of {size(row['file_bytes'])}", f"writes of {size(row['io_bytes'])}"] if row["file_bytes"] else []
        yield experiment["name"], ", ".join(parts), row["why"]
