"""A checker written from docs/reference/certificate.md alone: it imports nothing of the product."""

import base64
import hashlib
import json
import os
import sys
from pathlib import Path

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature as decode


def canonical(value: object) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def file_digest(data: bytes) -> str:
    mib = 1024 * 1024
    block = 8 * mib if len(data) <= 80_000 * mib else -(-len(data) // (10_000 * mib)) * mib
    digests = [hashlib.sha256(data[at : at + block]).digest() for at in range(0, max(len(data), 1), block)]
    return digests[0].hex() if len(digests) == 1 else hashlib.sha256(b"".join(digests)).hexdigest()


def tree_digest(root: Path) -> str:
    sums = [0] * 1024
    for path in root.rglob("*"):
        if not (path.is_symlink() or path.is_file()):
            continue
        data = os.fsencode(os.readlink(path)) if path.is_symlink() else path.read_bytes()
        kind = b"symlink" if path.is_symlink() else b"file"
        fields = kind, b"%d" % len(data), file_digest(data).encode(), os.fsencode(path.relative_to(root))
        lanes = hashlib.shake_256(b"\0".join(fields)).digest(2048)
        sums = [(old + int.from_bytes(lanes[2 * at : 2 * at + 2], "little")) % 65536 for at, old in enumerate(sums)]
    return hashlib.sha256(b"".join(one.to_bytes(2, "little") for one in sums)).hexdigest()


def problem(data: bytes, key_der: bytes, root: Path) -> str:  # empty for none
    try:
        certificate = json.loads(data)
        if canonical(certificate) != data or set(certificate) != {"document", "signature"}:
            return "not in canonical form"
        document = certificate["document"]
        key = serialization.load_pem_public_key(document["key"]["public_key"].encode())
        assert isinstance(key, ec.EllipticCurvePublicKey)
        form = serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
        if key.public_bytes(*form) != key_der:
            return "another key"
        signature = base64.b64decode(certificate["signature"], validate=True)
        order = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
        if base64.b64encode(signature).decode() != certificate["signature"] or decode(signature)[1] > order // 2:
            return "a signature in another form"
        key.verify(signature, canonical(document), ec.ECDSA(hashes.SHA256()))
    except (ValueError, KeyError, TypeError, AssertionError, InvalidSignature, UnsupportedAlgorithm) as error:
        return f"not a certificate of this key: {error!r}"
    return "" if tree_digest(root) == document["destination"]["tree_digest"] else "another tree"


if __name__ == "__main__":
    sys.exit(problem(Path(sys.argv[1]).read_bytes(), Path(sys.argv[2]).read_bytes(), Path(sys.argv[3])) or None)
