"""The versions of a tree, and the link to one of them; see ``ports.versions``.

| name below ``versions/``  | is                                                                |
|---------------------------|-------------------------------------------------------------------|
| ``ID``                    | a version                                                         |
| ``.begun-ID``             | a run began that version; goes when it is noted as whole          |
| ``.published-ID``         | the note of the run that published it: it was whole then          |
| ``.publisher``            | whose versions these are                                          |
| ``.removed-ID-...``       | a version on its way out                                          |
| ``.directories-ID``       | the directories that runs made in it: see ``made_directories``    |
| ``.fanout-staging-RUN``   | where a run stages, and its right to write                        |

What becomes visible is made in the staging directory and moved out of it in one step, and a version that goes is moved
through it. Both fail once another run has removed that directory: a function that wakes up late changes nothing.
Only a version that a run began is ever removed, so what somebody keeps below ``versions/`` stays. Where others may
rename what is there, none is begun or removed.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress

from fanout.adapters.posix.errors import no_room_for_name
from fanout.adapters.posix.fencing.noted_removal import one_name
from fanout.adapters.posix.fencing.own import against_owner
from fanout.adapters.posix.listing.stats import stat_or_none
from fanout.adapters.posix.paths.directories import Directories
from fanout.adapters.posix.paths.fresh import names_now
from fanout.adapters.posix.paths.looks import look_anew
from fanout.adapters.posix.publishing.linking import made_of
from fanout.adapters.posix.publishing.made_directories import NOTED, noted_bytes
from fanout.adapters.posix.publishing.retired import remove_retired
from fanout.adapters.posix.publishing.version_notes import read_note, read_whole
from fanout.adapters.posix.staging import Staging
from fanout.model.deadline import Deadline
from fanout.model.entry import MadeEntry
from fanout.model.errors import AccessDenied, InvalidRequest, ItemError, Superseded, Transient
from fanout.ports.versions import Removal
from fanout.request.parts.publish import PUBLISHER, VERSIONS

_BEGUN = ".begun-"
_NOTE = ".published-"
_RETIRED = ".removed-"
_READING = "reading"


class PosixVersions:
    """The ``Versions`` of the directory that holds one of them."""

    def __init__(self, directories: Directories, staging: Staging, place: str, link: str) -> None:
        """``place`` is that of a version, ``ROOT/versions/ID/``."""
        self._directories, self._staging, self._link = directories, staging, link
        self._above, self._version = place[: place.rfind("/", 0, -1) + 1], place[:-1].rpartition("/")[2]
        self._root = self._above.removesuffix(f"{VERSIONS}/")

    def claim(self, owner: bytes) -> bytes:
        with self._translated("writing"), self._directories.hold(self._above) as above:
            with suppress(FileExistsError):
                self._put(owner, lambda staged, name: _link(staged, name, above, PUBLISHER))
            return read_whole(above, PUBLISHER)

    def begin(self) -> None:
        with self._translated("writing"), self._directories.hold(self._above) as above:
            if self._staging.token.is_there():  # its owner is known then
                self._keep_others_names(above)
            self._put(b"", lambda staged, name: _rename(staged, name, above, f"{_BEGUN}{self._version}"))

    def published(self) -> str:
        where = f"/{self._root}{self._link}"
        with self._translated(_READING):
            try:
                look_anew(self._directories, self._root)  # somebody at another client may have switched it
                with self._directories.hold(self._root) as root:
                    target = os.readlink(self._link, dir_fd=root)
            except FileNotFoundError:
                return ""
            except OSError as error:
                if error.errno != errno.EINVAL:
                    raise
                problem = f"{where} is there, and is no symlink"
                raise InvalidRequest("publish.link", problem, "name another link, or move it away") from error
        name = target.removeprefix(f"{VERSIONS}/")
        if target != f"{VERSIONS}/{name}" or "/" in name or name.startswith(".") or not name:
            problem = f"{where} leads to {target!r}, which is no version of /{self._root}"
            raise InvalidRequest("publish.link", problem, "name another link, or remove this one")
        return name

    def noted(self) -> Mapping[str, bytes]:
        with self._translated(_READING):
            names = self._names()
            noted = [name.removeprefix(_NOTE) for name in names if name.startswith(_NOTE)]
            if not noted:
                return {}
            with self._directories.hold(self._above) as above:
                return {
                    name: read_note(above, f"{_NOTE}{name}") for name in sorted(noted) if _is_directory(above, name)
                }

    def _names(self) -> list[str]:
        """All names in the directory of the versions; nothing before the first run publishes."""
        try:
            look_anew(self._directories, self._above)
            with self._directories.hold(self._above) as above:
                names_now(above)
                return os.listdir(above)
        except FileNotFoundError:
            return []

    def unfinished(self) -> Sequence[str]:
        with self._translated(_READING):
            names = set(self._names())
            begun = {name.removeprefix(_BEGUN) for name in names if name.startswith(_BEGUN)}
            return sorted(version for version in begun if f"{_NOTE}{version}" not in names)

    def held(self) -> bool | None:
        with self._translated(_READING):
            try:
                with self._directories.hold(self._above) as above:
                    found = os.stat(self._version, dir_fd=above, follow_symlinks=False)
                if not stat.S_ISDIR(found.st_mode):  # somebody's
                    return True
                with self._directories.hold(f"{self._above}{self._version}/") as version:
                    return bool(os.listdir(version))
            except FileNotFoundError:
                return None

    def entry_at(self, path: str) -> MadeEntry | None:
        parent, slash, name = path.rpartition("/")
        with self._translated(_READING):
            try:
                with self._directories.hold(f"{self._above}{self._version}/{parent}{slash}") as directory:
                    return made_of(path, directory, name, os.stat(name, dir_fd=directory, follow_symlinks=False))
            except (FileNotFoundError, NotADirectoryError, ItemError):
                return None

    def note(self, data: bytes) -> None:
        with self._translated("writing"), self._directories.hold(self._above) as above:
            self._put(data, lambda staged, name: _rename(staged, name, above, f"{_NOTE}{self._version}"))
            with suppress(FileNotFoundError):
                os.unlink(f"{_BEGUN}{self._version}", dir_fd=above)

    def switch(self) -> str:
        if self.held() is None:
            raise InvalidRequest("destination", f"/{self._above}{self._version} was removed", "start a new run")
        replaced = self.published()
        if replaced == self._version:
            return replaced
        staged_directory, name = self._staging.place()
        with (
            self._translated("switching"),
            self._directories.hold(staged_directory, create=True) as staged,
            self._directories.hold(self._root) as root,
        ):
            os.symlink(f"{VERSIONS}/{self._version}", name, dir_fd=staged)
            _rename(staged, name, root, self._link)
        return replaced

    def retire(self, version: str) -> None:
        one_name(version)
        if version in (self._version, self.published()):
            return
        staged_directory, name = self._staging.place()
        with (
            self._translated("removing"),
            self._directories.hold(staged_directory, create=True) as staged,
            self._directories.hold(self._above) as above,
        ):
            self._staging.token.look()
            self._keep_others_names(above)
            self._directories.forget(f"{self._above}{version}/")
            marks = [_NOTE, _BEGUN]
            if _is_directory(above, version):
                _rename(above, version, staged, name)
                _rename(staged, name, above, f"{_RETIRED}{version}-{secrets.token_hex(4)}")
            else:
                marks.append(NOTED)
            for mark in marks:
                with suppress(FileNotFoundError):
                    os.unlink(f"{mark}{version}", dir_fd=above)

    def note_directories(self, version: str, made: Iterable[tuple[str, int | None]]) -> None:
        one_name(version)
        with self._translated("writing"), self._directories.hold(self._above) as above:
            data = noted_bytes(made)
            self._put(data, lambda staged, name: _rename(staged, name, above, f"{NOTED}{version}"))

    def with_noted_directories(self) -> Collection[str]:
        with self._translated(_READING):
            return {name.removeprefix(NOTED) for name in self._names() if name.startswith(NOTED)}

    def remove_retired(self, deadline: Deadline) -> Removal:
        with self._translated("removing"), self._directories.hold(self._above) as above:
            retired = sorted(name for name in os.listdir(above) if name.startswith(_RETIRED))
            if not retired:
                return Removal(done=True)
            self._keep_others_names(above)
            left: list[str] = []
            done = True
            for name in retired:
                if done:
                    done, more = remove_retired(above, name, _version_of(name), deadline, self._staging.token.look)
                    left += more
            self._drop_notes(above, {_version_of(name) for name in retired})
            return Removal(done, tuple(f"/{self._above}{one}" for one in left))

    def _drop_notes(self, above: int, versions: Iterable[str]) -> None:
        """Remove the notes of the directories of versions that are gone."""
        names = os.listdir(above)
        there = {*names, *(_version_of(name) for name in names if name.startswith(_RETIRED))}
        for version in versions:
            if version not in there:
                with suppress(FileNotFoundError):
                    os.unlink(f"{NOTED}{version}", dir_fd=above)

    def _keep_others_names(self, above: int) -> None:
        """Raise ``InvalidRequest`` where others than the run's user may give names to directories next to the versions.

        They could have any directory removed by renaming it, or put another one in the place of a version.
        """
        owner = self._staging.token.owner
        problem = "" if owner is None else against_owner(os.fstat(above), owner)
        if problem:
            remedy = "have it owned by the function's user, with no write permission for group and others"
            raise InvalidRequest("destination", f"/{self._above[:-1]} {problem}", remedy)

    def _put(self, data: bytes, place: Callable[[int, str], None]) -> None:
        """A small file, made in the staging directory and moved to its place."""
        staged_directory, name = self._staging.place()
        with self._directories.hold(staged_directory, create=True) as staged:
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
            descriptor = os.open(name, flags, 0o644, dir_fd=staged)
            try:
                while data:
                    data = data[os.write(descriptor, data) :]
            finally:
                os.close(descriptor)
            try:
                place(staged, name)
            finally:
                with suppress(FileNotFoundError):
                    os.unlink(name, dir_fd=staged)

    @contextmanager
    def _translated(self, action: str) -> Iterator[None]:
        """Errors of the file system as the product's own; the caller meets ``FileExistsError`` itself."""
        try:
            yield
        except FileExistsError:
            raise
        except ItemError as error:
            raise self._in_the_way(error.message) from error
        except PermissionError as error:
            remedy = f"give the function write permission there ({error.strerror})"
            raise AccessDenied(f"{action} the versions of", f"/{self._root}", remedy) from error
        except OSError as error:
            if error.errno == errno.ENOTDIR and not self._is_a_directory():
                raise self._in_the_way(f"/{self._above[:-1]} is no directory") from error
            with suppress(OSError):
                if action != _READING and not self._staging.token.is_there():
                    raise Superseded(self._staging.token.run_id) from error
            raise Transient(f"{action} the versions of /{self._root}: {error.strerror}") from error

    def _is_a_directory(self) -> bool:
        try:
            with self._directories.hold(self._root) as root:
                return _is_directory(root, VERSIONS)
        except OSError:
            return False

    def _in_the_way(self, problem: str) -> InvalidRequest:
        """Something else is where the versions would be."""
        return InvalidRequest("destination", problem, "move that away, or name another destination")


def _version_of(retired: str) -> str:
    return retired.removeprefix(_RETIRED).rpartition("-")[0]


def _link(staged: int, staged_name: str, directory: int, name: str) -> None:
    try:
        os.link(staged_name, name, src_dir_fd=staged, dst_dir_fd=directory, follow_symlinks=False)
    except OSError as error:
        if no_room_for_name(error) is None:
            raise
        problem = f"the file system has no hard links, by which versions share files ({error.strerror})"
        raise InvalidRequest("publish", problem, "name a destination on EFS, or copy without publish") from error


def _rename(staged: int, staged_name: str, directory: int, name: str) -> None:
    os.rename(staged_name, name, src_dir_fd=staged, dst_dir_fd=directory)


def _is_directory(above: int, name: str) -> bool:
    found = stat_or_none(above, name)
    return found is not None and stat.S_ISDIR(found.st_mode)
