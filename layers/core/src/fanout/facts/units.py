"""Units of bytes."""

from __future__ import annotations

KIB = 1024
MIB = 1024 * KIB
GIB = 1024 * MIB
TIB = 1024 * GIB
# As AWS bills it.
GB = 1e9
