"""A kind of object of the ledger, declared once: its key, and all that follows from the kind.

``PUBLISHED = ObjectKind("published.json", Published, by=("FinishTree",))``, in the room of the type, declares it:

| argument   | what follows from it                                                            | held by               |
|------------|---------------------------------------------------------------------------------|-----------------------|
| ``holds``  | the types of ``ledger.write(PUBLISHED, one)`` and of ``ledger.read(PUBLISHED)`` | mypy                  |
| ``by``     | the functions whose roles may write it; no other role may                       | templates/ledger.yaml |
| ``area``   | the pattern of that right, where several kinds share one                        | templates/ledger.yaml |
| ``wave``   | when a task that keeps its ledger sends it, and whether it ``waits``            | ``write_order``       |
| ``sealed`` | whether the secret of a run that is to be certified seals it                    | ``objects``           |
| ``early``  | PlanTransfer may find it: an earlier attempt at planning the run wrote it       | ``plan_transfer``     |
| ``by_s3``  | a service of S3 reads it, so it has no KMS key: ``is_read_by_s3``               | ``S3WorkStore``       |

A part of the text in braces is what one object of the kind is of: ``SEGMENT(segment_id)`` is the key of one.
"""

from __future__ import annotations

from string import Formatter
from typing import Any, ClassVar, Final, Generic, TypeVar

D = TypeVar("D")
E = TypeVar("E")
# The waves in which a task that keeps its ledger sends what it writes; see ``write_order``.
FIRST, RECORD, AFTER_RECORDS, LAST = range(4)
# It says something by itself, so it is sent with any wave.
ALONE: Final = -1


class Untyped:
    """The type of a kind that a higher room gives its type: see ``ObjectKind.of``."""


class PlainText:
    """The type of a kind that is no document: a page, or a signed one."""


class ObjectKind(str, Generic[D]):
    """The key of a kind of object, below the prefix of a run, or of one object of the kind.

    ``place`` is the prefix instead, of what lies next to the runs. ``short`` is false for what no run comes to that may
    go the short way, whose function otherwise writes what the functions write that it stands for.
    """

    declared: ClassVar[list[ObjectKind[Any]]] = []
    holds: type[D]
    by: tuple[str, ...]
    wave: int
    waits: bool
    sealed: bool
    early: tuple[str | int, ...] | None
    area: str
    short: bool
    place: str
    by_s3: bool
    _parts: list[str]

    def __new__(cls, text: str, *_: object, **__: object) -> ObjectKind[D]:
        return super().__new__(cls, text)

    def __init__(
        self,
        text: str,
        holds: type[D],
        *,
        by: tuple[str, ...],
        wave: int = RECORD,
        waits: bool = False,
        sealed: bool = True,
        early: bool | tuple[str | int, ...] = False,
        area: str = "",
        short: bool = True,
        place: str = "",
        by_s3: bool = False,
    ) -> None:
        self.holds, self.by, self.wave, self.sealed = holds, by, wave, sealed
        self.waits = waits or wave in (ALONE, FIRST)
        self.early = (() if early is True else early) if early is not False else None
        self._parts = parts_of(text)
        self.area = area or (f"{self.prefix}*" if self._parts else text)
        self.short, self.place, self.by_s3 = short, place, by_s3
        ObjectKind.declared.append(self)

    def __call__(self, *parts: str | int) -> ObjectKind[D]:
        """The key of one object, by what it is of."""
        return self.at(self.format(**dict(zip(self._parts, parts, strict=True))))

    def at(self, key: str) -> ObjectKind[D]:
        """The same kind at a key that was made before: that a listing found, or a document names."""
        one = str.__new__(type(self), key)
        one.__dict__.update(self.__dict__)
        return one

    def of(self, holds: type[E]) -> ObjectKind[E]:
        """The same kind, with the type that a higher room gives it, or with the part of it that a reader needs."""
        one: ObjectKind[Any] = self.at(self)
        one.holds = holds
        return one

    def page(self, number: int) -> ObjectKind[D]:
        """A page of a list that a Map reads, which is sent before the list; page 0 is the list itself."""
        if not number:
            return self
        one = self.at(f"{self}-{number:04d}")
        one.wave, one.waits = FIRST, True
        return one

    @property
    def prefix(self) -> str:
        """Where the objects of the kind are: its text up to the first part."""
        return self.partition("{")[0]

    @property
    def may_be_early(self) -> tuple[str, ...]:
        """How the keys begin that PlanTransfer may find before it has planned the run."""
        if self.early is None:
            return ()
        return tuple(self(*([one] if self._parts else [])) for one in self.early) or (self.prefix,)


class KeyPart:
    """A part of a key, by what it is of: a directory, or the name of a shard's other records."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._parts = parts_of(text)

    def __call__(self, *parts: str | int) -> str:
        return self._text.format(**dict(zip(self._parts, parts, strict=True)))


class RowsKind(ObjectKind[PlainText]):
    """A kind of file of rows, JSON lines: the key of one is plain text, because documents name it."""

    def __init__(
        self,
        text: str,
        *,
        by: tuple[str, ...],
        wave: int = FIRST,
        early: bool = False,
        area: str = "",
        short: bool = True,
        sealed: bool = True,
    ) -> None:
        super().__init__(text, PlainText, by=by, wave=wave, early=early, area=area, short=short, sealed=sealed)

    def __call__(self, *parts: str | int) -> str:  # type: ignore[override]
        """The key of one file, by what it is of."""
        return str(super().__call__(*parts))


def is_read_by_s3(key: str) -> bool:
    """Whether the object of a key in the work bucket is of a kind that a service of S3 reads."""
    return any(f"/{kind.prefix}" in key for kind in ObjectKind.declared if kind.by_s3)


def key_text(value: object) -> str:
    """For encoders: what a document holds of an object's key. Raises ``TypeError`` for all else."""
    if isinstance(value, ObjectKind):
        return str(value)
    raise TypeError(f"a {type(value).__name__} cannot be written to the ledger")


def parts_of(text: str) -> list[str]:
    """The names in braces, in their order."""
    return [name for _, name, _, _ in Formatter().parse(text) if name]
