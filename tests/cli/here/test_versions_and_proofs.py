"""What is published on this machine and undone; certificates with a key of this machine; copies of what differs."""

from __future__ import annotations

import json
import stat
import subprocess
from pathlib import Path

import pytest

from tests.cli.here.conftest import FANOUT, End, Here


@pytest.fixture
def source(here: Here) -> End:
    end = End("mount", here.home / "in")
    end.put("a", b"one")
    return end


def fanout(here: Here, *words: str, status: int = 0) -> str:
    """A command about no ledger."""
    ended = subprocess.run(
        [FANOUT, *words], capture_output=True, text=True, env=here.environment, cwd=here.home, check=False
    )
    assert ended.returncode == status, ended.stderr
    return ended.stdout + ended.stderr


def test_a_tree_without_a_version_is_told_the_command_that_publishes(here: Here, source: End) -> None:
    here.run("copy", "in", "out")
    said = " ".join(here.run("versions", "out", status=2).stderr.split())
    assert "has no published version; publish with: fanout local copy SOURCE DESTINATION --publish current" in said


def test_versions_are_listed_and_one_is_published_again(here: Here, source: End) -> None:
    for name in ("v1", "v2"):
        source.put("a", name.encode())
        here.run("copy", "in", "site", "--publish", "current", "--name", name)
    listed = here.run("versions", "site").stdout.splitlines()
    assert [line.split("\t")[0] for line in listed] == ["* v2", "  v1"] and "efs://" not in "".join(listed)
    said = here.run("rollback", "site").stderr
    assert "published: current -> v1, before v2" in said
    assert (here.home / "site/current/a").read_bytes() == b"v1"
    said = here.run("rollback", "efs://web/site", "v2", "--mount", f"web={here.home}").stderr
    assert "published: current -> v2" in said and (here.home / "site/current/a").read_bytes() == b"v2"
    assert "no version 'v9'; known are v2, v1" in here.run("rollback", "site", "v9", status=2).stderr
    assert "has no published version; published are " in here.run("versions", "in", status=2).stderr


def test_a_certificate_is_signed_with_the_key_of_this_machine_and_checked_without_it(here: Here, source: End) -> None:
    here.run("copy", "in", "out")
    here.run("verify", "in", "out", "--certificate", "--name", "proof")
    said = here.run("certificate", "--key-output", "key.pem").stderr
    assert "certificate-proof.json: signed with local:key:" in said
    words = ("certificate", "check", "certificate-proof.json", "--key", "key.pem", "--run", "proof")
    assert "unchanged since it was signed" in fanout(here, *words, "--tree", "out")
    source.put("a", b"two")
    assert "in" in fanout(here, *words, "--tree", "in", status=1)
    key = here.ledger / ".signing-key.pem"
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    first = json.loads((here.home / "certificate-proof.json").read_text(encoding="utf-8"))["document"]["key"]
    here.run("copy", "in", "out", "--verify", "all", "--certificate", "--name", "again", "--state", "elsewhere")
    here.run("certificate", "again", "--state", "elsewhere", "--output", "again.json")
    again = json.loads((here.home / "again.json").read_text(encoding="utf-8"))["document"]["key"]
    assert first == again


def test_a_key_of_openssl_signs_and_another_one_is_refused_before_the_run(here: Here, source: End) -> None:
    here.run("copy", "in", "out")
    make = ("openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", "mine.pem")
    subprocess.run(make, cwd=here.home, check=True, capture_output=True)
    here.run("verify", "in", "out", "--certificate", "--signing-key", "mine.pem", "--name", "proof")
    public = ("openssl", "pkey", "-in", "mine.pem", "-pubout", "-out", "public.pem")
    subprocess.run(public, cwd=here.home, check=True, capture_output=True)
    here.run("certificate", "proof")
    assert "unchanged" in fanout(here, "certificate", "check", "certificate-proof.json", "--key", "public.pem")
    (here.home / "no-key").write_bytes(b"x")
    for file, why in (("no-key", "holds no private key"), ("none", "cannot be read")):
        said = here.run("verify", "in", "out", "--certificate", "--signing-key", file, "--name", "no", status=2).stderr
        assert why in said and "openssl genpkey" in said
    assert not (here.ledger / "runs/no").exists()


def test_a_copy_of_what_a_verification_found(here: Here, source: End) -> None:
    source.put("same", b"same")
    here.run("copy", "in", "out")
    source.put("a", b"two")
    here.run("verify", "in", "out", "--name", "found", status=1)
    refused = here.run("copy", "in", "out", "--from-verify", "found", status=2).stderr
    assert "--from-verify RUN is in place of SOURCE" in refused
    assert "listed 1, copied 1" in here.run("copy", "--from-verify", "found").stderr
    assert (here.home / "out/a").read_bytes() == b"two"
    here.run("verify", "in", "out", "--name", "equal")
    assert "found no difference" in here.run("copy", "--from-verify", "equal", status=2).stderr
    assert "Missing argument" in here.run("copy", "in", status=2).stderr


def test_a_mount_has_the_name_that_a_stack_gives_it(here: Here, source: End, tmp_path: Path) -> None:
    efs = tmp_path / "efs"
    efs.mkdir()
    here.run("copy", "in", "efs://data/x", "--mount", f"data={efs}")
    here.run("copy", "in", "efs:///y", "--mount", f"data={efs}")
    assert End("mount", efs).files() == {"x/a": b"one", "y/a": b"one"}
    for words, why in (
        (("efs://data/x",), "add --mount data=DIRECTORY"),
        (("efs://other/x", "--mount", f"data={efs}"), "add --mount other=DIRECTORY"),
        (("efs://data/../x", "--mount", f"data={efs}"), "leads out of its mount"),
        (("efs://data/x", "--mount", "data"), "is not NAME=DIRECTORY"),
        (("efs://data/x", "--mount", "data=/none"), "there is no such directory; mount"),
    ):
        assert why in here.run("copy", "in", *words, status=2).stderr
