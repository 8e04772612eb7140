"""How symlinks of the source are treated: the one table that every state asks.

| policy | a listing shows                     | its symlinks are | an object that only its bytes show to be one |
|--------|-------------------------------------|------------------|----------------------------------------------|
| keep   | the symlinks                        | copied           | copied                                       |
| skip   | the symlinks                        | skipped          | skipped                                      |
| follow | what they lead to, within the source | none            | failed: a bucket has no directories          |

``adapters.posix.paths.follow`` follows them; ``Attributes.is_symlink`` tells what an object is.
"""

from __future__ import annotations

from enum import StrEnum

from fanout.model.errors import ItemError
from fanout.model.outcome import Reason


class Symlinks(StrEnum):
    KEEP = "keep"
    FOLLOW = "follow"
    SKIP = "skip"

    @property
    def follows(self) -> bool:
        """Whether the source shows what its symlinks lead to."""
        return self is Symlinks.FOLLOW

    @property
    def skips(self) -> bool:
        """Whether symlinks are left out, at the destination too."""
        return self is Symlinks.SKIP

    def check_opened(self) -> None:
        """Raise ``ItemError`` for an entry that shows itself as a symlink when it is opened, unless it is copied."""
        if self.skips:
            raise ItemError(Reason.SYMLINK, "the request skips symlinks")
        if self.follows:
            raise ItemError(Reason.LINK_IN_STORE, "a bucket has no directories in which to follow a symlink")
