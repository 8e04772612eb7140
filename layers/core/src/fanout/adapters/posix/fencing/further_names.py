"""Links a further name to the file that the run put under the first one."""

from __future__ import annotations

import os

from fanout.adapters.posix.listing.stats import is_same_file, require_copy
from fanout.adapters.posix.paths.directories import Directories
from fanout.adapters.posix.staging import Staging
from fanout.model.entry import Entry
from fanout.model.errors import ItemError


def link(directories: Directories, staging: Staging, root: str, entry: Entry, first: str) -> None:
    """Make the path of an entry below ``root`` a further name of the file that the run put at ``first``.

    It is compared once it has a name that nobody else can change. A name that is right already stays: renaming one
    onto the other does nothing. Raises ``OSError`` and ``ItemError``.
    """
    first_parent, first_slash, first_name = (root + first).rpartition("/")
    parent, slash, name = (root + entry.path).rpartition("/")
    staged_directory, staged_name = staging.place()

    def require(found: os.stat_result) -> None:
        require_copy(found, entry)
        staging.placed.require(root + first, found)

    with (
        directories.hold(first_parent + first_slash) as origin,
        directories.hold(parent + slash, create=True) as directory,
    ):
        if is_same_file(origin, first_name, directory, name):
            require(os.stat(name, dir_fd=directory, follow_symlinks=False))
            return
        with directories.hold(staged_directory, create=True) as staged:
            os.link(first_name, staged_name, src_dir_fd=origin, dst_dir_fd=staged, follow_symlinks=False)
            try:
                require(os.stat(staged_name, dir_fd=staged, follow_symlinks=False))
            except ItemError:
                os.unlink(staged_name, dir_fd=staged)
                raise
            staging.rename(staged, staged_name, directory, root + entry.path)


def placed_inode(directories: Directories, staging: Staging, path: str) -> str:
    """See ``ports.file_system.FileSystem``; ``path`` is one of the mount. Raises ``OSError`` too."""
    parent, slash, name = path.rpartition("/")
    with directories.hold(parent + slash) as directory:
        found = os.stat(name, dir_fd=directory, follow_symlinks=False)
    staging.placed.require(path, found)
    return str(found.st_ino)
