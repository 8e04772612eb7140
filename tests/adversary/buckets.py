"""A prefix of a bucket as the script fills, changes and looks at it."""

from __future__ import annotations

import stat
from dataclasses import replace

from tests.adversary.attributes import FORMS, POSIX, id_of, mode_of, mtime_of, told_by
from tests.adversary.beforehand import CLOSE_VAULT, OPEN_VAULT, vault, vault_headers
from tests.adversary.lying_s3 import LyingS3
from tests.adversary.metadata import carried, drawn_headers, drawn_tags
from tests.adversary.s3_words import STORAGE, Stored, is_archived
from tests.adversary.script import Change, Spec, bytes_of
from tests.adversary.trees import Snapshot, Version


class BucketPlace:
    """The keys below a prefix of a bucket."""

    def __init__(self, s3: LyingS3, bucket: str, prefix: str, tool: str = "") -> None:
        """``tool`` is whose attributes the request reads where an object has none of the product's."""
        self._tool = tool
        self._s3, self.bucket, self.prefix = s3, bucket, prefix
        self.name = f"{bucket}/{prefix}"
        self._older: dict[str, list[Stored]] = {}

    @property
    def _objects(self) -> dict[str, Stored]:
        return self._s3.truth.buckets[self.bucket]

    def build(self, specs: tuple[Spec, ...]) -> None:
        above = self.prefix[:-1]
        for key in (f"{above}x/d1", above, "top", f"{above}-2/d1"):
            self._s3.truth.put(self.bucket, key, f"canary {key}".encode())
        for spec in specs:
            if spec.kind in ("fifo", "link"):
                continue
            if spec.kind == "file":  # an earlier version, for caches that remember it
                older = Stored(
                    bytes_of(spec.seed + 77, spec.size), f'"{spec.seed:032x}"', 1, FORMS[spec.attributes](spec)
                )
                self._s3.older.setdefault((self.bucket, self.prefix + spec.path), []).append(older)
            data = spec.target.encode() if spec.kind == "symlink" else spec.data() if spec.kind == "file" else b""
            self._s3.truth.put(
                self.bucket,
                self.prefix + spec.path,
                data,
                FORMS[spec.attributes](spec) | drawn_headers(spec) | ({STORAGE: spec.storage} if spec.storage else {}),
                drawn_tags(spec),
            )

    def snapshot(self) -> Snapshot:
        return {
            key.removeprefix(self.prefix): object_version(key, stored, self._tool)
            for key, stored in self._objects.items()
            if key.startswith(self.prefix) and key != self.prefix
        }

    def around(self) -> Snapshot:
        return {
            key: object_version(key, stored) for key, stored in self._objects.items() if not key.startswith(self.prefix)
        }

    def staged(self, run: str) -> list[str]:
        return [f"{name} of {one.key}" for name, one in self._s3.truth.uploads.items() if one.bucket == self.bucket]

    def path_of(self, about: str) -> str:
        root = f"{self.bucket}/{self.prefix}"
        return about.removeprefix(root) if about.startswith(root) else ""

    def change(self, change: Change) -> None:
        key = self.prefix + change.path
        if key != key.encode(errors="ignore").decode():
            return  # no key: S3 takes UTF-8 alone
        there = self._objects.get(key)
        if change.what in (OPEN_VAULT, CLOSE_VAULT):
            for path, (mode, data) in vault(change).items():
                self._s3.truth.put(self.bucket, self.prefix + path, data, vault_headers(path, mode))
            return
        if change.what in ("turn-back", "roll-back"):
            older = self._older.get(key, [])
            if older:
                self._objects[key] = older[change.seed % len(older)]
        elif change.what in ("delete", "free", "rename"):
            self._objects.pop(key, None)
        elif change.what in ("append", "truncate", "create"):
            self._put(key, bytes_of(change.seed, change.seed % 9000), there)
        elif change.what == "chmod" and change.seed % 2 and there is not None:
            self._objects[key] = replace(there, tags=f"x={change.seed}")  # moves no ETag and no time
        elif change.what == "strip" and there is not None:
            self._s3.truth.put(self.bucket, key, there.data)  # as a copy onto itself that names no metadata
        elif there is not None:
            self._put(key, bytes_of(change.seed, len(there.data)), there)
        if there is not None:
            self._older.setdefault(key, []).append(there)
            self._s3.older.setdefault((self.bucket, key), []).append(there)

    def _put(self, key: str, data: bytes, there: Stored | None) -> None:
        if not key.endswith("/"):
            headers = {name: text for name, text in there.headers.items() if name != STORAGE} if there else {}
            self._s3.truth.put(self.bucket, key, data, headers)


def object_version(key: str, stored: Stored, tool: str = "") -> Version:
    """An object as a version of an entry, with what ``tool`` wrote where it tells nothing in its own keys."""
    mode = mode_of(stored.headers)
    kind = "symlink" if mode is not None and stat.S_ISLNK(mode) else "file"
    if key.endswith("/") and not stored.data:
        kind = "directory"
    plain = None if mode is None else stat.S_IMODE(mode)
    mark = f"{stored.etag} {stored.modified}"
    changed_ns = stored.modified * 10**9
    uid, gid = (id_of(stored.headers, name) for name in ("owner", "group"))
    found = Version(
        kind,
        stored.data,
        plain,
        mtime_of(stored.headers),
        uid,
        gid,
        mark,
        changed_ns,
        carried(stored.headers),
        stored.tags,
        is_archived(stored),
    )
    own = any(name.startswith(POSIX) for name in stored.headers)
    return found if own or not tool else replace(found, **told_by(tool, stored.headers))
