"""Writes docs/reference/licences.md, the licences of what layer and command bring along; --check only compares."""

from __future__ import annotations

import importlib.metadata
import re
import sys
import textwrap
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/reference/licences.md"
REQUIREMENTS = ROOT / "layers/core/requirements.txt"
LOCK = ROOT / "uv.lock"
PROJECT = "fanout-transfer"

# A package under any other licence is refused until somebody has read it and put it here.
ALLOWED = {
    "0BSD", "Apache-2.0", "BSD", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "MIT-0", "MPL-2.0", "PSF-2.0",
}  # fmt: skip
# What older packages write, as the SPDX identifier that it stands for (spdx.org/licenses).
SPDX = {
    "Apache License 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "Apache License, Version 2.0": "Apache-2.0",
    "Apache 2.0": "Apache-2.0",
    "BSD License": "BSD",  # which of them the package does not say
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "MIT No Attribution License (MIT-0)": "MIT-0",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
}

HEAD = """# Licences

What each package of the layer and of the command `fanout` (*alone*: not in the layer) declares. A test refuses what
`scripts/licences.py` does not allow. The project's own is [Apache-2.0](../../LICENSE).

"""


class UnknownLicence(Exception):
    """A package declares no licence, or one that is not allowed."""


def layer_packages() -> set[str]:
    """The names that the layer's requirements pin."""
    return set(re.findall(r"^([a-z0-9._-]+)==", REQUIREMENTS.read_text(encoding="utf-8"), re.MULTILINE))


def command_packages() -> set[str]:
    """The names that the lock file resolves for the project with its extra ``cli``."""
    locked = {package["name"]: package for package in tomllib.loads(LOCK.read_text(encoding="utf-8"))["package"]}
    found: set[str] = set()
    waiting = list(_needed(locked[PROJECT], ["cli"]))
    while waiting:
        name, extras = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += _needed(locked[name], extras)
    return found


def _needed(package: Mapping[str, Any], extras: list[str]) -> Iterator[tuple[str, list[str]]]:
    further = package.get("optional-dependencies", {})
    for one in [*package.get("dependencies", []), *(one for extra in extras for one in further.get(extra, []))]:
        if "win32" not in one.get("marker", "") and one["name"] != PROJECT:
            yield one["name"], one.get("extra", [])


def licence_of(name: str) -> str:
    """The SPDX identifier of what a package declares. Raises ``UnknownLicence``."""
    try:
        metadata = importlib.metadata.metadata(name)
    except importlib.metadata.PackageNotFoundError as error:
        raise UnknownLicence(f"{name} is not installed: run make setup") from error
    classifiers = [
        one.rpartition(" :: ")[2] for one in metadata.get_all("Classifier", []) if one.startswith("License ::")
    ]
    fields = [text for field in ("License-Expression", "License") for text in metadata.get_all(field, [])]
    declared = [*fields, *classifiers]
    for text in declared:
        for choice in text.strip().split(" OR "):
            terms = {SPDX.get(term, term) for term in choice.split(" AND ")}
            if terms <= ALLOWED:
                return " and ".join(sorted(terms))
    raise UnknownLicence(f"{name} declares {declared}: none of {', '.join(sorted(ALLOWED))}")


def page() -> str:
    """The whole document."""
    layer, command = layer_packages(), command_packages()
    licences = {name: licence_of(name) for name in sorted(layer | command)}

    def row(licence: str) -> str:
        names = [name for name, declared in licences.items() if declared == licence]
        both, alone = (", ".join(name for name in names if (name in layer) is there) for there in (True, False))
        said = "; ".join([*([both] if both else []), *([f"*alone* {alone}"] if alone else [])])
        return textwrap.fill(f"- {licence}: {said}", 120, subsequent_indent="  ", break_on_hyphens=False) + "\n"

    return HEAD + "".join(row(licence) for licence in sorted(set(licences.values())))


def main() -> None:
    text = page()
    if "--check" not in sys.argv:
        PAGE.write_text(text, encoding="utf-8")
    elif not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text:
        sys.exit("docs/reference/licences.md is not what the lock files say: run make docs")


if __name__ == "__main__":
    main()
