"""The S3 between client and server that lies when the conductor says so."""

from __future__ import annotations

from tests.adversary.conductor import Conductor
from tests.adversary.lies import LIES, Said, Teller
from tests.adversary.s3_words import Answer, Request, Stored
from tests.adversary.script import Fault
from tests.adversary.strict_s3 import StrictS3


class LyingS3:
    """Answers as ``StrictS3`` does, unless the conductor has a lie for the request."""

    def __init__(self, truth: StrictS3, conductor: Conductor, trusted: str) -> None:
        """``trusted`` is the bucket of which no answer is swapped: nothing in a ledger says what it should hold."""
        self.truth, self._conductor, self._trusted = truth, conductor, trusted
        self._before: list[tuple[Request, Answer]] = []
        self.older: dict[tuple[str, str], list[Stored]] = {}

    def say(self, request: Request) -> Said:
        """What the client hears."""
        passed = self._conductor.before(f"s3:{request.operation}", lambda: "/".join(request.path))
        lie = self._lie(request, passed[1] if passed else [])
        if lie is None:
            said = Said(self._served(request).to_bytes())
        else:
            older = self.older.get(request.path, [])
            teller = Teller(request, lambda: self._served(teller.request), self._before, older, lie.seed)
            truth = len(self._before)
            said = LIES[lie.what](teller)
            honest = len(self._before) > truth and self._before[-1][1].to_bytes() == said.data and not said.end
            if not honest:
                self._conductor.told[lie.what] += 1
        self._conductor.after(passed)
        return said

    def _lie(self, request: Request, due: list[Fault]) -> Fault | None:
        for fault in due:
            if fault.what not in LIES:
                continue
            mixes = fault.what in ("S3: another's answer", "S3: stray answer", "S3: doubled answer", "S3: stale read")
            if mixes and request.path[0] == self._trusted:
                continue
            if fault.what == "S3: another's answer" and request.method not in ("GET", "HEAD"):
                continue
            return fault
        return None

    def _served(self, request: Request) -> Answer:
        path = request.path
        there = self.truth.buckets.get(path[0], {}).get(path[1])
        answer = self.truth.answer(request)
        if there is not None and self.truth.buckets[path[0]].get(path[1]) is not there:
            self.older.setdefault(path, []).append(there)
        self._before = [*self._before[-30:], (request, answer)]
        return answer
