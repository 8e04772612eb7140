"""What the roles of a deployed stack may do, and a store and trees that ask before each read and write."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from fanout.model.errors import AccessDenied
from fanout.ports.store import Versioned
from tests.support.actions import Need
from tests.support.iam import Given, Statement, statements_of, statements_of_role
from tests.support.iam_patterns import expression, is_like
from tests.support.work_bucket_policy import is_denied, session_of

# Not a function: the state machine, which reads the items of its Maps.
STATE_MACHINE = "Transfer"
# The same functions on the second mount and outside the network hold the same policies.
_AGAIN = re.compile("^(Second|Outside)")
# The permission that a method of a tree in S3 needs.
_OF_TREES = {
    **dict.fromkeys(("list", "list_columns", "cuts"), "s3:ListBucket"),
    **dict.fromkeys(("find", "find_stored", "open"), "s3:GetObject"),
    **dict.fromkeys(("create", "begin_blocks", "open_blocks", "make_directory", "make_symlink"), "s3:PutObject"),
    "delete": "s3:DeleteObject",
}


class Rights:
    """The rights of a stack's roles, whose work bucket is ``work``."""

    def __init__(self, given: Given, work: str) -> None:
        self.work = work
        self._given = given
        self._said: dict[str, list[Statement]] = {}
        self._about: dict[tuple[str, str], list[tuple[re.Pattern[str], Statement]]] = {}

    def allows(self, role: str, need: Need) -> bool:
        """Whether a role, by its name without ``Role``, allows a permission, and no policy denies it.

        The work bucket's own policy is asked too, as S3 asks it.
        """
        role = _AGAIN.sub("", role)
        bucket, _, key = need.resource.removeprefix("arn:aws:s3:::").partition("/")
        if bucket == self.work and is_denied(session_of(f"{role}Role"), need.action, bucket, key, **need.context):
            return False
        about = self._about.get((role, need.action))
        if about is None:
            about = self._about[role, need.action] = list(self._statements(role, need.action))
        found = {one.effect for pattern, one in about if pattern.match(need.resource) and one.matches(need)}
        return found == {"Allow"}

    def _statements(self, role: str, action: str) -> Iterator[tuple[re.Pattern[str], Statement]]:
        """The statements about an action, each with what finds its resources sooner than it does."""
        if role not in self._said:
            is_machine = role == STATE_MACHINE
            known = statements_of_role(f"{role}Role", self._given) if is_machine else None
            self._said[role] = statements_of(f"{role}Function", self._given) if known is None else known
        for one in self._said[role]:
            if any(is_like(pattern, action) for pattern in one.actions):
                yield re.compile("|".join(rf"(?:{expression(each, {})})\Z" for each in one.resources), re.DOTALL), one


class Asking:
    """A role that works; what it was ``denied`` is kept, whatever becomes of the error."""

    def __init__(self, rights: Rights, role: str, denied: list[tuple[str, Need]]) -> None:
        self._rights, self._role, self._denied = rights, role, denied

    def ask(self, action: str, bucket: str, key: str = "", prefix: str | None = None) -> None:
        """Raise ``AccessDenied``, as the adapter of S3 does, where the role does not allow it."""
        resource = f"arn:aws:s3:::{bucket}/{key}" if key else f"arn:aws:s3:::{bucket}"
        need = Need(action, resource, {} if prefix is None else {"s3:prefix": prefix})
        if not self._rights.allows(self._role, need):
            self._denied.append((self._role, need))
            said = f"allow {action} and the bucket's KMS key to the role {self._role}"
            raise AccessDenied(action.removeprefix("s3:"), f"s3://{bucket}/{key}", said, denied=(action, resource))

    def store(self, store: Any) -> AskingStore:
        """The work bucket as the role sees it."""
        return AskingStore(store, self, self._rights.work)


class AskingStore:
    """A ``WorkStore`` and a ``VersionedStore`` of a role."""

    def __init__(self, store: Any, asking: Asking, bucket: str) -> None:
        self._store, self._asking, self._bucket = store, asking, bucket

    def put(self, key: str, data: bytes) -> None:
        self._asking.ask("s3:PutObject", self._bucket, key)
        self._store.put(key, data)

    def put_new(self, key: str, data: bytes) -> bool:
        self._asking.ask("s3:PutObject", self._bucket, key)
        written: bool = self._store.put_new(key, data)
        return written

    def get(self, key: str) -> bytes:
        self._asking.ask("s3:GetObject", self._bucket, key)
        data: bytes = self._store.get(key)
        return data

    def list(self, prefix: str) -> Iterator[str]:
        self._asking.ask("s3:ListBucket", self._bucket, prefix=prefix)
        keys: Iterator[str] = self._store.list(prefix)
        return keys

    def remove(self, keys: Sequence[str]) -> None:
        for key in keys:
            self._asking.ask("s3:DeleteObject", self._bucket, key)
        self._store.remove(keys)

    def read_version(self, key: str) -> Versioned:
        self._asking.ask("s3:GetObject", self._bucket, key)
        found: Versioned = self._store.read_version(key)
        return found

    def write_version(self, key: str, data: bytes, version: str) -> None:
        self._asking.ask("s3:PutObject", self._bucket, key)
        self._store.write_version(key, data, version)


class AskingTree:
    """A tree in S3 at ``bucket`` and ``prefix``, of a role; all else is the tree's own."""

    def __init__(self, tree: Any, asking: Asking, bucket: str, prefix: str) -> None:
        self._tree, self._asking, self._bucket, self._prefix = tree, asking, bucket, prefix

    file_system = None

    def __getattr__(self, name: str) -> Any:
        found, action = getattr(self._tree, name), _OF_TREES.get(name)
        return found if action is None else self._asked(found, action)

    def _asked(self, method: Callable[..., Any], action: str) -> Callable[..., Any]:
        def call(what: Any, *others: Any, **named: Any) -> Any:
            if action == "s3:ListBucket":
                self._asking.ask(action, self._bucket, prefix=self._prefix)
            else:
                for one in what if isinstance(what, Sequence) and not isinstance(what, str) else (what,):
                    path = one if isinstance(one, str) else one.path
                    self._asking.ask(action, self._bucket, self._prefix + path)
            return method(what, *others, **named)

        return call


class AskingCopier:
    """An ``EntryCopier`` of a role: it reads below one place in S3 and writes below another, each ``asks`` by path."""

    def __init__(self, copier: Any, *asks: Callable[[str], None]) -> None:
        self._copier, self._asks = copier, asks

    def __getattr__(self, name: str) -> Any:
        return getattr(self._copier, name)

    def copy(self, entry: Any, *others: Any) -> Any:
        for ask in self._asks:
            ask(entry.path)
        return self._copier.copy(entry, *others)
