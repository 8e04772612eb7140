"""Comparing one entry at both ends: by checksum and, where the request asks for it, by what else it carries."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from contextlib import closing

from msgspec import Struct
from msgspec.structs import replace

from fanout.certificate.certified import Proof
from fanout.certificate.content_digest import ContentDigest
from fanout.facts import tuning
from fanout.facts.holdings import Direction
from fanout.listing.deciding.unread import unread
from fanout.model.checksum import CRC64NVME, RunningSums, Sums, from_base64, to_base64
from fanout.model.deadline import Deadline
from fanout.model.entry import Attributes, Entry, Found, Kind
from fanout.model.entry_outcome import Outcome
from fanout.model.errors import AccessDenied, ItemError, TimeUp, problem_of
from fanout.model.outcome import Reason, Result
from fanout.ports.limiter import NO_LIMITS, Limiter
from fanout.ports.tree import ReadTree
from fanout.shards.found_sums import entry_digest, with_digests
from fanout.verifying.differences import ATTRIBUTE_REASONS, Rules, ValueDifference, differences, lacks_attributes
from fanout.verifying.moved import pin_of_copy
from fanout.verifying.not_holdable import let_go, not_holdable
from fanout.verifying.sums.seen import Seen, UnreadEnd, content_difference, shared
from fanout.verifying.tags import MovedTags

# An entry to compare, the look at it at the source, and the result where the destination holds the same.
ToCompare = tuple[Entry, Callable[[], UnreadEnd], Result]


class ComparedEntry(Struct, frozen=True):
    """The outcome of comparing an entry, with its digests at both ends.

    ``is_told_whole`` is false where the source does not tell all that was to be compared, ``has_names`` true
    for a name of a file with several at the source. ``proof`` is what a certificate needs, ``None`` without one and for
    what is not equal. ``copy`` pins what was compared at the destination; empty where nothing was found. ``source`` are
    the attributes that were compared at the source.
    """

    outcome: Outcome
    is_told_whole: bool = True
    has_names: bool = False
    proof: Proof | None = None
    copy: str = ""
    source: Attributes | None = None


class Verifier:
    """Compares entries. A store's own checksum of the whole is taken at its word; else the bytes are read.

    ``rules`` say what else is compared; ``None``: names, kinds, sizes and bytes alone. ``may_lack`` is the
    source where the request leaves entries out that only a reading shows, so that the destination may lack them.
    With ``certifies`` no store is taken at its word: all bytes are read, and hashed by SHA-256 too. ``skips_symlinks``:
    the request leaves out symlinks, and of an object only its metadata tells that it is one. ``tags`` compares them
    where what is equal is deleted.
    """

    def __init__(
        self,
        destination: ReadTree,
        deadline: Deadline,
        limiter: Limiter = NO_LIMITS,
        rules: Rules | None = None,
        may_lack: ReadTree | None = None,
        *,
        certifies: bool = False,
        skips_symlinks: bool = False,
        left_out: Container[Reason] = (),
        tags: MovedTags | None = None,
    ) -> None:
        """``left_out`` are reasons for which an entry is left out that is failed otherwise."""
        self._left_out = left_out
        self._tags = tags
        self._skips_symlinks = skips_symlinks
        self._destination, self._limiter = destination, limiter
        self._may_lack = may_lack
        self.certifies = certifies
        self.deadline = deadline
        self.rules = rules

    def compare(
        self, entry: Entry, expected: Callable[[], UnreadEnd], result: Result, links: str = "", listed: str = ""
    ) -> ComparedEntry:
        """Compare the destination's entry with what ``expected`` looks at at the source; ``result`` if they are equal.

        ``links`` names the difference of its hard links, empty for none. ``listed`` is the ETag
        that a listing of the destination shows, empty where none was made.
        """
        here, there, found = Seen(), Seen(), None
        denied = Reason.SOURCE_DENIED
        try:
            look = expected()
            found, refusal = self._found(entry.placed.path, listed)
            here = look.against({} if self.certifies else stored_sums(found))
            if self._skips_symlinks and here.attributes is not None and here.attributes.is_symlink:
                return ComparedEntry(Outcome.because(entry, Reason.SYMLINK))
            denied = Reason.NOT_VERIFIED
            if refusal is not None:
                raise refusal
            there = self.look(self._destination, *_comparable(entry, found)).against(here.sums)
            here, there = shared(here, there)
            problem = worst(differences_of(entry, here, there, self.rules, links))
            if problem is None and self._tags is not None:
                problem = self._tags.problem(entry, here.attributes)
            if problem is None and self.certifies and not here.sha256 and entry.kind is not Kind.DIRECTORY:
                raise ItemError(Reason.NOT_VERIFIED, "its content was read without the digest that a certificate needs")
        except AccessDenied as error:
            problem = (denied, str(error))
        except Exception as error:  # noqa: BLE001 - see problem_of
            problem = (problem_of(error).reason, problem_of(error).message)
        held = None if problem is None else self._held(entry)
        if held is not None:
            return not_read(entry, held.reason, held.message)
        digest = there_digest = entry_digest(entry.path, entry.kind, entry.size, here.content)
        if problem is not None:
            size = None if found is None else found.entry.size
            there_digest = 0 if size is None else entry_digest(entry.path, entry.kind, size, there.content)
        proof = None
        if problem is None:
            outcome = Outcome.done(entry, result, here.crc64nvme or None)
            proof = proof_of(entry, here)
        else:
            outcome = Outcome.because(entry, *problem, left_out=self._left_out)
        if self.rules is not None and here.attributes is not None:
            said = said_of(entry, here.attributes, there.attributes, outcome, self.rules)
            outcome = replace(outcome, unread=tuple(said))
        known = attributes_known(entry, here, self.rules)
        outcome = with_digests(outcome, digest, there_digest)
        copy = "" if found is None else pin_of_copy(found)
        return ComparedEntry(outcome, known, bool(entry.inode), proof, copy, here.attributes)

    def notes_again(self, item: ToCompare, before: str) -> tuple[tuple[str, str], ...] | None:
        """The notes about an entry whose earlier proof holds (see ``let_go``); ``None``: it must be compared again."""
        (entry, expected, _), rules, source = item, self.rules, Attributes()
        if rules is None or not rules.deletes:
            return ()
        if self._tags is not None or rules.direction is Direction.FROM_S3:  # tags move no ETag and no time
            try:
                found = expected().seen.attributes
                is_equal = found is not None and not (self._tags and self._tags.problem(entry, found))
            except Exception:  # noqa: BLE001 - the comparison meets it again, and says so
                return None
            source = found or source
            if not is_equal or (not rules.allows and not_holdable(entry, source, rules)):
                return None
        return let_go(entry, source, rules, before=before)

    def _held(self, entry: Entry) -> ItemError | None:
        """The answer for an entry that is held, and so left out; ``None`` for any other. A HEAD alone does not tell."""
        if self._may_lack is None or entry.kind is not Kind.FILE:
            return None
        try:
            with closing(self._may_lack.open(entry)) as opened:
                opened.read(0, 1)
        except Exception as error:  # noqa: BLE001 - see problem_of
            problem = problem_of(error)
            return problem if problem.reason.is_held else None
        return None

    def _found(self, path: str, listed: str) -> tuple[Found | None, Exception | None]:
        """The destination's entry, or what to raise about it: another object than was listed, or no answer."""
        try:
            found = self._destination.find_stored(path)
            if found is not None and listed and found.entry.etag != listed:
                found = self._destination.find_stored(path)
        except Exception as error:  # noqa: BLE001 - raised when the source has been looked at
            return None, error
        if found is not None and listed and found.entry.etag != listed:
            return None, ItemError(Reason.DESTINATION_CHANGED, "its ETag is not the listed one")
        return found, None

    def look(self, tree: ReadTree, entry: Entry, found: Found | None) -> UnreadEnd:
        """An entry of either tree; ``found`` is an answer about it that need not be asked for again.

        Looking and reading raise ``ItemError`` and ``TimeUp``.
        """
        if entry.kind is Kind.DIRECTORY:
            if self.rules is None or self.rules.content:
                return UnreadEnd(Seen())
            known = None if found is None else found.attributes
            return UnreadEnd(Seen(attributes=attributes_of(tree, entry) if known is None else known))
        is_stored = found is not None and found.attributes is not None and not self.certifies
        seen = Seen(stored_sums(found), found.attributes) if found is not None and is_stored else Seen()
        return UnreadEnd(seen, lambda sums: self.read(tree, entry, sums))

    def read_checksum(self, tree: ReadTree, entry: Entry) -> int:
        """The CRC64NVME of all bytes of an entry. Raises as ``read``."""
        return from_base64(self.read(tree, entry, {}).crc64nvme)

    def read(self, tree: ReadTree, entry: Entry, wanted: Sums) -> Seen:
        """An entry whose bytes are read block by block, where the other end has stored checksums.

        Raises ``ItemError`` and ``TimeUp``.
        """
        with closing(tree.open(entry)) as source:
            sums = RunningSums(wanted)
            content = ContentDigest(entry.size) if self.certifies else None
            for offset in range(0, entry.size, tuning.BLOCK_BYTES):
                if offset and self.deadline.passed:
                    raise TimeUp
                self._limiter.read(min(tuning.BLOCK_BYTES, entry.size - offset), self.deadline)
                with closing(source.stream(offset, tuning.BLOCK_BYTES)) as pieces:
                    for data in pieces:
                        sums.update(data)
                        if content is not None:
                            content.update(data)
            seen = Seen(sums.whole(), source.attributes, content.hexdigest() if content else "")
            source.confirm(from_base64(seen.crc64nvme))
            return seen


