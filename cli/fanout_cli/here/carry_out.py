"""A run of the engine on this machine from its request to its exit status, for people."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import Any, NamedTuple, NoReturn

from fanout.model.errors import AccessDenied, DestinationBusy
from fanout.ports.aws import Signer
from fanout.request.course import Mode
from fanout.runtime.bootstrap import prepare_processes
from fanout.runtime.embedded.engine import Engine
from fanout.runtime.embedded.machine import parts_of_machine
from fanout.work.processes.crew import begin_crew, find_crew
from fanout_cli.command_error import EXIT_INTERRUPTED, CommandError
from fanout_cli.here.ends import is_s3, refuse_ledger_in_ends
from fanout_cli.here.ledger import HereLedger
from fanout_cli.here.not_here import say_not_here
from fanout_cli.here.progress import shown_progress
from fanout_cli.here.result import result_here, say_end, say_stopped
from fanout_cli.here.s3 import check_answers, s3_here
from fanout_cli.here.stopping import stopped_on_request
from fanout_cli.loudness import is_quiet
from fanout_cli.runs.run_ids import check_run_id, new_run_id
from fanout_cli.terminal import Terminal

_TWICE = b"stopping; Ctrl-C again ends at once\n"
# Chosen: what is being copied has so long to become whole after a run was stopped.
_GRACE_SECONDS = 3.0


class HereOptions(NamedTuple):
    """The options of a run on this machine, without its request. ``signing_key`` is the file of a private key."""

    ledger: HereLedger
    s3_endpoint: str = ""
    name: str = ""
    json_output: bool = False
    signing_key: str = ""


def begin_processes() -> None:
    """Begin the processes that share the work, before anything here begins a thread."""
    begin_crew(prepare_processes)


def carry_out(document: Any, asked: Mapping[str, Any], word: str, options: HereOptions, console: Terminal) -> int:
    """Carry out a request; returns the exit status. Raises ``CommandError`` and ``FanoutError``.

    ``asked`` is the request that names the ends: this one, or that of the run that it resumes. ``word`` begins the name
    of a run that is given none.
    """
    ledger, run_id = options.ledger, options.name or new_run_id(word)
    ends = (asked.get("source"), asked.get("destination"))
    check_run_id(run_id)
    refuse_ledger_in_ends(ledger.at, *ends)
    begin_processes()
    in_buckets = [str(end) for end in ends if is_s3(end)]
    s3 = s3_here(options.s3_endpoint, is_used=bool(in_buckets))
    for end in in_buckets:
        check_answers(s3, end)
    ledger.check()
    signer = _signer(asked, options)

    def say(text: str) -> None:
        console.print(text, markup=False, highlight=False, soft_wrap=True)

    def failed(_state: str, error: Exception) -> None:
        if isinstance(error, DestinationBusy):
            say(f"{run_id} waits for {error.holder} (mode {error.mode}), which writes {error.held}")

    if not is_quiet():
        say(f"{run_id} runs on this machine; Ctrl-C stops it")
    ledger.sweep()
    engine, began = Engine(parts_of_machine(ledger.place, s3, signer), failed=failed), time.monotonic()

    def leave() -> NoReturn:
        say_stopped(ledger, run_id, say)
        _leave()

    try:
        with (
            stopped_by_signals(leave),
            stopped_on_request(ledger, run_id),
            shown_progress(ledger.of_run(run_id), console),
        ):
            ended = engine.run(run_id, document)
    except KeyboardInterrupt:
        leave()
    except AccessDenied as error:  # before the first state: at the ledger itself
        advice = "name a bucket that you may write; that of a stack takes only what its own functions write"
        raise CommandError(f"{ledger.name} takes no ledger ({error}); {advice}") from error
    result = result_here(ledger, run_id, ended, time.monotonic() - began)
    say_end(ledger, result, options.json_output, console, say)
    if result.mode is Mode.PLAN:
        say_not_here(say)
    crew = find_crew()
    if crew is not None:
        crew.close()
    return result.exit_status


def _signer(asked: Mapping[str, Any], options: HereOptions) -> Signer | None:
    """The signer of a run whose request asks for a certificate."""
    if not asked.get("certificate"):
        return None
    from fanout_cli.here.signing_key import KeyFileSigner

    return KeyFileSigner(options.signing_key)


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
