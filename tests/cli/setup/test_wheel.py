"""The wheel in a fresh environment and an empty directory: the command, a first configuration, a deployment."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import boto3
import pytest

from tests.support import s3_servers
from tests.support.s3_servers import KEY
from tests.template.templates import REPO

UV = REPO / ".fanout/tools/uv/bin/uv"
FAKE_SAM = '#!/bin/sh\necho "$PWD: $*" >> "{log}"\n[ "$1" = build ]\n'


@dataclass
class Installed:
    """The command of the wheel, and a person who has nothing but it."""

    command: Path
    wheel: Path
    home: Path
    seconds: float = 0.0

    def run(self, *words: str, path: str = "/usr/bin:/bin") -> subprocess.CompletedProcess[str]:
        home = str(self.home)
        environment = {"HOME": home, "XDG_CACHE_HOME": f"{home}/cache", "PATH": path, "AWS_REGION": "eu-west-1"}
        environment["LANG"] = "C.UTF-8"
        return subprocess.run(
            [str(self.command), *words],
            cwd=self.home / "empty",
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    root = tmp_path_factory.mktemp("wheel")
    environment = os.environ | {"UV_SYSTEM_CERTS": "1", "UV_LINK_MODE": "copy", "UV_PYTHON_DOWNLOADS": "never"}

    def uv(*words: str | Path) -> None:
        subprocess.run([UV, *words], env=environment, check=True, timeout=240, cwd=root)

    uv("build", "-q", "--wheel", "-o", root / "dist", REPO)
    [wheel] = (root / "dist").glob("*.whl")
    uv("venv", "-q", "--python", sys.executable, root / "venv")
    began = time.monotonic()
    uv("pip", "install", "-q", "--python", root / "venv/bin/python", wheel)
    seconds = time.monotonic() - began
    (root / "home/empty").mkdir(parents=True)
    return Installed(root / "venv/bin/fanout", wheel, root / "home", seconds)


def test_it_holds_what_is_deployed_and_nothing_that_was_made(installed: Installed) -> None:
    names = ZipFile(installed.wheel).namelist()
    held = {name.removeprefix("fanout_cli/checkout/") for name in names if name.startswith("fanout_cli/checkout/")}
    tracked = subprocess.run(["git", "ls-files"], cwd=REPO, capture_output=True, text=True, check=True).stdout.split()
    parts = ("cli/", "functions/", "layers/", "scripts/", "statemachine/", "templates/", "tools/")
    wanted = {name for name in tracked if name.startswith(parts)}
    assert wanted <= held
    made = {name for name in held if "__pycache__" in name or name.startswith((".venv", ".fanout"))}
    assert not made


def test_the_command_needs_no_extra(installed: Installed) -> None:
    assert installed.run("--version").stdout.startswith("fanout ")
    assert installed.run("list", "--help").returncode == 0


def test_trees_are_copied_by_the_package_alone(installed: Installed, capsys: pytest.CaptureFixture[str]) -> None:
    """No checkout, and no program on the path: neither node nor gcc, neither git nor make."""
    empty = installed.home / "empty"
    for number in range(20):
        file = empty / f"a/d{number % 3}/f{number}"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"x" * number)
    seconds = []
    for words in (("copy", "./a", "./b"), ("copy", "./a", "./again"), ("verify", "./a", "./b", "--certificate")):
        began = time.monotonic()
        ended = installed.run("local", *words, path="/nonexistent")
        seconds.append(time.monotonic() - began)
        assert ended.returncode == 0 and "SUCCEEDED" in ended.stderr, ended.stderr
    assert subprocess.run(["diff", "-r", empty / "a", empty / "b"], check=False).returncode == 0
    [report] = re.findall(r"report: (.*)", ended.stderr)
    page = Path(report).read_text(encoding="utf-8")
    assert "<html" in page and "SUCCEEDED" in page
    assert not (installed.home / "cache").exists(), "the package unpacked the files of a checkout"
    venv = installed.command.parents[1]
    bytes_there = sum(one.lstat().st_blocks * 512 for one in venv.rglob("*") if not one.is_dir())
    with capsys.disabled():
        print(
            f"\nwheel {installed.wheel.stat().st_size / 1e6:.1f} MB, installed {bytes_there / 1e6:.0f} MB in "
            f"{installed.seconds:.1f} s; first copy {seconds[0]:.2f} s, second {seconds[1]:.2f} s, "
            f"verify with a certificate {seconds[2]:.2f} s"
        )


def test_a_bucket_is_copied_by_the_package_alone(installed: Installed) -> None:
    with s3_servers.moto() as server:
        s3: Any = boto3.client(
            "s3", endpoint_url=server.url, region_name="us-east-1", aws_access_key_id=KEY, aws_secret_access_key=KEY
        )
        s3.create_bucket(Bucket="alone")
        s3.put_object(Bucket="alone", Key="in/x", Body=b"one")
        file = installed.home / ".aws/credentials"
        file.parent.mkdir()
        file.write_text(f"[default]\naws_access_key_id = {KEY}\naws_secret_access_key = {KEY}\n", encoding="utf-8")
        words = ("local", "copy", "s3://alone/in/", "./from-s3", "--s3-endpoint", server.url)
        ended = installed.run(*words, path="/nonexistent")
    assert ended.returncode == 0, ended.stderr
    assert (installed.home / "empty/from-s3/x").read_bytes() == b"one"


def test_it_brings_the_man_page(installed: Installed) -> None:
    page = installed.command.parents[1] / "share/man/man1/fanout.1"
    assert page.read_bytes() == (REPO / "docs/man/fanout.1").read_bytes()


def test_a_stack_is_configured_and_deployed_from_an_empty_directory(installed: Installed) -> None:
    wrote = installed.run("init", "--read", "my-data", "--stack", "mine", "--yes")
    assert wrote.returncode == 0, wrote.stderr
    samconfig = installed.home / "empty/samconfig.toml"
    assert "[mine.deploy.parameters]" in samconfig.read_text(encoding="utf-8")
    sam, log = installed.home / "bin/sam", installed.home / "sam.log"
    sam.parent.mkdir()
    sam.write_text(FAKE_SAM.format(log=log))
    sam.chmod(0o755)
    ended = installed.run("deploy", "--config-env", "mine", path=f"{sam.parent}:/usr/bin:/bin")
    assert ended.returncode == 2 and "sam deploy failed" in ended.stderr
    build, deploy = log.read_text().splitlines()
    root = Path(build.partition(":")[0])
    assert root.parent == installed.home / "cache/fanout-transfer"
    assert {"template.yaml", "templates", "statemachine", "functions", "layers"} <= {one.name for one in root.iterdir()}
    assert build.endswith(f": build --config-file {samconfig} --config-env mine")
    assert f"deploy --stack-name mine --config-file {samconfig}" in deploy


def test_the_readme_s_deployment_pastes_into_a_bare_shell_up_to_aws(installed: Installed) -> None:
    """``make`` and ``sam`` only say that they were called; the second sam, which would ask AWS, fails."""
    readme = (REPO / "README.md").read_text(encoding="utf-8")
    [block] = [one for one in re.findall(r"```sh\n(.*?)```", readme, re.DOTALL) if "fanout deploy" in one]
    here, log = installed.home / "empty", installed.home / "readme.log"
    (here / "samconfig.toml").unlink(missing_ok=True)
    (here / ".venv/bin").mkdir(parents=True)
    (here / ".venv/bin/fanout").symlink_to(installed.command)
    programs = installed.home / "programs"
    programs.mkdir()
    for name, text in {"make": f'#!/bin/sh\necho "make $*" >> "{log}"\n', "sam": FAKE_SAM.format(log=log)}.items():
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    environment = {"HOME": str(installed.home), "PATH": f"{programs}:/usr/bin:/bin", "LANG": "C.UTF-8"}
    words = ["sh", "-eu", "-c", block]
    ended = subprocess.run(words, cwd=here, env=environment, capture_output=True, text=True, timeout=240, check=False)
    assert "sam deploy failed" in ended.stderr, ended.stderr
    made, build, deploy = log.read_text(encoding="utf-8").splitlines()
    assert (made, ": build --config-file" in build) == ("make setup", True)
    assert "deploy --stack-name fanout" in deploy and 'region = "eu-west-1"' in (here / "samconfig.toml").read_text()


def test_a_directory_without_a_configuration_says_what_writes_it(installed: Installed) -> None:
    (installed.home / "empty/samconfig.toml").unlink(missing_ok=True)
    sam = installed.home / "bin2/sam"
    sam.parent.mkdir()
    sam.write_text("#!/bin/sh\nexit 1\n")
    sam.chmod(0o755)
    ended = installed.run("deploy", path=f"{sam.parent}:/usr/bin:/bin")
    assert ended.returncode == 2
    assert "fanout init" in ended.stderr
