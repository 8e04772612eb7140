"""Archives of S3: how long they take to restore an object.

docs.aws.amazon.com/AmazonS3/latest/userguide/restoring-objects-retrieval-options.html: the upper end of what is
typical. GLACIER_IR is none: its objects are read at once.
"""

from __future__ import annotations

from collections.abc import Mapping

GLACIER, DEEP_ARCHIVE = "GLACIER", "DEEP_ARCHIVE"
# The archive tiers of INTELLIGENT_TIERING, as a HEAD names them. What is restored from them stays restored.
ARCHIVE_ACCESS, DEEP_ARCHIVE_ACCESS = "ARCHIVE_ACCESS", "DEEP_ARCHIVE_ACCESS"
TIERING = "INTELLIGENT_TIERING"
# Storage classes whose objects may have to be restored; of the last one, only a HEAD of the object tells.
CLASSES = frozenset({GLACIER, DEEP_ARCHIVE, TIERING})
TIERS_OF_TIERING = frozenset({ARCHIVE_ACCESS, DEEP_ARCHIVE_ACCESS})

_MINUTE, _HOUR = 60.0, 3600.0
_FLEXIBLE = {"expedited": 5 * _MINUTE, "standard": 5 * _HOUR, "bulk": 12 * _HOUR}
_DEEP = {"standard": 12 * _HOUR, "bulk": 48 * _HOUR}
# Seconds by archive and tier; a tier that an archive does not have is not among them.
SECONDS: Mapping[str, Mapping[str, float]] = {
    GLACIER: _FLEXIBLE,
    ARCHIVE_ACCESS: _FLEXIBLE,
    DEEP_ARCHIVE: _DEEP,
    DEEP_ARCHIVE_ACCESS: _DEEP,
}
# docs.aws.amazon.com/AmazonS3/latest/userguide/archival-storage.html: restore requests of an account in a region.
REQUESTS_PER_SECOND = 1000.0
