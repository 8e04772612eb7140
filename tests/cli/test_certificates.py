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
from typer.testing import CliRunner, Result

from fanout.adapters.posix.tree import PosixTree
from fanout.certificate.document import canonical, decoded
from fanout.certificate.signature import ORDER, in_one_form
from fanout.model.entry import Attributes, Kind
from fanout.request.filtering.filters import Filters
from fanout.request.parts.symlinks import Symlinks
from fanout_cli.certificates.signature import load_key
from fanout_cli.certificates.trees import Part, digest_of_directory
from fanout_cli.main import app
from fanout_cli.stacks import Stack
from tests.certificate import checker
from tests.cli.conftest import BUCKET, REGION, Aws
from tests.support.flow import REQUEST, World
from tests.support.memory import MemoryTree
from tests.support.signing import LocalSigner

COPY = {**REQUEST, "verify": "content", "certificate": True}


class Issued:
    """The certificate of a copy to ``tree``, in ``file``, and its public key in ``key``."""

    def __init__(self, base: Path, request: dict[str, Any] | None = None) -> None:
        self.tree, self.file, self.key = base / "tree", base / "certificate.json", base / "key.pem"
        self.tree.mkdir(parents=True)
        self.signer = LocalSigner()
        world = World(destination=PosixTree(self.tree, "", "run-1", "n"), signer=self.signer)
        assert isinstance(world.source, MemoryTree)
        for number in range(4):
            world.source.put(f"d{number % 2}/f{number}", Kind.FILE, b"%d" % number * 50)
        world.source.put("link", Kind.FILE, b"d1/f1", Attributes(mode=0o120777))
        world.source.put("d1/notes.tmp", Kind.FILE, b"tmp")
        assert world.run(COPY | (request or {}))["status"] == "SUCCEEDED"
        self.data = world.ledger.read_bytes("certificate.json")
        self.file.write_bytes(self.data)
        self.key.write_text(self.signer.pem)

    @property
    def der(self) -> bytes:
        """The key as KMS gives it."""
        form = serialization.PublicFormat.SubjectPublicKeyInfo
        return load_key(self.signer.pem.encode()).public_bytes(serialization.Encoding.DER, form)

    def check(self, *arguments: object) -> Result:
        """With the stack's key."""
        return fanout("check", self.file, "--key", self.key, *arguments)


def fanout(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["certificate", *map(str, arguments)], env={"COLUMNS": "200"})


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Issued:
    """A certificate that no test changes."""
    return Issued(tmp_path_factory.mktemp("issued"))


@pytest.fixture
def issued(tmp_path: Path) -> Issued:
    return Issued(tmp_path)


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
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_one_changed_byte_anywhere_is_refused_by_both_checkers(kept: Issued, data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(kept.data) - 1))
    byte = data.draw(st.integers(0, 255).filter(lambda one: one != kept.data[place]))
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


@pytest.mark.parametrize("name", [".fanout-staging-run-9", ".fanout-staging-run-9/file"])
def test_a_tree_with_names_that_no_listing_shows_is_none_that_was_certified(issued: Issued, name: str) -> None:
    file = issued.tree / name
    file.parent.mkdir(exist_ok=True)
    file.write_text("hidden")
    answer = issued.check("--tree", issued.tree)
    assert (answer.exit_code, "holds .fanout-staging-run-9" in answer.stderr) == (2, True), answer.stderr
    assert checker.problem(issued.data, issued.der, issued.tree) == "another tree"


@pytest.mark.parametrize("what", ["bytes", "name", "missing", "more", "kind", "target"])
def test_a_tree_that_is_not_the_certified_one_is_refused(issued: Issued, what: str) -> None:
    file = issued.tree / "d1/f1"
    match what:
        case "bytes":
            file.write_bytes(b"2" * 50)
        case "name":
            file.rename(issued.tree / "d1/F1")
        case "missing":
            file.unlink()
        case "more":
            (issued.tree / "empty").touch()
        case "kind":
            (issued.tree / "link").unlink()
            (issued.tree / "link").write_text("d1/f1")
        case "target":
            (issued.tree / "link").unlink()
            (issued.tree / "link").symlink_to("d1/f3")
    answer = issued.check("--tree", issued.tree)
    assert answer.exit_code == 1
    assert "is not the certified tree" in answer.stderr
    assert checker.problem(issued.data, issued.der, issued.tree) == "another tree"


@pytest.mark.parametrize(("symlinks", "like"), [("keep", "symlink"), ("skip", "nothing"), ("follow", "file")])
def test_symlinks_of_a_tree_are_taken_as_the_request_took_them(tmp_path: Path, symlinks: str, like: str) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    for one in (here, there):
        one.mkdir()
        (one / "file").write_text("text")
    (here / "link").symlink_to("file")
    if like == "symlink":
        (there / "link").symlink_to("file")
    elif like == "file":
        (there / "link").write_text("text")
    found = digest_of_directory(here, Part(Filters(), Symlinks(symlinks)))
    assert found.hexdigest() == digest_of_directory(there, Part(Filters())).hexdigest()


