"""The checkout that the commands work in: the one they were started from, or the one that the wheel holds."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from importlib.resources import files
from pathlib import Path

from fanout import __version__
from fanout_cli.local.errors import LocalRunError

# What the wheel holds of the checkout (pyproject.toml, force-include).
PACKED = "checkout"
DONE = ".fanout/setup.done"
# Standard output is for what the command itself prints (--json); what the set-up's tools print goes to standard error.
STANDARD_ERROR = 2


def find_checkout() -> Path:
    """The root of the checkout that this file belongs to; of an installed wheel, what it holds, unpacked.

    Raises ``LocalRunError`` where there is neither.
    """
    own = Path(__file__).resolve().parents[3]
    if (own / "template.yaml").is_file():
        return own
    packed = Path(str(files("fanout_cli") / PACKED))
    if not (packed / "template.yaml").is_file():
        raise LocalRunError(f"{own} holds no template.yaml: install the wheel, or run from a checkout of the project")
    return _unpacked(packed)


def is_unpacked(root: Path) -> bool:
    """Whether a checkout is what a wheel held."""
    return root.parent == _cache()


def set_up(root: Path) -> None:
    """Install the tools of a local stack into an unpacked checkout, once; a checkout of a person is left alone.

    Raises ``LocalRunError`` where the set-up fails.
    """
    if not is_unpacked(root) or (root / DONE).is_file():
        return
    ended = subprocess.run(["sh", "scripts/setup.sh"], cwd=root, stdout=STANDARD_ERROR, check=False)
    if ended.returncode:
        raise LocalRunError(f"the set-up in {root} ended with {ended.returncode}; its last lines say why")
    (root / DONE).touch()


def _cache() -> Path:
    """Where the user's caches are (specifications.freedesktop.org/basedir-spec)."""
    above = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(above).resolve() / "fanout-transfer"


def _unpacked(packed: Path) -> Path:
    """The packed checkout in the user's cache, by its version and its bytes; whole or not there."""
    digest = hashlib.sha256()
    found = sorted(one for one in packed.rglob("*") if one.is_file() and "__pycache__" not in one.parts)
    for one in found:
        digest.update(f"{one.relative_to(packed)}\0{one.stat().st_size}\0".encode())
        digest.update(one.read_bytes())
    root = _cache() / f"{__version__}-{digest.hexdigest()[:12]}"
    if root.is_dir():
        return root
    root.parent.mkdir(parents=True, exist_ok=True)
    whole = Path(tempfile.mkdtemp(prefix=".", dir=root.parent))
    try:
        shutil.copytree(packed, whole, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
        whole.chmod(0o755)
        whole.rename(root)
    except OSError:
        if not root.is_dir():  # another process may have been first
            raise
    finally:
        shutil.rmtree(whole, ignore_errors=True)
    return root
