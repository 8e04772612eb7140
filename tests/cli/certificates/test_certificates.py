"""``fanout certificate``: what it refuses and what it says of it; a checker written from the page agrees with it."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature, encode_dss_signature
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fanout.certificate.document import ORDER, canonical, decoded, in_one_form
from fanout_cli.certificates.signature import load_key
from fanout_cli.stacks import Stack
from tests.certificate import checker
from tests.cli.certificates.issued import Issued, fanout
from tests.cli.conftest import BUCKET, Aws
from tests.support.long import LONG


def test_a_certificate_as_it_was_written_is_taken_with_its_key_its_run_and_its_tree(issued: Issued) -> None:
    answer = issued.check("--run", "run-1", "--tree", issued.tree)
    assert answer.exit_code == 0, answer.stderr
    assert "is the certificate of run-1, unchanged since it was signed" in answer.stderr
    assert "is the certified source and the destination: 6 files and symlinks with 208 bytes" in answer.stderr
    assert "fingerprint" not in answer.stderr
    assert checker.problem(issued.data, issued.der, issued.tree) == ""
    der = issued.key.with_suffix(".der")
    der.write_bytes(issued.der)
    found = json.loads(fanout("check", issued.file, "--key", der, "--tree", issued.tree, "--json").stdout)
    assert (found["valid"], found["tree_equals"]) == (True, ["source", "destination"])


def test_without_a_key_nothing_is_proven_of_its_origin(kept: Issued) -> None:
    for more in ([], ["--tree", kept.tree, "--run", "run-1"]):
        answer = fanout("check", kept.file, *more)
        assert answer.exit_code == 3
        assert "Not checked: by whom" in answer.stderr
        assert "fanout certificate key --output key.pem" in answer.stderr
        answer = fanout("check", kept.file, "--json", *more)
        said = json.loads(answer.stdout)
        assert (answer.exit_code, said["valid"], said["key_given"]) == (3, None, False)


def test_a_key_is_given_by_its_fingerprint_as_well(kept: Issued, tmp_path: Path) -> None:
    digest = hashlib.sha256(kept.der).hexdigest()
    with_colons = ":".join(digest[at : at + 2] for at in range(0, 64, 2)).upper()
    for text in (digest, with_colons):
        answer = fanout("check", kept.file, "--fingerprint", text, "--json")
        assert (answer.exit_code, json.loads(answer.stdout)["valid"]) == (0, True), answer.stderr
    assert kept.check("--fingerprint", digest).exit_code == 0
    other = "0" * 64
    answer = fanout("check", kept.file, "--fingerprint", other)
    assert (answer.exit_code, "signed with another key" in answer.stderr) == (1, True)
    for arguments in (["--fingerprint", other, "--key", kept.key], ["--fingerprint", digest[:-1]]):
        answer = fanout("check", kept.file, *arguments)
        assert (answer.exit_code, "--fingerprint" in answer.stderr) == (2, True), answer.stderr


@given(st.data())
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_one_changed_byte_anywhere_is_refused_by_both_checkers(kept: Issued, data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(kept.data) - 1))
    refused_at(kept, place, data.draw(st.integers(0, 255).filter(lambda one: one != kept.data[place])))


def test_every_place_is_looked_at(kept: Issued) -> None:
    """Every byte with ``FANOUT_LONG=1``, else of each sixteen one, which the day chooses."""
    step = 1 if LONG else 16
    for place in range(int(os.environ["FANOUT_DAY"]) % step, len(kept.data), step):
        refused_at(kept, place, kept.data[place] ^ 1)


def refused_at(kept: Issued, place: int, byte: int) -> None:
    changed = kept.data[:place] + bytes([byte]) + kept.data[place + 1 :]
    file = kept.file.with_name("changed.json")
    file.write_bytes(changed)
    answer = fanout("check", file, "--key", kept.key)
    assert answer.exit_code == 1, answer.stderr
    assert "is refused: it" in answer.stderr
    assert checker.problem(changed, kept.der, kept.tree)


def with_a_line_break(signature: str) -> str:
    """Base64 that decodes to the same bytes."""
    return f"{signature[:4]}\n{signature[4:]}"


def with_the_other_s(signature: str) -> str:
    """The second signature that fits, which anybody computes from the first."""
    r, s = decode_dss_signature(base64.b64decode(signature))
    return base64.b64encode(encode_dss_signature(r, ORDER - s)).decode()


def rewritten(change: Callable[[Any], None]) -> Callable[[Issued], bytes]:
    def write(issued: Issued) -> bytes:
        value = json.loads(issued.data)
        change(value)
        return canonical(value)

    return write


@pytest.mark.parametrize(
    ("write", "words"),
    [
        (lambda issued: issued.data + b"\n", "not in canonical form"),
        (lambda issued: json.dumps(json.loads(issued.data), indent=1).encode(), "not in canonical form"),
        (lambda issued: issued.data[:-10], "not a JSON document"),
        (lambda issued: b"", "not a JSON document"),
        (lambda issued: b"[]", "no certificate"),
        (rewritten(lambda value: value["document"].pop("totals")), "no certificate"),
        (rewritten(lambda value: value.update(more=1)), "no certificate"),
        (rewritten(lambda value: value["document"]["totals"]["copied"].update(more=1)), "more than a certificate"),
        (rewritten(lambda value: value["document"].update(format="fanout-certificate-2")), "its format is"),
        (rewritten(lambda value: value["document"]["run"].update(id="run-2")), "signature does not fit"),
        (rewritten(lambda value: value["document"]["source"].update(bytes=1)), "signature does not fit"),
        (rewritten(lambda value: value["document"]["key"].update(algorithm="none")), "algorithm 'none'"),
        (rewritten(lambda value: value["document"]["key"].update(public_key="none")), "public key cannot be read"),
        (rewritten(lambda value: value.update(signature="")), "signature does not fit"),
        (rewritten(lambda value: value.update(signature=with_a_line_break(value["signature"]))), "does not fit"),
        (rewritten(lambda value: value.update(signature="?")), "signature does not fit"),
        (rewritten(lambda value: value.update(signature=with_the_other_s(value["signature"]))), "does not fit"),
    ],
)
def test_what_was_changed_is_refused_and_named(
    kept: Issued, tmp_path: Path, write: Callable[[Issued], bytes], words: str
) -> None:
    file = tmp_path / "changed.json"
    file.write_bytes(write(kept))
    answer = fanout("check", file)
    assert answer.exit_code == 1
    assert words in answer.stderr
    assert json.loads(fanout("check", file, "--json").stdout)["valid"] is False
    assert checker.problem(file.read_bytes(), kept.der, kept.tree)


def test_another_run_another_key_and_a_signature_of_another_certificate_are_refused(
    kept: Issued, tmp_path: Path
) -> None:
    other = Issued(tmp_path)
    assert "not of run-2" in kept.check("--run", "run-2").stderr
    answer = fanout("check", kept.file, "--key", other.key)
    assert answer.exit_code == 1
    assert "signed with another key" in answer.stderr
    value = json.loads(kept.data)
    value["signature"] = decoded(other.data).signature
    file = tmp_path / "mixed.json"
    file.write_bytes(canonical(value))
    assert "signature does not fit" in fanout("check", file).stderr
    assert checker.problem(kept.data, other.der, kept.tree) == "another key"


def forged(kept: Issued, **more: str) -> bytes:
    """A certificate of a key that somebody made, as good as the true one but for its origin."""
    key = ec.generate_private_key(ec.SECP256R1())
    value = json.loads(kept.data)
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    value["document"]["key"]["public_key"] = key.public_key().public_bytes(serialization.Encoding.PEM, form).decode()
    value["document"].update(more)
    signature = in_one_form(key.sign(canonical(value["document"]), ec.ECDSA(hashes.SHA256())))
    value["signature"] = base64.b64encode(signature).decode()
    return canonical(value)


def test_a_forger_with_a_key_of_their_own_is_told_by_the_stacks_key_alone(kept: Issued, tmp_path: Path) -> None:
    file = tmp_path / "forged.json"
    file.write_bytes(forged(kept))
    answer = fanout("check", file, "--json")
    assert (answer.exit_code, json.loads(answer.stdout)["valid"]) == (3, None)
    assert "signed with another key" in fanout("check", file, "--key", kept.key).stderr


@pytest.mark.parametrize("request_text", ["{", "[]", '"x"', "null"])
def test_a_request_that_is_none_is_named(kept: Issued, tmp_path: Path, request_text: str) -> None:
    file = tmp_path / "forged.json"
    file.write_bytes(forged(kept, request=request_text))
    answer = fanout("check", file, "--tree", kept.tree)
    assert (answer.exit_code, "its request is no JSON" in answer.stderr) == (1, True), answer.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--tree", "efs:///copy"], "only the stack sees this one"),
        (["--tree", "nowhere"], "none of the trees"),
        (["--key", "nowhere"], "--key: nowhere cannot be read"),
    ],
)
def test_what_cannot_be_read_is_named_with_a_remedy(kept: Issued, arguments: list[str], words: str) -> None:
    answer = fanout("check", kept.file, *arguments)
    assert (answer.exit_code, words in answer.stderr) == (2, True), answer.stderr


@pytest.mark.parametrize("kind", ["text", "rsa", "P-384"])
def test_a_key_of_another_kind_is_named(kept: Issued, tmp_path: Path, kind: str) -> None:
    path = tmp_path / "key"
    path.write_text("no key")
    if kind != "text":
        made: Any = rsa.generate_private_key(65537, 2048) if kind == "rsa" else ec.generate_private_key(ec.SECP384R1())
        form = serialization.PublicFormat.SubjectPublicKeyInfo
        path.write_bytes(made.public_key().public_bytes(serialization.Encoding.PEM, form))
    answer = fanout("check", kept.file, "--key", path)
    assert (answer.exit_code, "--key" in answer.stderr) == (2, True)


def test_show_says_what_is_certified(kept: Issued) -> None:
    answer = fanout("show", kept.file)
    assert answer.exit_code == 0
    for words in ("run-1 (copy)", "s3://a-bucket/tree/", "efs://data/copy", "6 files and symlinks", "tree digest"):
        assert words in answer.stdout
    assert json.loads(fanout("show", kept.file, "--json").stdout)["run"]["id"] == "run-1"
    assert fanout("show", kept.key).exit_code == 2


def test_get_brings_the_certificate_of_a_run_and_of_no_other(kept: Issued, aws: Aws, tmp_path: Path) -> None:
    aws.put("runs/run-1/certificate.json", kept.data)
    aws.put("runs/run-2/certificate.json", kept.data)
    aws.put("runs/run-3/certificate.json", b"no certificate")
    path = tmp_path / "brought.json"
    answer = aws.fanout("certificate", "get", "run-1", "--stack", "mine", "--output", str(path))
    assert answer.exit_code == 0, answer.stderr
    assert path.read_bytes() == kept.data
    for run, words in (("run-2", "not of run-2"), ("run-3", "not as it was written"), ("run-4", "no certificate")):
        answer = aws.fanout("certificate", "get", run, "--stack", "mine", "--output", str(tmp_path / run))
        assert (answer.exit_code, words in answer.stderr) == (2, True), answer.stderr
        assert not (tmp_path / run).exists()


def test_a_stack_without_a_key_says_how_it_gets_one(aws: Aws) -> None:
    answer = aws.fanout("certificate", "key", "--stack", "mine")
    assert (answer.exit_code, "Certificates=true" in answer.stderr) == (2, True)


def test_the_key_of_a_stack_is_asked_of_kms(aws: Aws, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = aws.client("kms").create_key(KeySpec="ECC_NIST_P256", KeyUsage="SIGN_VERIFY")["KeyMetadata"]["Arn"]
    outputs = {"StateMachineArn": "arn", "WorkBucketName": BUCKET, "CertificateKeyArn": made}
    stack = Stack("mine", outputs, aws.client, "--stack mine", 0.1)
    monkeypatch.setattr("fanout_cli.stacks.find_stack", lambda *_: stack)
    printed = fanout("key")
    assert fanout("key", "--output", tmp_path / "key.pem").exit_code == 0
    assert printed.stdout == (tmp_path / "key.pem").read_text()
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    der = load_key(printed.stdout.encode()).public_bytes(serialization.Encoding.DER, form)
    assert der == aws.client("kms").get_public_key(KeyId=made)["PublicKey"]
