"""Who gets at the local stack: its state, the file with its keys, and the owner of a connection."""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path

import pytest

from fanout_cli.local.access import Access
from fanout_cli.local.errors import LocalRunError
from fanout_cli.local.paths import LocalPaths
from fanout_cli.local.serving import peers


def test_a_state_is_made_private(tmp_path: Path) -> None:
    paths = LocalPaths.find(state=tmp_path / "a/state")
    paths.keep_private()
    assert paths.state.stat().st_mode & 0o777 == 0o700
    (paths.state / "tools").mkdir()
    paths.state.chmod(0o755)
    paths.keep_private()
    assert paths.state.stat().st_mode & 0o777 == 0o700


def test_a_directory_that_others_fill_is_no_state(tmp_path: Path) -> None:
    """Such as /tmp, which must stay as it is."""
    (tmp_path / "theirs").touch()
    tmp_path.chmod(0o1777)
    with pytest.raises(LocalRunError, match="every user may write"):
        LocalPaths.find(state=tmp_path).keep_private()
    assert tmp_path.stat().st_mode & 0o7777 == 0o1777


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_a_directory_of_another_user_is_no_state(tmp_path: Path) -> None:
    os.chown(tmp_path, 65_534, 65_534)
    with pytest.raises(LocalRunError, match="another user"):
        LocalPaths.find(state=tmp_path).keep_private()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_what_another_user_put_into_a_state_is_not_run(tmp_path: Path) -> None:
    """A directory that its group may write to, in which a member of it left something."""
    tmp_path.chmod(0o775)
    (tmp_path / "tools").mkdir()
    os.chown(tmp_path / "tools", 65_534, 65_534)
    with pytest.raises(LocalRunError, match="tools belongs to another user"):
        LocalPaths.find(state=tmp_path).keep_private()
    assert tmp_path.stat().st_mode & 0o777 == 0o775


IN_STATE = ["tools", "tools/uv/bin", "tools/uv/bin/uv", "build.toml"]


@pytest.mark.parametrize(
    ("path", "mode"), [("", 0o020), *((path, mode) for path in IN_STATE for mode in (0o020, 0o002))]
)
def test_what_others_may_have_written_is_refused_with_a_command_that_ends_it(
    tmp_path: Path, path: str, mode: int
) -> None:
    state = tmp_path / "a state"
    paths = LocalPaths.find(state=state)
    (state / "tools/uv/bin").mkdir(parents=True)
    for file in (state / "tools/uv/bin/uv", state / "build.toml"):
        file.write_text("it runs")
    (state / "link").symlink_to("tools")
    (state / "setup.done").touch(0o666)
    state.chmod(0o755)
    (state / path).chmod((state / path).stat().st_mode | mode)
    with pytest.raises(LocalRunError, match="others than you may write") as caught:
        paths.keep_private()
    assert state.stat().st_mode & 0o777 == 0o755 | (0 if path else mode), "nothing is changed"
    command = str(caught.value).partition("if you trust them: ")[2]
    subprocess.run(["sh", "-c", command], check=True)
    paths.keep_private()
    assert state.stat().st_mode & 0o777 == 0o700


def test_a_closed_state_keeps_what_a_wide_umask_made(tmp_path: Path) -> None:
    """Nobody else could enter it."""
    (tmp_path / "build").mkdir()
    (tmp_path / "build").chmod(0o775)
    tmp_path.chmod(0o700)
    LocalPaths.find(state=tmp_path).keep_private()
    assert (tmp_path / "build").stat().st_mode & 0o777 == 0o775


def test_the_keys_are_new_every_time_and_read_as_they_were_written(tmp_path: Path) -> None:
    file = tmp_path / "aws.env"
    file.touch(0o644)
    made = [Access.new("https://127.0.0.1:1", Path("/a b/'c'.pem")) for _ in range(2)]
    assert made[0].secret_access_key != made[1].secret_access_key and made[0].access_key_id != made[1].access_key_id
    made[0].write(file)
    assert Access.read(file) == made[0]
    assert file.stat().st_mode & 0o777 == 0o600
    file.write_text("export AWS_ENDPOINT_URL=https://127.0.0.1:1\n")
    with pytest.raises(ValueError, match="AWS_CA_BUNDLE"):
        Access.read(file)


def test_the_owner_is_told_of_an_open_connection_alone() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        with socket.create_connection(server.getsockname()) as client:
            ends = client.getsockname(), server.getsockname()
            assert peers.owner(*ends) == os.geteuid()
            accepted, _ = server.accept()
        # Closed, and in the kernel for a while, as a socket without an owner: root's, by /proc/net/tcp.
        assert peers.owner(*ends) is None
        accepted.close()
        assert peers.owner(*ends) is None
    assert peers.is_told()
