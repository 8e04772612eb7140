"""A run of the engine on this machine from its request to its exit status, for people."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, NamedTuple, NoReturn

from fanout.model.errors import DestinationBusy
from fanout.runtime.bootstrap import prepare_processes
from fanout.runtime.embedded.engine import Engine
from fanout.runtime.embedded.machine import parts_of_machine
from fanout.work.processes.crew import begin_crew, find_crew
from fanout_cli.command_error import EXIT_INTERRUPTED
from fanout_cli.here.ends import is_s3, refuse_ledger_in_ends
from fanout_cli.here.ledger import HereLedger
from fanout_cli.here.progress import shown_progress
from fanout_cli.here.result import result_here, say_end, say_stopped
from fanout_cli.here.s3 import check_answers, s3_here
from fanout_cli.loudness import is_quiet
from fanout_cli.runs.run_ids import check_run_id, new_run_id
from fanout_cli.terminal import Terminal

_TWICE = b"stopping; Ctrl-C again ends at once\n"
# Chosen: what is being copied has so long to become whole after a run was stopped.
_GRACE_SECONDS = 3.0


class HereOptions(NamedTuple):
    """The options of a run on this machine, without its request."""

    ledger: HereLedger
    s3_endpoint: str = ""
    name: str = ""
    json_output: bool = False


def carry_out(document: Any, ends: tuple[Any, Any], word: str, options: HereOptions, console: Terminal) -> int:
    """Carry out a request between two ends; returns the exit status. Raises ``CommandError`` and ``FanoutError``.

    ``word`` begins the name of a run that is given none.
    """
    run_id = options.name or new_run_id(word)
    check_run_id(run_id)
    refuse_ledger_in_ends(options.ledger.place, *ends)
    begin_crew(prepare_processes)  # before anything here begins a thread
    in_buckets = [end for end in ends if is_s3(end)]
    s3 = s3_here(options.s3_endpoint, is_used=bool(in_buckets))
    for end in in_buckets:
        check_answers(s3, end)

    def say(text: str) -> None:
        console.print(text, markup=False, highlight=False, soft_wrap=True)

    def failed(_state: str, error: Exception) -> None:
        if isinstance(error, DestinationBusy):
            say(f"{run_id} waits for {error.holder} (mode {error.mode}), which writes {error.held}")

    if not is_quiet():
        say(f"{run_id} runs on this machine; Ctrl-C stops it")
    options.ledger.store.sweep()
    engine, began = Engine(parts_of_machine(options.ledger.place, s3), failed=failed), time.monotonic()

    def leave() -> NoReturn:
        say_stopped(options.ledger, run_id, say)
        _leave()

    try:
        with stopped_by_signals(leave), shown_progress(options.ledger.of_run(run_id), console):
            ended = engine.run(run_id, document)
    except KeyboardInterrupt:
        leave()
    result = result_here(options.ledger, run_id, ended, time.monotonic() - began)
    say_end(options.ledger, result, options.json_output, console, say)
    crew = find_crew()
    if crew is not None:
        crew.close()
    return result.exit_status


@contextmanager
def stopped_by_signals(leave: Callable[[], NoReturn]) -> Iterator[None]:
    """SIGINT or SIGTERM raises ``KeyboardInterrupt`` here; ``leave`` is called if it is not heeded within the grace.

    The second signal ends the process and those below it at once.
    """
    numbers = (signal.SIGINT, signal.SIGTERM)

    def stop(_number: int, _frame: FrameType | None) -> None:
        for number in numbers:
            signal.signal(number, lambda *_: _leave())
        os.write(2, _TWICE)
        signal.signal(signal.SIGALRM, lambda *_: leave())
        signal.setitimer(signal.ITIMER_REAL, _GRACE_SECONDS)
        raise KeyboardInterrupt

    before = [signal.signal(number, stop) for number in numbers]
    try:
        yield
    except KeyboardInterrupt:
        raise  # a second signal may come while the run is left
    except BaseException:
        _give_back(numbers, before)
        raise
    _give_back(numbers, before)


def _give_back(numbers: tuple[signal.Signals, ...], before: list[Any]) -> None:
    for number, handler in zip(numbers, before, strict=True):
        signal.signal(number, handler)


def _leave() -> NoReturn:
    """End this process as one that was interrupted; its first child ends all others. No thread is waited for."""
    sys.stdout.flush()
    os._exit(EXIT_INTERRUPTED)
