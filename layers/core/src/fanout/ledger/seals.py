"""Seals the ledger's objects with a checksum over key and bytes, so that a reader detects foreign ones.

| object        | the seal                                                         | what reads it besides the ledger |
|---------------|------------------------------------------------------------------|----------------------------------|
| JSON document | a last line of 32 blanks and tabs: the CRC-32 of key and document | skips it: white space            |
| gzip          | the header's time is the CRC-32 of the key; gzip sums the bytes   | shows another time               |

Truncated, changed and empty objects, and those of another key, raise ``ValueError``. Objects without a seal come from
an earlier version or from another writer; they are read if they can be decoded.

A run that is to be certified has a secret besides (``sealing``). With it an object also bears the first 128 bits of
the HMAC-SHA-256 of key and content, in a line of 128 blanks and tabs, or in a field of gzip's header; a reader that
has the secret takes no other object.
"""

from __future__ import annotations

import gzip
import hmac
import json
import re
import struct
import zlib
from typing import Any
from zlib import crc32

from fanout.model.document import json_value

# Level 1 takes a tenth of the time of level 9 and leaves rows of paths about a fifth larger.
_GZIP_LEVEL = 1
_BITS = 32
_SEAL = re.compile(rb"\n([ \t]{%d})\Z" % _BITS)
_MAC_BITS = 128
_MAC = re.compile(rb"\n([ \t]{%d})\Z" % _MAC_BITS)
# Bits of a window of 32 KiB, in gzip's format (zlib.net/manual.html, inflateInit2).
_GZIP_FORMAT = 31
# Chosen: 65,536 rows (tuning.ENTRIES_HELD) with the longest paths, all of bytes that JSON escapes, take 430 MB.
UNPACKED_BYTES = 512 * 1024 * 1024
# RFC 1952: ID1 ID2 CM FLG, MTIME, XFL OS; then, where FLG has FEXTRA, XLEN and a subfield: SI1 SI2 LEN data.
_HEADER, _FLAGS, _EXTRA = 10, 3, 4
_SUBFIELD = struct.Struct("<H2sH16s")
_ID = b"FO"
_TIME = slice(4, 8)  # RFC 1952: MTIME, little-endian
_BROKEN = "its bytes are not those that were written"
_DIGITS = bytes.maketrans(b" \t", b"01")
_FORGED = "it bears no seal of this run"


def sealed_json(key: str, value: Any, secret: bytes = b"") -> bytes:
    """A JSON document with its seal."""
    body = json.dumps(value, indent=1, allow_nan=False).encode()
    if secret:
        body += b"\n" + _blanks(int.from_bytes(_mac(secret, key, body)), _MAC_BITS)
    return body + b"\n" + _blanks(_sum(key, body))


def unsealed_json(key: str, data: bytes, secret: bytes = b"") -> Any:
    """The value of a document; of none that the secret did not seal, if one is given. Raises ``ValueError``."""
    found = _SEAL.search(data)
    body = data[: found.start()] if found else data
    if found and found[1] != _blanks(_sum(key, body)):
        raise ValueError(_BROKEN)
    mac = _MAC.search(body) if found else None
    body = body[: mac.start()] if mac else body
    if secret:
        _check(secret, key, body, int(mac[1].translate(_DIGITS), 2).to_bytes(_MAC_BITS // 8) if mac else b"")
    if body.endswith((b" ", b"\t", b"\n")):  # a part of a seal
        raise ValueError("its end is missing")
    return json_value(body)


def sealed_gzip(key: str, data: bytes, secret: bytes = b"") -> bytes:
    """Bytes packed, with their seal."""
    packed = gzip.compress(data, _GZIP_LEVEL, mtime=_of_key(key))
    if not secret:
        return packed
    mac = _mac(secret, key, data)
    head = bytearray(packed[:_HEADER])
    head[_FLAGS] |= _EXTRA
    return b"".join((head, _SUBFIELD.pack(_SUBFIELD.size - 2, _ID, len(mac), mac), packed[_HEADER:]))


def unsealed_gzip(key: str, data: bytes, secret: bytes = b"") -> bytes:
    """The unpacked bytes; of none that the secret did not seal, if one is given. Raises ``ValueError``."""
    if not data:
        raise ValueError("it is empty")
    unpacker = zlib.decompressobj(_GZIP_FORMAT)
    try:
        unpacked = unpacker.decompress(data, UNPACKED_BYTES)
    except zlib.error as error:
        raise ValueError(str(error)) from error
    if not unpacker.eof or unpacker.unused_data:
        raise ValueError(f"it is cut off, has something behind it, or unpacks to over {UNPACKED_BYTES:,} bytes")
    (time,) = struct.unpack("<L", data[_TIME])
    if time not in (0, _of_key(key)):
        raise ValueError(_BROKEN)
    if secret:
        _check(secret, key, unpacked, _mac_of(data))
    return unpacked


def _mac_of(packed: bytes) -> bytes:
    """The code in the header of packed bytes; empty where there is none."""
    if not packed[_FLAGS] & _EXTRA or len(packed) < _HEADER + _SUBFIELD.size:
        return b""
    _, name, length, mac = _SUBFIELD.unpack_from(packed, _HEADER)
    return bytes(mac) if (name, length) == (_ID, _MAC_BITS // 8) else b""


def _mac(secret: bytes, key: str, body: bytes) -> bytes:
    message = key.encode("utf-8", "surrogateescape") + b"\0" + body
    return hmac.digest(secret, message, "sha256")[: _MAC_BITS // 8]


def _check(secret: bytes, key: str, body: bytes, found: bytes) -> None:
    if not hmac.compare_digest(_mac(secret, key, body), found):
        raise ValueError(_FORGED)


def _sum(key: str, body: bytes) -> int:
    return crc32(body, _of_key(key))


def _of_key(key: str) -> int:
    return crc32(key.encode("utf-8", "surrogateescape")) or 1


def _blanks(number: int, bits: int = _BITS) -> bytes:
    return f"{number:0{bits}b}".translate({ord("0"): " ", ord("1"): "\t"}).encode()
