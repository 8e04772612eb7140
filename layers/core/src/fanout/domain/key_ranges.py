"""Cutting a flat range of keys of which only a few can be seen: probing, with bisection where most keys seem to be.

A probe shows the first keys after a path. From what it shows come an alphabet for each place of a
key and the density of keys there; the range that seems to hold the most is halved in the
middle of its unseen part, and where nothing lies beyond the middle, shrunk.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from fanout.domain.cuts import Mark

# Chosen: places of a key, after what all keys have in common, that its position is computed of.
PLACES = 12
# The last character of Unicode: sorts after every name's rest.
AFTER_ALL = "\U0010ffff"
_CLASSES = ("0123456789", "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ")

PAGE = 1000
# Probes that are made at once.
AT_ONCE = 16
# The first keys after a path, none past the range's end, and whether there may be more.
Page = tuple[Sequence[str], bool]
# A page for each of the paths, of at most so many keys.
Probe = Callable[[Sequence[str], int], Sequence[Page]]


@dataclass(slots=True)
class _Range:
    """The keys after ``after`` up to ``until``; ``seen`` are the first of them, ``whole`` if they are all."""

    after: str
    until: str
    seen: Sequence[str]
    whole: bool
    spent: bool = False


@dataclass(slots=True)
class _Alphabet:
    """The characters at each place after the first ``common`` ones, as far as they are known."""

    common: int
    places: list[set[str]] = field(default_factory=lambda: [set() for _ in range(PLACES)])
    ordered: list[list[str]] = field(default_factory=list)

    def learn(self, keys: Sequence[str]) -> None:
        """Take keys into account; digits all count once one is seen, letters from the first to the last one."""
        for key in keys:
            for place, letter in zip(self.places, key[self.common : self.common + PLACES], strict=False):
                place.add(letter)
        self.ordered = [_filled(place) for place in self.places]

    def position(self, path: str) -> int:
        """Where a path lies: each place is a digit of a base of its own. Never falls along the order of paths."""
        number = 0
        for index, letters in enumerate(self.ordered):
            letter = path[self.common + index : self.common + index + 1]
            rank = bisect_left(letters, letter) + 1 if letter else 0
            number = number * (len(letters) + 2) + rank
        return number

    def path_at(self, number: int, start: str) -> str:
        """The path of a position: ``start`` holds what all keys have in common."""
        ranks = []
        for letters in reversed(self.ordered):
            number, rank = divmod(number, len(letters) + 2)
            ranks.append(rank)
        path = start[: self.common]
        for letters, rank in zip(self.ordered, reversed(ranks), strict=True):
            if rank == 0:
                break
            if rank > len(letters):
                return path + AFTER_ALL
            path += letters[rank - 1]
        return path


def _filled(place: set[str]) -> list[str]:
    filled = set(place)
    digits, *letters = _CLASSES
    if place & set(digits):
        filled |= set(digits)
    for letters_of_class in letters:
        found = sorted(place & set(letters_of_class))
        if found:
            filled |= {letter for letter in letters_of_class if found[0] <= letter <= found[-1]}
    return sorted(filled)


def marks_of_keys(probe: Probe, after: str, until: str, *, ways: int, probes: int) -> list[Mark]:
    """Marks in the keys after ``after`` up to ``until``, with estimates of what lies between them.

    No mark where at most ``PAGE`` keys are left. Uses at most about ``probes`` probes.
    """
    left = _Probes(probe, probes)
    seen, more = left.ask(after, PAGE)
    if not more or len(seen) < 2:
        return []
    common = _common_characters(left, seen, after)
    alphabet = _Alphabet(common)
    alphabet.learn(seen)
    top = _top(left, alphabet, seen)
    ranges = [_Range(after, _earlier(seen[0][:common] + top + AFTER_ALL, until), seen, whole=False)]
    while left.count > 0 and len(ranges) < 2 * ways:
        estimates = _estimates(ranges, alphabet)
        open_ones = [at for at, one in enumerate(ranges) if not (one.spent or one.whole)]
        order = sorted(open_ones, key=lambda at: -estimates[at])[: min(AT_ONCE, left.count)]
        if not _halve([ranges[at] for at in order if estimates[at] > estimates[order[0]] / 4], ranges, left, alphabet):
            break
    return _marks(sorted(ranges, key=lambda one: one.after.encode()), alphabet)


def _marks(ranges: list[_Range], alphabet: _Alphabet) -> list[Mark]:
    """A mark before each range but the first, which is cut after what was seen of it.

    A range with a gap that was not probed looks larger than it is, so none counts more than some ordinary ones.
    """
    estimates = _estimates(ranges, alphabet)
    most = 4 * _median(estimates)
    paths = [ranges[0].seen[-1], *(one.after for one in ranges[1:])]
    return [Mark(path, min(most, estimate)) for path, estimate in zip(paths, estimates, strict=True)]


class _Probes:
    """A probe that counts down."""

    def __init__(self, probe: Probe, count: int) -> None:
        self._probe = probe
        self.count = count

    def ask(self, after: str, keys: int) -> Page:
        """The first keys after a path, and whether there may be more."""
        return self.ask_all([after], keys)[0]

    def ask_all(self, after: Sequence[str], keys: int) -> Sequence[Page]:
        """The same for several paths at once."""
        self.count -= len(after)
        return self._probe(after, keys)


def _common_characters(probes: _Probes, seen: Sequence[str], after: str) -> int:
    """How many characters all keys of the range have in common: bisection over the first key's length."""
    first = seen[0]
    low, high = 0, len(_common(first, seen[-1]))
    while low < high and probes.count > 0:
        middle = (low + high + 1) // 2
        beyond = first[:middle] + AFTER_ALL
        found, _ = probes.ask(_later(beyond, after), 1)
        low, high = (low, middle - 1) if found else (middle, high)
    return low