def test_both_ends_of_a_run_that_skips_symlinks_are_the_certified_trees(tmp_path: Path, aws: Aws) -> None:
    issued = Issued(tmp_path, {"symlinks": "skip"})
    assert issued.check("--tree", issued.tree).exit_code == 0
    s3 = aws.client("s3")
    s3.create_bucket(Bucket="data", CreateBucketConfiguration={"LocationConstraint": REGION})
    for path in issued.tree.rglob("*"):
        if path.is_file():
            s3.put_object(Bucket="data", Key=f"in/{path.relative_to(issued.tree)}", Body=path.read_bytes())
    s3.put_object(Bucket="data", Key="in/link", Body=b"d1/f1", Metadata={"file-permissions": "0120777"})
    answer = aws.fanout("certificate", "check", str(issued.file), "--key", str(issued.key), "--tree", "s3://data/in/")
    assert answer.exit_code == 0, answer.stderr


def test_directories_times_and_modes_are_in_no_digest(issued: Issued) -> None:
    (issued.tree / "empty").mkdir()
    os.utime(issued.tree / "d1/f1", (1, 1))
    (issued.tree / "d1/f1").chmod(0o600)
    assert issued.check("--tree", issued.tree).exit_code == 0


def test_the_filters_of_the_request_find_its_part_of_a_tree_again(tmp_path: Path) -> None:
    issued = Issued(tmp_path, {"exclude": ["*.tmp", "cache/"]})
    (issued.tree / "d1/other.tmp").touch()
    (issued.tree / "cache").mkdir()
    (issued.tree / "cache/file").touch()
    answer = issued.check("--tree", issued.tree)
    assert (answer.exit_code, "5 files" in answer.stderr) == (0, True), answer.stderr
    (issued.tree / "d1/other.txt").touch()
    assert issued.check("--tree", issued.tree).exit_code == 1


def test_a_request_that_filters_by_time_has_no_tree_that_is_found_again(tmp_path: Path) -> None:
    issued = Issued(tmp_path, {"modified_after": "1970-01-01T00:00:01Z"})
    answer = issued.check("--tree", issued.tree)
    assert (answer.exit_code, "filters by time" in answer.stderr) == (2, True)
    assert issued.check().exit_code == 0


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


def test_a_file_that_changes_while_it_is_read_has_no_digest(issued: Issued, monkeypatch: pytest.MonkeyPatch) -> None:
    from fanout.adapters.posix.source import FileSource

    read = FileSource.read

    def changing(self: FileSource, offset: int, length: int) -> bytes:
        (issued.tree / "d1/f1").write_bytes(b"other")
        return read(self, offset, length)

    monkeypatch.setattr(FileSource, "read", changing)
    answer = issued.check("--tree", issued.tree)
    assert (answer.exit_code, "cannot be read, so the tree has no digest" in answer.stderr) == (2, True)


def test_show_says_what_is_certified(kept: Issued) -> None:
    answer = fanout("show", kept.file)
    assert answer.exit_code == 0
    for words in ("run-1 (copy)", "s3://a-bucket/tree/", "efs://data/copy", "6 files and symlinks", "tree digest"):
        assert words in answer.stdout
    assert json.loads(fanout("show", kept.file, "--json").stdout)["run"]["id"] == "run-1"
    assert fanout("show", kept.key).exit_code == 2


def test_a_prefix_of_a_bucket_is_the_certified_tree(kept: Issued, aws: Aws) -> None:
    s3 = aws.client("s3")
    s3.create_bucket(Bucket="data", CreateBucketConfiguration={"LocationConstraint": REGION})
    for path in kept.tree.rglob("*"):
        key = f"out/{path.relative_to(kept.tree)}"
        if path.is_symlink():
            target = os.readlink(path).encode()
            s3.put_object(Bucket="data", Key=key, Body=target, Metadata={"file-permissions": "0120777"})
        elif path.is_file():
            s3.put_object(Bucket="data", Key=key, Body=path.read_bytes())
        else:
            s3.put_object(Bucket="data", Key=f"{key}/", Body=b"")
    answer = aws.fanout("certificate", "check", str(kept.file), "--key", str(kept.key), "--tree", "s3://data/out/")
    assert answer.exit_code == 0, answer.stderr
    s3.put_object(Bucket="data", Key="out/link", Body=b"d1/f1")
    answer = aws.fanout("certificate", "check", str(kept.file), "--key", str(kept.key), "--tree", "s3://data/out/")
    assert (answer.exit_code, "a name, a kind or bytes differ" in answer.stderr) == (1, True)


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
