"""The S3 between client and server that lies when the conductor says so."""

from __future__ import annotations

from tests.adversary.conductor import Attempt, Conductor
from tests.adversary.lies import LIES, MIXED, SHOWN, Said, Teller
from tests.adversary.s3_words import Answer, Request, Stored
from tests.adversary.script import Fault
from tests.adversary.strict_s3 import StrictS3


class LyingS3:
    """Answers as ``StrictS3`` does, unless the conductor has a lie for the request."""

    def __init__(self, truth: StrictS3, conductor: Conductor, trusted: str) -> None:
        """``trusted`` is the bucket of which no answer is swapped: nothing in a ledger says what it should hold."""
        self.truth, self._conductor, self._trusted = truth, conductor, trusted
        self._before: list[tuple[Request, Answer]] = []
        self._served_so_far = 0
        self.older: dict[tuple[str, str], list[Stored]] = {}

    def say(self, request: Request) -> Said:
        """What the client hears."""
        passed = self._conductor.before(f"s3:{request.operation}", lambda: "/".join(request.path))
        lie = self._lie(request, *passed) if passed else None
        if lie is None or passed is None:
            said = Said(self._served(request).to_bytes())
        else:
            older = self.older.get(request.path, [])
            teller = Teller(
                request, lambda: self._served(teller.request), self._before, older, self._etag(request), lie.seed
            )
            truth = self._served_so_far
            said = LIES[lie.what](teller)
            same = self._served_so_far > truth and self._before[-1][1].to_bytes() == said.data and not said.end
            if same and teller.request == request:
                passed[0].run.waiting.append(lie)
            else:
                self._conductor.told[lie.what] += 1
        self._conductor.after(passed)
        return said

    def _lie(self, request: Request, attempt: Attempt, due: list[Fault]) -> Fault | None:
        """The lie to tell: one that is due, or one that waits for a request of this kind."""
        waiting = attempt.run.waiting
        for fault in [one for one in due if one.what in LIES] + [*waiting]:
            if fault not in due and not fault.kind.endswith(f"s3:{request.operation}") and fault.kind != "any":
                continue
            mixes = fault.what in MIXED and (request.path[0] == self._trusted or request.operation not in SHOWN)
            if mixes and fault not in waiting:
                waiting.append(fault)
            if mixes:
                continue
            if fault in waiting:
                waiting.remove(fault)
            return fault
        return None

    def _etag(self, request: Request) -> str:
        bucket, key = request.path
        stored = self.truth.buckets.get(bucket, {}).get(key)
        return stored.etag if stored else "none"

    def _served(self, request: Request) -> Answer:
        path = request.path
        there = self.truth.buckets.get(path[0], {}).get(path[1])
        answer = self.truth.answer(request)
        if there is not None and self.truth.buckets[path[0]].get(path[1]) is not there:
            self.older.setdefault(path, []).append(there)
        self._served_so_far += 1
        self._before = [*self._before[-30:], (request, answer)]
        return answer
