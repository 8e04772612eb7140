"""A source whose entries have the attributes that the request gives and the stack allows; all else is as it is."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any, TypeVar, cast

from msgspec.structs import replace

from fanout.model.entry import Attributes, Entry, Found, Kind
from fanout.ports.tree import ReadTree, Source
from fanout.request.parts.allowed_attributes import Allowed
from fanout.request.parts.given_attributes import GivenAttributes
from fanout.work.processes.handed_over import HandedOver

AttributeRule = Callable[[Entry, Attributes], Attributes]
_ALL = Allowed()


_Tree = TypeVar("_Tree", bound=ReadTree)


def with_given_attributes(
    tree: _Tree, given: GivenAttributes, allowed: Allowed = _ALL, own: int | None = None
) -> _Tree:
    """The source of a run; the tree itself where the request gives no attributes and the stack allows all.

    What is allowed is decided last, so it holds for attributes of whatever origin. ``own`` is the user to whom copies
    of a refused owner belong, if that is known.
    """
    if not given.are_any and allowed.are_all:
        return tree

    return cast("_Tree", GivenTree(tree, partial(_given_and_allowed, given, allowed, own)))


def _given_and_allowed(
    given: GivenAttributes, allowed: Allowed, own: int | None, entry: Entry, known: Attributes
) -> Attributes:
    found = given.of(entry, known) if given.are_any else known
    return allowed.of(found, is_directory=entry.kind is Kind.DIRECTORY, own=lambda: own)


class GivenTree(HandedOver):
    """A ``Tree`` to read: what is opened or looked up in it has the given attributes.

    So copies, proofs and verifications heed them alike. No small file takes the short way between two mounts, which
    looks at no attributes but the source's.
    """

    def __init__(self, tree: ReadTree, given: AttributeRule) -> None:
        self._tree, self._given = tree, given
        self.overlaps = tree.overlaps

    def __getattr__(self, name: str) -> Any:
        """All else."""
        return getattr(self._tree, name)

    def open(self, entry: Entry) -> Source:
        return cast("Source", GivenSource(self._tree.open(entry), entry, self._given))

    def find_stored(self, path: str) -> Found | None:
        found = self._tree.find_stored(path)
        if found is None or found.attributes is None:
            return found
        return replace(found, attributes=self._given(found.entry, found.attributes))


class GivenSource:
    """A ``Source`` that tells the attributes that the request gives."""

    def __init__(self, source: Source, entry: Entry, given: AttributeRule) -> None:
        self._source, self._entry, self._given = source, entry, given
        self.read, self.stream, self.zeros_at = source.read, source.stream, source.zeros_at
        self.confirm, self.close = source.confirm, source.close

    @cached_property
    def attributes(self) -> Attributes:
        return self._given(self._entry, self._source.attributes)