def said_of(
    entry: Entry, source: Attributes, destination: Attributes | None, outcome: Outcome, rules: Rules
) -> Iterator[tuple[str, str]]:
    """The parts of an entry that notes count: attributes that are not read, and what a move lets go of it."""
    if not (rules.as_metadata or rules.content):
        yield from unread(source).items()
    if outcome.result is Result.UNCHANGED:
        yield from let_go(entry, source, rules, destination)


def proof_of(entry: Entry, seen: Seen) -> Proof | None:
    """The proof of an entry whose ends are found equal; ``None`` without a digest of its content."""
    if not seen.sha256:
        return None
    is_symlink = entry.kind is Kind.SYMLINK or (seen.attributes is not None and seen.attributes.is_symlink)
    return Proof(entry, Kind.SYMLINK if is_symlink else Kind.FILE, seen.sha256)


def not_read(entry: Entry, reason: Reason, message: str) -> ComparedEntry:
    """The result for an entry that is held, and so left out; it is in no digest."""
    outcome = Outcome.because(entry, reason, message, left_out={reason})
    return ComparedEntry(outcome, has_names=bool(entry.inode))


def attributes_of(tree: ReadTree, entry: Entry) -> Attributes:
    """The attributes of an entry, which is opened for it."""
    with closing(tree.open(entry)) as source:
        return source.attributes


