"""Cuts a flat range of keys by probing: reads a few keys where most keys seem to be.

A probe shows the first keys after a path. The keys that probes show give an alphabet for each place of a key and
the density of keys there. The fullest ranges are cut into equal parts of their unseen rest, as many as are probed
at once. If no key lies beyond a cut, the range shrinks. The last cuts of a range use its estimate and no request.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence

from msgspec import Struct, field

from fanout.adapters.cuts.cuts import Mark
from fanout.facts import tuning

# Chosen: the number of places after the common prefix that a key's position is computed from.
PLACES = 12
# The last character of Unicode: sorts after every name's rest.
AFTER_ALL = "\U0010ffff"
_LAST, _LAST_OF_ASCII = ord(AFTER_ALL), 0x7F
# Between these two no number is a character of a key.
_BEFORE_SURROGATES, _AFTER_SURROGATES = 0xD7FF, 0xE000
_CLASSES = ("0123456789", "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ")

PAGE = 1000
# Chosen: keys in one probe. Each costs time on both sides; some hundreds show the density of keys.
SAMPLE = 300
# Chosen: parts into which one range is cut at once; with more, most parts of an uneven range would be empty.
_PARTS = 16
# Chosen: marks for each wanted piece; pieces then differ in size by a fraction of that.
_MARKS_A_PIECE = 4
# Chosen: a range with over so many times the ordinary count is cut again; without probes left, it is capped.
_MOST_MEDIANS = 4
# The first keys after a path, none past the range's end, and whether there may be more.
Page = tuple[Sequence[str], bool]
# Returns a page for each path, of at most so many keys.
Probe = Callable[[Sequence[str], int], Sequence[Page]]


class _KeyRange(Struct):
    """The keys after ``after`` up to ``until``; ``seen`` are the first of them, ``whole`` if that is all."""

    after: str
    until: str
    seen: Sequence[str]
    whole: bool
    spent: bool = False


class _Alphabet(Struct):
    """The known characters at each place after the first ``common`` ones."""

    common: int
    places: list[set[str]] = field(default_factory=lambda: [set() for _ in range(PLACES)])
    ordered: list[list[str]] = field(default_factory=list)

    def learn(self, keys: Sequence[str]) -> None:
        """Add the characters of keys; one digit adds all digits, a letter those up to any place's range."""
        for key in keys:
            for place, letter in zip(self.places, key[self.common : self.common + PLACES], strict=False):
                place.add(letter)
        everywhere = set[str]().union(*self.places)
        self.ordered = [_filled(place, everywhere) for place in self.places]

    def position(self, path: str) -> int:
        """The position of a path, with a separate base for each place.

        Positions never fall along the order of paths.
        """
        number = 0
        for index, letters in enumerate(self.ordered):
            letter = path[self.common + index : self.common + index + 1]
            rank = bisect_left(letters, letter) + 1 if letter else 0
            number = number * (len(letters) + 2) + rank
        return number

    def path_at(self, number: int, start: str) -> str:
        """The path at a position; ``start`` holds the common prefix of all keys."""
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


def _filled(place: set[str], everywhere: set[str]) -> list[str]:
    """The characters of a place; where a letter is not always the same one, all between those of any place."""
    filled = set(place)
    digits, *letters = _CLASSES
    if place & set(digits):
        filled |= set(digits)
    for letters_of_class in letters:
        if len(place & set(letters_of_class)) > 1:
            found = sorted(everywhere & set(letters_of_class))
            filled |= {letter for letter in letters_of_class if found[0] <= letter <= found[-1]}
    return sorted(filled)


def marks_of_keys(
    probe: Probe, after: str, until: str, *, ways: int, probes: int, first: Page | None = None
) -> list[Mark]:
    """Marks in the keys after ``after`` up to ``until``, with estimates of what lies between them.

    No mark where at most ``PAGE`` keys are left. Uses at most about ``probes`` probes; ``first`` is the page after
    ``after``, where it is known.
    """
    left = _Probes(probe, probes)
    seen, more = first or left.ask_all([after], PAGE)[0]
    if not more or len(seen) < 2:
        return []
    alphabet = _Alphabet(_common_characters(left, seen, after))
    alphabet.learn(seen)
    top = _top(left, alphabet, seen)
    until = _earlier(seen[0][: alphabet.common] + top + AFTER_ALL, until)
    ranges = [_KeyRange(after, until, seen, whole=False)]
    while left.count > 0 and len(ranges) < 2 * ways:
        estimates = _estimates(ranges, alphabet)
        if len(ranges) >= ways and max(estimates) <= _MOST_MEDIANS * _median(estimates):
            break
        open_ones = [at for at, one in enumerate(ranges) if not (one.spent or one.whole)]
        order = sorted(open_ones, key=lambda at: -estimates[at])[: min(tuning.CUT_PROBES_AT_ONCE, left.count)]
        if not _cut([ranges[at] for at in order if estimates[at] > estimates[order[0]] / 4], ranges, left, alphabet):
            break
    return _marks(sorted(ranges, key=lambda one: one.after.encode()), alphabet, ways)


