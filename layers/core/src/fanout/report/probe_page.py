"""probe.html: what a probe found, as charts and tables; no network and no script."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from fanout.efs.calibration import Calibration
from fanout.efs.probe_result import Experiment, ExperimentResult, Measured, ProbeResult, ProbeStatus, Sync
from fanout.report.charts.sweep import Measure, Sweep, latency, rate, sweep
from fanout.report.page import rendered
from fanout.report.text import number, size

_HEADLINES = {
    ProbeStatus.SUCCEEDED: ("✓", "Measured", "SUCCEEDED"),
    ProbeStatus.FAILED_EXPERIMENTS: ("!", "Measured in part", "FAILED_WITH_ITEMS"),
    ProbeStatus.FAILED: ("✗", "Broken off", "FAILED"),
}
_SYNCED = {Sync.END: "once at the end", Sync.BLOCK: "after each block"}
# Classes of the style sheet, one a series.
_KINDS = ("first", "second", "third", "fourth")


class _Headline(Struct, frozen=True):
    sign: str
    text: str
    tone: str
    sentence: str


def render_probe(probe: ProbeResult) -> str:
    page = {
        "probe": probe,
        "headline": _headline(probe),
        "charts_of": [chart for chart in _charts(probe) if chart is not None],
        "calibration": _calibration(probe.calibration),
        "missing": [row for experiment in probe.experiments for row in _missing(experiment)],
        "problems": [(experiment.name, problem) for experiment in probe.experiments for problem in experiment.problems],
    }
    return rendered("probe.html.j2", page)


def _headline(probe: ProbeResult) -> _Headline:
    sign, text, tone = _HEADLINES[probe.status]
    measured = sum(len(experiment.points) for experiment in probe.experiments)
    missing = sum(len(experiment.not_measured) for experiment in probe.experiments)
    sentence = f"{measured} points were measured, {missing} were not."
    if probe.error:
        sentence += f" {probe.error.name}: {probe.error.message}"
    elif probe.calibration is None:
        sentence += " That is too little to calibrate a plan."
    return _Headline(sign, text, tone, sentence)


def _charts(probe: ProbeResult) -> Iterator[Sweep | None]:
    points = {experiment.name: experiment.points for experiment in probe.experiments}
    caps = probe.caps
    whole = "file system (assumed)" if caps.file_system_is_assumed else "file system"
    of_function = [("network of a function", float(caps.function_bytes_per_second))]
    of_client = [*of_function, ("NFS client", float(caps.client_bytes_per_second))]
    of_all = [(whole, float(caps.file_system_bytes_per_second))]
    by_size = points[Experiment.WRITE_LATENCY]
    in_turn = [
        (
            kind,
            f"{files} file" if files == 1 else f"{files} files in turn",
            [_measure(one, one.file_bytes, size(one.file_bytes)) for one in by_size if one.files == files],
        )
        for kind, files in zip(_KINDS, sorted({one.files for one in by_size}), strict=False)
    ]
    yield sweep("Write latency by size", "Size", in_turn, latency)
    threads = [_measure(one, one.threads, str(one.threads)) for one in points[Experiment.WRITE_BY_THREADS]]
    yield sweep("Write throughput by threads", "Threads", [("first", "written", threads)], rate, of_client + of_all)
    together = [
        (kind, name, [_measure(one, one.functions, str(one.functions)) for one in points[experiment]])
        for kind, name, experiment in (
            ("first", "written, a file each thread", Experiment.WRITE_BY_FUNCTIONS),
            ("second", "read", Experiment.READ_BY_FUNCTIONS),
            ("third", "written, one file for all", Experiment.RANGED_WRITES),
        )
    ]
    yield sweep("Throughput by functions", "Functions", together, rate, of_function + of_all)
    by_io = [_measure(one, one.io_bytes, size(one.io_bytes)) for one in points[Experiment.WRITE_BY_IO_SIZE]]
    yield sweep("Write throughput by I/O size", "One write", [("first", "written", by_io)], rate, of_function)
    synced = [
        _measure(one, index, _SYNCED.get(one.sync, one.sync))
        for index, one in enumerate(points[Experiment.WRITE_BY_SYNC])
    ]
    streamed = [_measure(one, 9, "1 KiB chunks") for one in points[Experiment.STREAM]]
    yield sweep("Write throughput by sync, and streamed", "Synced", [("first", "written", synced + streamed)], rate)
    created = [
        _measure(one, one.directories, _plural(one.directories, "directory", "directories"))
        for one in points[Experiment.CREATIONS]
    ]
    yield sweep("Creations a second", "Directories", [("first", "created", created)], _per_second)


def _measure(one: Measured, at: float, label: str) -> Measure:
    return Measure(at, label, one.median, one.lower_quartile, one.upper_quartile, one.samples)


def _plural(value: int, one: str, many: str) -> str:
    return f"{value} {one if value == 1 else many}"


def _per_second(value: float) -> str:
    return f"{number(value)}/s"


def _calibration(found: Calibration | None) -> list[tuple[str, str]]:
    if found is None:
        return []
    rows = [
        ("one function writes", rate(found.write_bytes_per_second_client)),
        ("one function reads", rate(found.read_bytes_per_second_client)),
        ("one file is written with", rate(found.write_bytes_per_second_file)),
        ("an empty file is created in", latency(found.create_seconds)),
        ("a file of 4 KiB is created, written and closed in", latency(found.small_write_seconds)),
        ("in one directory are created", _per_second(found.creations_per_second_directory)),
    ]
    return rows + [(f"{n} functions write together", rate(r)) for n, r in found.functions.items() if n != 1]


def _missing(experiment: ExperimentResult) -> Iterator[tuple[str, str, str]]:
    for one in experiment.not_measured:
        counted = ((one.functions, "function"), (one.threads, "thread"), (one.files, "file"))
        parts = [_plural(number, word, f"{word}s") for number, word in counted]
        parts += [f"of {size(one.file_bytes)}", f"writes of {size(one.io_bytes)}"] if one.file_bytes else []
        yield experiment.name, ", ".join(parts), one.why
