"""The simulated EFS asks for a program's calls what Linux's NFS client was counted to ask."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from benchmarks import lab
from benchmarks.calls import ASKED, asked

BYTES_AND_MOST = ("bytes_read", "bytes_written", "most_in_flight")


@pytest.mark.usefixtures("simulation")
def test_calls_ask_what_the_real_client_was_counted_to_ask(tmp_path: Path) -> None:
    with lab.running("none", 1, tmp_path / "lab", 64) as running:
        (running.mounts[0] / "root").mkdir()

        def counters() -> Counter[str]:
            return Counter({name: n for name, n in running.counters().items() if name not in BYTES_AND_MOST})

        assert asked(running.mounts[0] / "root", counters) == ASKED