def _marks(ranges: list[_KeyRange], alphabet: _Alphabet, ways: int) -> list[Mark]:
    """Marks between the keys that were seen of the first range, a mark before each other one, and some inside each.

    A range with a gap that was not probed looks larger than it is, so none counts more than some ordinary ones.
    """
    estimates = _estimates(ranges, alphabet)
    most = _MOST_MEDIANS * _median(estimates)
    first = ranges[0].seen
    estimates[0] -= len(first)
    estimates = [min(most, estimate) for estimate in estimates]
    share = sum(estimates) / (_MARKS_A_PIECE * ways)
    step = -(-len(first) // (_MARKS_A_PIECE * ways))
    marks = [Mark(first[at], float(min(step, len(first) - at))) for at in range(0, len(first) - 1, step)]
    for number, (one, estimate) in enumerate(zip(ranges, estimates, strict=True)):
        begin = one.after if number else one.seen[-1]
        parts = round(estimate / share) if share else 0
        inside = [] if one.whole else _between(one, alphabet, min(_MARKS_A_PIECE * ways, parts))
        paths = [begin, *inside]
        marks += [Mark(path, estimate / len(paths)) for path in paths]
    return marks


class _Probes:
    """Sends probes and counts down those that are left."""

    def __init__(self, probe: Probe, count: int) -> None:
        self._probe = probe
        self.count = count

    def ask_all(self, after: Sequence[str], keys: int) -> Sequence[Page]:
        """Return a page for each path: the first keys after it, and whether there may be more."""
        self.count -= len(after)
        return self._probe(after, keys)


def _common_characters(probes: _Probes, seen: Sequence[str], after: str) -> int:
    """The length of the common prefix of all keys in the range, proved by a probe beyond that prefix."""
    first = seen[0]
    low, high = 0, len(_common(first, seen[-1]))
    while low < high and probes.count > 0:
        lengths = _spread(low, high, probes)
        found = probes.ask_all([_later(first[:length] + AFTER_ALL, after) for length in lengths], 1)
        low = max([low, *(length for length, (beyond, _) in zip(lengths, found, strict=True) if not beyond)])
        high = min([high, *(length - 1 for length, (beyond, _) in zip(lengths, found, strict=True) if beyond)])
    return low


def _top(probes: _Probes, alphabet: _Alphabet, seen: Sequence[str]) -> str:
    """The largest character at the first place where keys differ, found by probes; ASCII is tried first."""
    start, place = seen[0][: alphabet.common], alphabet.common
    low, high = ord(seen[-1][place : place + 1] or "\0"), _LAST
    while low < high and probes.count > 0:
        end = _LAST_OF_ASCII if low < _LAST_OF_ASCII < high else high - 1
        spread = _spread(low - 1, end, probes)
        tried = [one if one >= _AFTER_SURROGATES else min(one, _BEFORE_SURROGATES) for one in spread]
        found = probes.ask_all([start + chr(one) + AFTER_ALL for one in tried], 1)
        for one, (beyond, _) in zip(tried, found, strict=True):
            if beyond:
                alphabet.learn(beyond)
                low = max(low, one + 1, ord(beyond[-1][place : place + 1] or "\0"))
                low = low if low <= _BEFORE_SURROGATES else max(low, _AFTER_SURROGATES)
            else:
                high = min(high, one)
    return chr(low)


def _spread(low: int, high: int, probes: _Probes) -> list[int]:
    """Evenly spaced numbers after ``low`` up to ``high``; all of them, or as many as can be probed at once."""
    count = min(tuning.CUT_PROBES_AT_ONCE, probes.count, high - low)
    return [low + (high - low) * number // count for number in range(1, count + 1)]


def _cut(wide: list[_KeyRange], ranges: list[_KeyRange], probes: _Probes, alphabet: _Alphabet) -> bool:
    """Cut the unseen rest of ranges into equal parts; false if no range has a path to cut at."""
    parts = min(_PARTS, 1 + max(1, min(tuning.CUT_PROBES_AT_ONCE, probes.count) // max(1, len(wide))))
    cuts = [_between(one, alphabet, parts) for one in wide]
    for one, paths in zip(wide, cuts, strict=True):
        one.spent = not paths
    pages = iter(probes.ask_all([path for paths in cuts for path in paths], SAMPLE) if any(cuts) else ())
    for one, paths in zip(wide, cuts, strict=True):
        ends = [*paths[1:], one.until]
        one.until = paths[0] if paths else one.until
        for path, until, (found, more) in zip(paths, ends, pages, strict=False):
            end = until.encode()
            inside = [key for key in found if key.encode() <= end]
            alphabet.learn(inside)
            if inside:
                ranges.append(_KeyRange(path, until, inside, whole=not more or len(inside) < len(found)))
    return bool(wide)


def _between(one: _KeyRange, alphabet: _Alphabet, parts: int) -> list[str]:
    """Paths that cut the unseen rest of a range into equal parts; fewer if paths cannot lie that close."""
    low, high = alphabet.position(one.seen[-1]), alphabet.position(one.until)
    last, end = one.seen[-1].encode(), one.until.encode()
    paths = []
    for number in range(1, parts):
        path = alphabet.path_at(low + (high - low) * number // parts, one.seen[-1])
        if last < path.encode() < end:
            paths.append(path)
            last = path.encode()
    return paths


def _median(values: list[float]) -> float:
    """The middle value. Importing ``statistics`` for it would load a dozen modules at every cold start."""
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def _estimates(ranges: list[_KeyRange], alphabet: _Alphabet) -> list[float]:
    """Estimate how many keys each range holds: its width times the density of the keys seen in it.

    A gap among the seen keys makes a range look emptier than it is, so the ordinary density is the minimum.
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
