"""The share of each function in a rate that holds over all of them.

Each function notes when it begins and ends, and reads the notes of the others from time to time. Its entitlement is its
share over the time that it has worked, with hindsight. If it learns late that another one began, it has used too much
and waits. If it learns late that one ended, it may catch up. The sum over all functions therefore follows the rate,
however late each of them looks.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from msgspec import Struct


class Presence(Struct, frozen=True, order=True):
    """A function at work, by the time of its begin and its name; ``ended`` is ``inf`` while it works. Seconds."""

    began: float
    name: str
    ended: float = inf


def entitled(
    rate: float, present: Sequence[Presence], me: Presence, since: float, until: float, most: float = inf
) -> float:
    """The amount of ``rate`` (a second) that falls to ``me`` between two times.

    At most ``most`` functions, those that began first, share it; the others get nothing.
    """
    changes: list[tuple[float, int, int]] = [(until, 0, 0)]
    for one in present:
        begins, ends = max(since, one.began), min(until, one.ended)
        if one.name != me.name and begins < ends:
            earlier = int(one < me)
            changes += [(begins, 1, earlier), (ends, -1, -earlier)]
    begins, ends = max(since, me.began), min(until, me.ended)
    total, at, others, before = 0.0, since, 0, 0
    for time, change, change_before in sorted(changes):
        seconds = min(time, ends) - max(at, begins)
        if seconds > 0 and before < most:
            total += rate * seconds / min(others + 1, most)
        at, others, before = time, others + change, before + change_before
    return total


class Bucket:
    """The amount that a function may still use of a rate. Pure but for its own state; times are arguments.

    ``most`` is how many functions share the rate. An amount not used within ``keep_seconds`` is lost.
    """

    def __init__(self, me: Presence, rate: float, since: float, most: float = inf, keep_seconds: float = 5.0) -> None:
        self._me, self.rate, self.most, self._keep = me, rate, most, keep_seconds
        self._settled_at, self._settled = since, 0.0  # up to then what the others did is known for good
        self._used = 0.0  # since then
        self._learned_at, self._learned = since, 0.0  # what this function is entitled to from then on
        self._share = rate
        self.learn((me,), since, inf)

    def level(self, now: float) -> float:
        """The amount that may be used now; below 0 after overuse."""
        return self._settled + self._learned + self._share * max(0.0, now - self._learned_at) - self._used

    def learn(self, present: Sequence[Presence], now: float, hindsight_seconds: float) -> None:
        """Take what the others noted; what they did before ``hindsight_seconds`` ago is settled."""
        settled_at = max(self._settled_at, now - hindsight_seconds)
        self._settled += entitled(self.rate, present, self._me, self._settled_at, settled_at, self.most)
        self._learned = entitled(self.rate, present, self._me, settled_at, now, self.most)
        self._settled_at, self._learned_at = settled_at, now
        self._share = self._share_at(present, now)
        self._present = present

    def change(self, rate: float, most: float, now: float) -> None:
        """Another rate from now on."""
        self._settled, self._settled_at, self._learned = self.level(now) + self._used, now, 0.0
        self.rate, self.most, self._learned_at = rate, most, now
        self._share = self._share_at(self._present, now)

    def take(self, amount: float, now: float) -> bool:
        """Use so much, if all of it may be used; what lay unused for too long is lost first."""
        self._used += max(0.0, self.level(now) - max(amount, self._share * self._keep))
        if self.level(now) < amount - 1e-6:
            return False
        self._used += amount
        return True

    def seconds_until(self, amount: float, now: float) -> float:
        """How long until so much may be used, as it looks now."""
        lacking = amount - self.level(now)
        return 0.0 if lacking <= 1e-6 else lacking / self._share if self._share > 0 else inf

    def _share_at(self, present: Sequence[Presence], now: float) -> float:
        return entitled(self.rate, present, self._me, now, now + 1.0, self.most)
