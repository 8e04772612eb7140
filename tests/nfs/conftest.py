"""What runs in the guest is collected there alone."""

from __future__ import annotations

from tests.nfs.selections import IN_GUEST

collect_ignore = [] if IN_GUEST else ["inside"]
