"""The layer is made of its lock file and its sources alone: built twice, in two places, it is the same."""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
from importlib.util import MAGIC_NUMBER, source_from_cache
from pathlib import Path

import pytest

from fanout.facts import aws
from fanout.report.templating import environment
from fanout_cli.local import find_toolchain
from tests.support import runs
from tests.support.pages import rendered, sources
from tests.template.templates import REPO

pytestmark = pytest.mark.e2e
UV = REPO / ".fanout/tools/uv/bin/uv"
SAM = find_toolchain(REPO).sam.parent


def build(place: Path, interpreter: str = sys.executable, tools: Path | None = None, **chosen: str) -> Path:
    """Build the layer in a copy of its folder, as ``sam build`` does, for the Python that runs the tests."""
    folder, made = place / "core", place / "made"
    shutil.copytree(REPO / "layers/core", folder, ignore=shutil.ignore_patterns("__pycache__"))
    path = f"{tools or UV.parent}:{os.environ['PATH']}"
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    given = {"FANOUT_LAYER_PYTHON": version, "FANOUT_LAYER_INTERPRETER": interpreter, **chosen}
    words = [f"{name}={value}" for name, value in given.items()]
    command = ["make", "--no-print-directory", "build-CoreLayer", f"ARTIFACTS_DIR={made}", *words]
    subprocess.run(command, cwd=folder, env={**os.environ, "PATH": path}, check=True, capture_output=True)
    return made


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A layer for the Python that runs the tests, which no test changes, and the folder where it was built."""
    place = tmp_path_factory.mktemp("usual")
    return place, build(place, FANOUT_LAYER_PLATFORM=platform.machine())


def digest_of(made: Path) -> str:
    """A digest of names, modes and bytes."""
    digest = hashlib.sha256()
    files = sorted(path for path in made.rglob("*") if path.is_file())
    assert len(files) > 100
    for file in files:
        digest.update(f"{file.relative_to(made)} {file.stat().st_mode & 0o777:o}\n".encode())
        digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()


def test_the_same_input_makes_the_same_layer(usual: tuple[Path, Path], tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    assert digest_of(build(elsewhere, FANOUT_LAYER_PLATFORM=platform.machine())) == digest_of(usual[1])


def test_bytecode_lies_beside_every_module_and_tells_nothing_of_the_builder(usual: tuple[Path, Path]) -> None:
    place, made = usual
    sources = {path.relative_to(made) for path in made.rglob("*.py")}
    compiled = {Path(source_from_cache(str(path.relative_to(made)))) for path in made.rglob("*.pyc")}
    assert compiled == sources
    for path in made.rglob("*.pyc"):
        data = path.read_bytes()
        assert data[:8] == MAGIC_NUMBER + bytes([1, 0, 0, 0])  # by hash, and not checked (PEP 552)
        assert os.fsencode(place) not in data
    assert b"/opt/python/fanout/" in next(
        path.read_bytes() for path in made.rglob("fanout/ledger/__pycache__/ledger.*.pyc")
    )


def test_the_templates_are_rendered_from_bytecode_to_the_pages_of_the_sources(
    usual: tuple[Path, Path], tmp_path: Path
) -> None:
    compiled = shutil.copytree(usual[1] / "python/fanout/report/compiled", tmp_path / "compiled")
    for module in compiled.glob("*.py"):
        module.write_text("raise AssertionError('there is bytecode of it')")
    for name in sources():
        assert Path(str(environment(compiled).get_template(name).filename)).parent == compiled
    [(of_sources, of_compiled)] = rendered(runs.hostile, compiled)
    assert of_compiled.encode() == of_sources.encode()


def test_without_the_target_s_python_the_build_says_what_to_install(tmp_path: Path) -> None:
    with pytest.raises(subprocess.CalledProcessError) as failed:
        build(tmp_path, interpreter="no-such-python")
    assert "no Python" in failed.value.stderr.decode() and "uv python install" in failed.value.stderr.decode()


def test_a_python_is_found_wherever_it_stands_on_the_path(tmp_path: Path) -> None:
    """A stand-in says that it is 3.99; programs of that name that do not are passed over, as a shim that runs none."""
    for folder, said in (("shims", "exit 1"), ("real", "echo 3.99")):
        program = tmp_path / folder / "python3.99"
        program.parent.mkdir()
        program.write_text(f"#!/bin/sh\n{said}\n")
        program.chmod(0o755)
    path = f"{tmp_path}/shims:/usr/bin:/bin:{tmp_path}/real"
    command = ["/bin/sh", str(REPO / "layers/core/find.sh"), "python", "3.99"]
    environment = {"PATH": path, "HOME": str(tmp_path)}
    assert subprocess.check_output(command, env=environment, text=True).strip() == f"{tmp_path}/real/python3.99"


def test_the_layer_is_built_where_the_sam_of_the_set_up_is_on_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its Python goes first then, and has no pip; what installs is the set-up's uv beside it."""
    without_uv(monkeypatch)
    assert (build(tmp_path, tools=SAM) / "python/msgspec").is_dir()


