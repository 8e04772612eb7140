"""What a copy pays the limiter, and when: an object that comes in one answer is paid for before it is asked for."""

from __future__ import annotations

from fanout.copying.copier import Copier
from fanout.facts import tuning
from fanout.model.deadline import NEVER
from fanout.model.entry import Entry, Kind
from fanout.model.outcome import Result
from fanout.ports.limiter import NoLimits
from tests.support.memory import MemoryTree

SMALL, LARGE = 100, tuning.BLOCK_BYTES_FREE + 1


class BlockTree(MemoryTree):
    """A tree whose small entries wait for answers."""

    @property
    def overlaps(self) -> bool:
        """See ``ports.tree.Tree``."""
        return True


class Counting(NoLimits):
    """Notes what is asked for."""

    def __init__(self) -> None:
        self.begun: list[int] = []
        self.read_bytes: list[int] = []

    def ask(self, size: int, ticket: object) -> float:
        """See ``Limiter``."""
        self.read_bytes.append(size)
        return 0.0

    def ask_to_begin(self, files: int, size: int) -> float:
        """See ``Limiter``."""
        self.begun.append(size)
        return 0.0


def filled(tree: MemoryTree, sizes: list[int]) -> list[tuple[int, Entry]]:
    return [(number, tree.put(f"f{number}", Kind.FILE, bytes(size))) for number, size in enumerate(sizes)]


def test_an_object_of_one_answer_is_paid_for_before_it_is_begun() -> None:
    source, limiter = BlockTree(), Counting()
    work = filled(source, [SMALL, SMALL, LARGE, SMALL])
    outcomes = dict(Copier(source, MemoryTree(), NEVER, limiter=limiter).copy_all(work, 1))
    assert {outcome.result for outcome in outcomes.values()} == {Result.COPIED} and len(outcomes) == 4
    assert limiter.begun == [SMALL, SMALL, LARGE, SMALL] and limiter.read_bytes == []


def test_an_object_of_many_answers_is_paid_for_one_by_one() -> None:
    source, limiter = BlockTree(), Counting()
    work = filled(source, [tuning.BLOCK_BYTES + 1])
    copier = Copier(source, MemoryTree(), NEVER, limiter=limiter, block_bytes=tuning.BLOCK_BYTES)
    assert len(list(copier.copy_all(work, 1))) == 1
    assert limiter.begun == [0] and limiter.read_bytes == [tuning.BLOCK_BYTES, 1]