def _top(probes: _Probes, alphabet: _Alphabet, seen: Sequence[str]) -> str:
    """The largest character at the first place where keys differ."""
    start, place = seen[0][: alphabet.common], alphabet.common
    top = seen[-1][place : place + 1] or "\0"
    low, high = ord(top), 0x10FFFF
    while low < high and probes.count > 0:
        middle = min(0x7F, high - 1) if low < 0x7F < high and high > 0x7F else (low + high) // 2
        if 0xD800 <= middle <= 0xDFFF:
            middle = 0xD7FF if low < 0xD7FF else 0xE000 if high > 0xE000 else high - 1
        found, _ = probes.ask(start + chr(middle) + AFTER_ALL, 1)
        if found:
            alphabet.learn(found)
            low = max(middle + 1, ord(found[-1][place : place + 1] or "\0"))
        else:
            high = middle
    return chr(min(low, 0x10FFFF)) if not 0xD800 <= low <= 0xDFFF else AFTER_ALL


def _halve(wide: list[_Range], ranges: list[_Range], probes: _Probes, alphabet: _Alphabet) -> bool:
    """Cut ranges in the middle of what is not seen of them; false where none has a path between."""
    middles = [(one, _middle(one, alphabet)) for one in wide]
    for one, middle in middles:
        one.spent = not middle
    between = [(one, middle) for one, middle in middles if middle]
    if not between:
        return bool(wide)
    for (one, middle), (found, more) in zip(between, probes.ask_all([path for _, path in between], PAGE), strict=True):
        end = one.until.encode()
        inside = [key for key in found if key.encode() <= end]
        alphabet.learn(inside)
        until, one.until = one.until, middle
        if inside:
            ranges.append(_Range(middle, until, inside, whole=not more or len(inside) < len(found)))
    return True


def _middle(one: _Range, alphabet: _Alphabet) -> str:
    low, high = alphabet.position(one.seen[-1]), alphabet.position(one.until)
    middle = alphabet.path_at((low + high) // 2, one.seen[-1])
    return middle if one.seen[-1].encode() < middle.encode() < one.until.encode() else ""


def _median(values: list[float]) -> float:
    """The middle value. The module ``statistics``, which has it, brings a dozen others to every cold start."""
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def _estimates(ranges: list[_Range], alphabet: _Alphabet) -> list[float]:
    """About how many keys each range holds: its width times the density of what was seen of it.

    A gap in what was seen makes a range look emptier than it is, so the ordinary density counts where it is more.
    """
    spans = [(alphabet.position(one.seen[0]), alphabet.position(one.seen[-1])) for one in ranges]
    densities = [len(one.seen) / max(1, last - first) for one, (first, last) in zip(ranges, spans, strict=True)]
    ordinary = _median(densities)
    return [
        float(len(one.seen))
        if one.whole
        else max(len(one.seen), (alphabet.position(one.until) - first) * max(density, ordinary))
        for one, (first, _), density in zip(ranges, spans, densities, strict=True)
    ]


def _common(first: str, second: str) -> str:
    length = next((i for i, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), None)
    return first[:length] if length is not None else min(first, second, key=len)


def _earlier(one: str, other: str) -> str:
    return one if not other or one.encode() < other.encode() else other


def _later(one: str, other: str) -> str:
    return one if one.encode() > other.encode() else other