def test_the_layer_is_built_by_the_uv_of_the_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where sam is called by its path, on a system whose Python has no pip."""
    without_uv(monkeypatch)
    uv = tmp_path / "checkout/.fanout/tools/uv/bin/uv"
    uv.parent.mkdir(parents=True)
    uv.symlink_to(UV)
    empty = tmp_path / "empty"
    empty.mkdir()
    made = build(tmp_path / "checkout/.aws-sam", tools=empty)
    assert (made / "python/msgspec").is_dir()


def without_uv(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take uv off the PATH."""
    others = [one for one in os.environ["PATH"].split(":") if not (Path(one) / "uv").exists()]
    monkeypatch.setenv("PATH", ":".join(others))


@pytest.fixture(scope="module", params=["aarch64", "x86_64"])
def deployed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """The layer as a release has it for one processor, and the processor."""
    made = tmp_path_factory.mktemp(request.param)
    chosen = {"FANOUT_LAYER_PYTHON": "3.13", "FANOUT_LAYER_PLATFORM": request.param}
    return request.param, build(made, "none", **chosen)


# e_machine of an ELF file: EM_AARCH64, EM_X86_64.
MACHINES = {"aarch64": 183, "x86_64": 62}
# docs.aws.amazon.com/lambda/latest/dg/lambda-runtimes.html: Amazon Linux 2023.
GLIBC = (2, 34)
VERSION = re.compile(rb"\0GLIBC_(\d+)\.(\d+)(?=[.\0])")


def test_every_library_is_of_the_processor_and_of_the_glibc_that_lambda_has(deployed: tuple[str, Path]) -> None:
    processor, made = deployed
    libraries = [path for path in made.rglob("*") if path.is_file() and path.read_bytes()[:4] == b"\x7fELF"]
    assert len(libraries) > 5
    for path in libraries:
        data = path.read_bytes()
        assert int.from_bytes(data[18:20], "little") == MACHINES[processor], path
        wanted = {(int(major), int(minor)) for major, minor in VERSION.findall(data)}
        assert max(wanted, default=(0, 0)) <= GLIBC, path
    tags = {path.name.split(".", 1)[1] for path in libraries if ".cpython-" in path.name}
    assert tags == {f"cpython-313-{processor}-linux-gnu.so"}


def test_the_layer_is_within_what_lambda_takes(deployed: tuple[str, Path], tmp_path: Path) -> None:
    """With bytecode, which adds as much as the sources have; a function's own code is a line."""
    processor, made = deployed
    sizes = {path: path.stat().st_size for path in made.rglob("*") if path.is_file()}
    sources = sum(size for path, size in sizes.items() if path.suffix == ".py")
    assert sum(sizes.values()) + 2 * sources < aws.LAYER_BYTES
    packed = Path(shutil.make_archive(str(tmp_path / processor), "zip", made))
    assert packed.stat().st_size < aws.UPLOAD_BYTES


def test_who_wants_none_has_no_bytecode(deployed: tuple[str, Path]) -> None:
    _, made = deployed
    assert not list(made.rglob("*.pyc"))
    assert not (made / "python/fanout/report/compiled").exists()
    assert (made / "python/fanout/ledger/ledger.py").is_file()


FUNCTIONS = sorted(path.parent.name for path in (REPO / "functions").glob("*/app.py"))


IMPORTED = """
import sys
sys.path[:0] = [{layer!r}, {function!r}]
import app
assert callable(app.handler)
"""


def test_every_handler_is_there_under_the_files_of_the_layer_alone(usual: tuple[Path, Path], tmp_path: Path) -> None:
    """Without site-packages, where a checkout's own lie. The runtime's boto3 is not needed before a call."""
    made = usual[1]
    for function in FUNCTIONS:
        code = IMPORTED.format(layer=str(made / "python"), function=str(REPO / "functions" / function))
        command = [sys.executable, "-I", "-S", "-c", code]
        ended = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
        assert ended.returncode == 0, f"{function}: {ended.stderr}"
