"""The operations of one file at a file system, as Linux's NFS client asks for them.

``tests/nfs/inside/test_operations.py`` counts that client, ``tests/benchmarks/test_simulated_operations.py`` the
simulated EFS: neither asks more than this table says, nor much less.
"""

from __future__ import annotations

# Of a new file, staged and then linked; of directories what 2,000 files in 20 of them share. Where nobody else renames,
# one RENAME takes the place of LINK and REMOVE.
COPIED = {"open": 1.0, "write": 1.0, "setattr": 1.0, "close": 1.0, "link": 1.0, "remove": 1.0, "of directories": 0.1}
# Of a file that a listing found.
READ = {"open": 1.0, "read": 1.0, "close": 1.0}
# Of a further name: ACCESS, which Linux asks first (fs.protected_hardlinks), and a look-up where its directory holds
# too few to be read at once.
LINKED = {"access": 1.0, "link": 1.0, "lookup": 1.0}
# Of a directory that is listed. The answers of READDIR hold the attributes of its entries: so many bytes each, with a
# name of 60 characters.
LISTED = {"readdir": 2.0, "access": 1.0, "getattr": 1.0}
LISTED_ENTRY_BYTES = 256
# Assumed where the listing does not say how many directories there are.
ENTRIES_PER_DIRECTORY = 10

OPERATIONS_PER_FILE = sum(COPIED.values())
READ_OPERATIONS_PER_FILE = sum(READ.values())
LINK_OPERATIONS_PER_FILE = sum(LINKED.values())
LIST_OPERATIONS_PER_DIRECTORY = sum(LISTED.values())
# What a probe's small file asks of those of a copy.
SMALL_WRITE_OPERATIONS = sum(COPIED[name] for name in ("open", "write", "close"))