def stored_sums(found: Found | None) -> Sums:
    """The checksums that a store keeps of all bytes of an entry."""
    if found is None or found.crc64nvme is None:
        return {} if found is None else found.others
    return {CRC64NVME: to_base64(found.crc64nvme), **found.others}


def _comparable(entry: Entry, found: Found | None) -> tuple[Entry, Found]:
    """The destination's entry. Raises ``ItemError`` if that alone shows that it is not what the source holds."""
    if found is None:
        raise ItemError(Reason.MISSING, "the destination does not hold it")
    if (entry.kind is Kind.DIRECTORY) is not (found.entry.kind is Kind.DIRECTORY):
        raise ItemError(Reason.DIFFERS, f"a {entry.kind.value} at the source, a {found.entry.kind.value} here")
    if entry.kind is not Kind.DIRECTORY and found.entry.size != entry.size:
        raise ItemError(Reason.DIFFERS, f"{entry.size} bytes at the source, {found.entry.size} here")
    return found.entry, found


def differences_of(
    entry: Entry, here: Seen, there: Seen, rules: Rules | None, links: str = ""
) -> list[ValueDifference]:
    """The differences between two looks at an entry, the worst first."""
    found: list[ValueDifference] = []
    source, destination = here.attributes, there.attributes
    if source is not None and destination is not None and entry.kind is not Kind.DIRECTORY:
        kinds = [Kind.SYMLINK if one.is_symlink else Kind.FILE for one in (source, destination)]
        if kinds[0] is not kinds[1]:
            text = f"a {kinds[0].value} at the source, a {kinds[1].value} at the destination"
            found.append(ValueDifference(Reason.DIFFERS, text))
    unlike = content_difference(here, there)
    if unlike:
        found.append(ValueDifference(Reason.CHECKSUM, unlike))
    if rules is not None and source is not None and destination is not None:
        found += differences(entry.kind, source, destination, rules)
    if links:
        found.append(ValueDifference(Reason.LINKS_DIFFER, links))
    if rules is not None and rules.deletes and not rules.allows and source is not None:
        lost = not_holdable(entry, source, rules)
        found += [ValueDifference(Reason.NOT_HOLDABLE, f"the destination cannot hold {lost}")] if lost else []
    return sorted(found, key=lambda one: _ORDER.index(one.reason))


_ORDER = (Reason.DIFFERS, Reason.CHECKSUM, *ATTRIBUTE_REASONS, Reason.ATTRIBUTE_UNREADABLE, Reason.NOT_HOLDABLE)


def worst(found: list[ValueDifference]) -> tuple[Reason, str] | None:
    """The reason of the worst difference, with the words of all; ``None`` for none."""
    return (found[0].reason, "; ".join(one.text for one in found)) if found else None


def attributes_known(entry: Entry, here: Seen, rules: Rules | None) -> bool:
    """Whether all attributes that were to be compared could be; true where none were, or nothing was seen."""
    return rules is None or here.attributes is None or not lacks_attributes(entry.kind, here.attributes, rules)
