"""KMS asked to sign: what it answers, and what it answers wrong."""

from __future__ import annotations

import base64
import json

import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, utils

from fanout.adapters.aws.signer import KmsSigner
from fanout.certificate.document import ALGORITHM, KEY_SPEC
from fanout.model.errors import AccessDenied, FanoutError, InvalidRequest, Throttled, Transient
from tests.contract.conftest import REGION
from tests.contract.scripted_server import RESET, TRUNCATED, ScriptedServer, answer
from tests.support.s3_servers import KEY
from tests.support.signing import KEY_ARN, LocalSigner

OTHER = KEY_ARN.replace("1", "2")
DIGEST = bytes(32)


@pytest.fixture(autouse=True)
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, KEY)


def body(**said: object) -> bytes:
    return answer(200, json.dumps(said).encode())


def public_key(signer: LocalSigner, **said: object) -> bytes:
    der = "".join(signer.pem.splitlines()[1:-1])
    known = {"KeyId": KEY_ARN, "KeySpec": KEY_SPEC, "KeyUsage": "SIGN_VERIFY", "PublicKey": der}
    return body(**{**known, **said})


def signed(signer: LocalSigner, **said: object) -> bytes:
    signature = base64.b64encode(signer.sign(DIGEST)).decode()
    return body(**{"KeyId": KEY_ARN, "SigningAlgorithm": ALGORITHM, "Signature": signature, **said})


def test_a_digest_is_signed_by_the_key_that_is_named(server: ScriptedServer) -> None:
    local = LocalSigner()
    server.script = [public_key(local), signed(local)]
    signer = KmsSigner(REGION, KEY_ARN, server.url, attempts=1)
    key = signer.public_key()
    assert (key.arn, key.spec, key.algorithm, key.pem) == (KEY_ARN, KEY_SPEC, ALGORITHM, local.pem)
    loaded = serialization.load_pem_public_key(key.pem.encode())
    assert isinstance(loaded, ec.EllipticCurvePublicKey)
    loaded.verify(signer.sign(DIGEST), DIGEST, ec.ECDSA(utils.Prehashed(hashes.SHA256())))


@pytest.mark.parametrize(
    ("said", "error", "words"),
    [
        ({"KeyId": OTHER}, Transient, "the answer is about"),
        ({"KeySpec": "RSA_2048"}, InvalidRequest, "a certificate needs ECC_NIST_P256"),
        ({"KeyUsage": "ENCRYPT_DECRYPT"}, InvalidRequest, "a certificate needs ECC_NIST_P256"),
    ],
)
def test_another_key_is_not_taken(
    server: ScriptedServer, said: dict[str, object], error: type[FanoutError], words: str
) -> None:
    server.script = [public_key(LocalSigner(), **said)]
    with pytest.raises(error, match=words):
        KmsSigner(REGION, KEY_ARN, server.url, attempts=1).public_key()


@pytest.mark.parametrize("said", [{"KeyId": OTHER}, {"SigningAlgorithm": "ECDSA_SHA_512"}, {"Signature": ""}])
def test_a_signature_of_something_else_is_not_taken(server: ScriptedServer, said: dict[str, object]) -> None:
    server.script = [signed(LocalSigner(), **said)]
    with pytest.raises(Transient, match="kms:Sign on"):
        KmsSigner(REGION, KEY_ARN, server.url, attempts=1).sign(DIGEST)


@pytest.mark.parametrize(
    ("step", "error"),
    [
        (answer(400, b'{"__type": "AccessDeniedException", "message": "no"}'), AccessDenied),
        (answer(400, b'{"__type": "ThrottlingException", "message": "slow"}'), Throttled),
        (answer(400, b'{"__type": "DisabledException", "message": "disabled"}'), InvalidRequest),
        (answer(400, b'{"__type": "KMSInvalidStateException", "message": "pending deletion"}'), InvalidRequest),
        (answer(500, b'{"__type": "KMSInternalException", "message": "no"}'), Transient),
        (answer(200, b"{}"), Transient),
        (answer(200, b"no JSON"), Transient),
        (RESET, Transient),
        (TRUNCATED, Transient),
    ],
)
def test_a_fault_of_kms_has_the_name_that_says_what_to_do(
    server: ScriptedServer, step: bytes, error: type[FanoutError]
) -> None:
    for ask in ("public_key", "sign"):
        server.script = [step]
        signer = KmsSigner(REGION, KEY_ARN, server.url, attempts=1)
        with pytest.raises(error, match=KEY_ARN):
            signer.public_key() if ask == "public_key" else signer.sign(DIGEST)
