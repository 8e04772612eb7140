"""A task works for a run that PlanTransfer planned, and that has not ended.

| the run            | what shows it                                              | then             |
|--------------------|------------------------------------------------------------|------------------|
| was never planned  | plan.json, which only PlanTransfer may write, is missing   | ``LedgerBroken`` |
| is another one     | plan.json names another run                                | ``LedgerBroken`` |
| has ended          | summary.json is there, of a run that was not skipped       | ``InvalidRequest`` |
| has no such step   | plan.json, and the tables of ``belongs``                   | ``InvalidRequest`` |
| is not as far      | plan.json and fencing/finished.json (``belongs``)          | ``InvalidRequest`` |
| lost its turn      | the lists of writers in ``locks/``: a later run took it    | ``Superseded``   |

All are looked for while the task begins to read, so that nothing waits for it: a tree is opened, and the ledger is
written, only once it is known. A run that was stopped leaves no summary; its functions may go on until a later run
takes its turn.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

from msgspec.structs import replace

from fanout.flow.belongs import AFTER_FINISH, PARTS, TURNS, check_course, check_finished, check_part, check_turn
from fanout.ledger import keys
from fanout.ledger.ledger import Ledger
from fanout.model.document import Json
from fanout.model.errors import InvalidRequest, LedgerBroken, NotFound, Superseded
from fanout.ports.checksum_jobs import ChecksumJobs
from fanout.ports.s3_services import ObjectArchive, S3Services
from fanout.ports.store import WorkStore
from fanout.request.plan import Plan
from fanout.work.context import Context, EndPorts

T = TypeVar("T")
MISSING = "is missing: no execution of this name was planned"


# The record that an attempt began is written while the task reads; nothing else is written before it.
_MEANWHILE = "/attempts/"


@contextmanager
def of_a_run_at_work(event: Json, context: Context) -> Iterator[Context]:
    """The context of a task, which opens a tree, writes, or asks S3, only of a run that is planned and has not ended.

    The run has this step, wrote the part that the event names, and has its turn (``flow.belongs``).

    Raises ``LedgerBroken``, ``InvalidRequest`` or ``Superseded`` before that, and at the end at the latest.
    """
    ledger, step = context.ledger, event["step"]
    if ledger.is_kept:
        _check_kept(event, context)
        yield context
        return
    with ThreadPoolExecutor(6, thread_name_prefix="own") as pool:
        plan = pool.submit(_found, ledger, keys.PLAN)
        ended = pool.submit(_has_ended, ledger)
        part = pool.submit(check_part, event, ledger) if step in PARTS else None
        notes: list[Future[None]] = []
        passed = threading.Event()

        def is_at_work() -> None:
            if passed.is_set():
                return
            if plan.result() is None:
                raise ledger.broken(keys.PLAN, MISSING)
            if ended.result():
                raise _ended(ledger)
            check_course(step, held.read_plan())
            if part is not None:
                part.result()
            if turn is not None:
                turn.result()
            if finished is not None:
                finished.result()

        def check() -> None:
            is_at_work()
            for one in notes:
                one.result()
            passed.set()

        def note(write: Callable[[], None]) -> None:
            def noted() -> None:
                is_at_work()
                write()

            if passed.is_set():
                write()
            else:
                notes.append(pool.submit(noted))

        held = ledger.of_store(lambda store: HeldStore(store, check, note, (ledger.prefix + keys.PLAN, plan)))
        turn = pool.submit(check_turn, step, held, context.turns) if step in TURNS else None
        finished = pool.submit(check_finished, event, held) if step in AFTER_FINISH else None
        try:
            yield replace(context, ledger=held, ends=_held_ends(context.ends, check))
        except (LedgerBroken, Superseded):
            is_at_work()  # one that is not has no documents, and no right to write
            raise
        check()


def _check_kept(event: Json, context: Context) -> None:
    """The same of a ledger that this process keeps: its listing says what is there."""
    ledger = context.ledger
    ledger.look_ahead()
    if not ledger.has(keys.PLAN):
        raise ledger.broken(keys.PLAN, MISSING)
    if _has_ended(ledger):
        raise _ended(ledger)
    check_course(event["step"], ledger.read_plan())
    check_part(event, ledger)
    check_finished(event, ledger)
    check_turn(event["step"], ledger, context.turns)


def _held_ends(ends: EndPorts, check: Callable[[], None]) -> EndPorts:
    """The ends, of which nothing is opened before a check has passed."""
    return replace(
        ends,
        source=_after(check, ends.source),
        destination=_after(check, ends.destination),
        copier=_after(check, ends.copier),
        s3_services=HeldServices(ends.s3_services, check),
    )


def _after(check: Callable[[], None], make: Callable[..., T]) -> Callable[..., T]:
    def made(*given: object) -> T:
        check()
        return make(*given)

    return made


def _found(ledger: Ledger, key: str) -> bytes | None:
    try:
        return ledger.read_bytes(key)
    except NotFound:
        return None


def _has_ended(ledger: Ledger) -> bool:
    """Whether the run has its summary; one of a run that was skipped does not count: its plan's turn may come yet."""
    summary = ledger.of_run(ledger.run_id).find_json(keys.SUMMARY)
    if summary is None:
        return False
    from fanout.books.summary_document import Status  # a run at work does not need it

    return bool(summary.get("status") != Status.SKIPPED.value)


def _ended(ledger: Ledger) -> InvalidRequest:
    return InvalidRequest("run", f"{ledger.run_id} has ended: it has its {keys.SUMMARY}", "start another run")


class HeldServices(S3Services):
    """The services of S3, which begin nothing before a check has passed."""

    def __init__(self, services: S3Services, check: Callable[[], None]) -> None:
        self._services, self._check = services, check

    def archive(self, plan: Plan) -> ObjectArchive | None:
        self._check()
        return self._services.archive(plan)

    def checksum_jobs(self, plan: Plan) -> ChecksumJobs | None:
        self._check()
        return self._services.checksum_jobs(plan)


class HeldStore:
    """A ``WorkStore`` that writes once a check has passed; reads do not wait, and the plan is read once.

    ``note`` writes meanwhile, before ``check`` passes again. ``plan`` is the key of the plan, and its bytes.
    """

    def __init__(
        self,
        store: WorkStore,
        check: Callable[[], None],
        note: Callable[[Callable[[], None]], None],
        plan: tuple[str, Future[bytes | None]],
    ) -> None:
        self._store, self._check, self._note = store, check, note
        self._key, self._plan = plan

    def __reduce__(self) -> tuple[Callable[[WorkStore], WorkStore], tuple[WorkStore]]:
        """In another process the store itself: the task that begins one has been checked."""
        return _itself, (self._store,)

    def put(self, key: str, data: bytes) -> None:
        if _MEANWHILE in key:
            self._note(lambda: self._store.put(key, data))
            return
        self._check()
        self._store.put(key, data)

    def put_new(self, key: str, data: bytes) -> bool:
        self._check()
        return self._store.put_new(key, data)

    def remove(self, keys: Sequence[str]) -> None:
        self._check()
        self._store.remove(keys)

    def get(self, key: str) -> bytes:
        found = self._plan.result() if key == self._key else None
        return self._store.get(key) if found is None else found

    def list(self, prefix: str) -> Iterator[str]:
        return self._store.list(prefix)


def _itself(store: WorkStore) -> WorkStore:
    return store
