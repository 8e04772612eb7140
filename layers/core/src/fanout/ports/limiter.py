"""The port that holds work to the rates of the run."""

from __future__ import annotations

from abc import ABC, abstractmethod

from fanout.model.deadline import Deadline
from fanout.model.errors import TimeUp


class Limiter(ABC):
    """Holds work back. It tells the caller when to ask again, so that no caller waits inside it."""

    @abstractmethod
    def ask(self, size: int, ticket: object) -> float:
        """0 where so many bytes may be moved now, else the seconds to wait; the tickets that came first go first."""

    @abstractmethod
    def leave(self, ticket: object, *, cut_off: bool) -> None:
        """A ticket asks no more; ``cut_off`` where it was out of time before it might move anything."""

    @abstractmethod
    def ask_to_begin(self, files: int, size: int) -> float:
        """As ``ask``, for so many entries and bytes that are to be begun. Tickets that wait go first."""

    @abstractmethod
    def sleep(self, seconds: float) -> None:
        """Wait."""

    def read(self, size: int, deadline: Deadline) -> None:
        """Wait until so many bytes may be moved. Raises ``TimeUp``."""
        ticket = object()
        is_cut_off = False
        try:
            while pause := self.ask(size, ticket):
                if deadline.passed:
                    is_cut_off = True
                    raise TimeUp
                self.sleep(pause)
        finally:
            self.leave(ticket, cut_off=is_cut_off)

    def admit(self, deadline: Deadline, files: int = 1, size: int = 0) -> bool:
        """Wait until so many entries and bytes may be begun; whether there is time."""
        while pause := self.ask_to_begin(files, size):
            if deadline.passed:
                return False
            self.sleep(pause)
        return True


class TaskLimiter(Limiter):
    """The limiter of a whole task."""

    @abstractmethod
    def holds(self) -> bool:
        """Whether anything is held back now."""

    @abstractmethod
    def cut_off(self, size: int) -> bool:
        """Whether work was out of time because it was held back, and a task with the whole rate could do so many bytes.

        Such work is handed back to another task and has not failed.
        """

    @abstractmethod
    def end(self) -> None:
        """The task is over."""


class NoLimits(TaskLimiter):
    """A limiter that holds nothing back."""

    def ask(self, size: int, ticket: object) -> float:
        return 0.0

    def leave(self, ticket: object, *, cut_off: bool) -> None:
        pass

    def ask_to_begin(self, files: int, size: int) -> float:
        return 0.0

    def sleep(self, seconds: float) -> None:
        pass

    def holds(self) -> bool:
        return False

    def cut_off(self, size: int) -> bool:
        return False

    def end(self) -> None:
        pass


NO_LIMITS = NoLimits()
