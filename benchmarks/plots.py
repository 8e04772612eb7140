"""Bars of files a second, a panel a cell, with the limit as a line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot

Row = dict[str, Any]


def plot(rows: list[Row], path: Path) -> None:
    """Write the plot as SVG."""
    cells = list(dict.fromkeys((row["data_set"], row["calibration"], row["count"]) for row in rows))
    figure, panels = pyplot.subplots(len(cells), 1, figsize=(9, 2.6 * len(cells)), squeeze=False)
    for panel, cell in zip(panels[:, 0], cells, strict=True):
        same = [row for row in rows if (row["data_set"], row["calibration"], row["count"]) == cell]
        same.sort(key=lambda row: row["files_per_s"])
        names = [row["tool"] if row["workers"] == 1 else f"{row['tool']} x{row['workers']}" for row in same]
        colours = ["#c05020" if row["tool"] == "fanout" else "#8090a0" for row in same]
        bars = panel.barh(names, [row["files_per_s"] for row in same], color=colours)
        panel.bar_label(bars, [f"{row['files_per_s']:,.0f}" for row in same], padding=3, fontsize=8)
        ours = next((row for row in same if row["tool"] == "fanout" and row["workers"] == 1), None)
        if ours is not None and ours["ratio_to_limit"]:
            copying = ours.get("copying_files_per_s", ours["files_per_s"])
            panel.axvline(copying / ours["ratio_to_limit"], color="#303030", linestyle="--", linewidth=1)
        panel.set_title(
            f"{cell[0]} ({cell[2]:,}), {cell[1]}: files/s (dashed: limit of one client)", fontsize=9, loc="left"
        )
        panel.tick_params(labelsize=8)
        panel.margins(x=0.12)
    figure.tight_layout()
    figure.savefig(path)
    pyplot.close(figure)
