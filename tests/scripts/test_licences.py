"""The list of licences: what is declared in which words, and what is refused."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable, Mapping
from email.message import Message

import pytest

from scripts import licences


@pytest.fixture
def declares(monkeypatch: pytest.MonkeyPatch) -> Callable[[Mapping[str, str]], None]:
    """Lets every package declare the fields that a test gives."""

    def declare(fields: Mapping[str, str]) -> None:
        metadata = Message()
        for name, value in fields.items():
            metadata[name] = value
        monkeypatch.setattr(importlib.metadata, "metadata", lambda _: metadata)

    return declare


@pytest.mark.parametrize(
    ("fields", "licence"),
    [
        ({"License-Expression": "MIT"}, "MIT"),
        ({"License-Expression": "LGPL-2.1-only OR MIT"}, "MIT"),
        ({"License-Expression": "Apache-2.0 AND MIT"}, "Apache-2.0 and MIT"),
        ({"License": "a whole text", "Classifier": "License :: OSI Approved :: MIT License"}, "MIT"),
    ],
)
def test_declared(fields: dict[str, str], licence: str, declares: Callable[[Mapping[str, str]], None]) -> None:
    declares(fields)
    assert licences.licence_of("one") == licence


@pytest.mark.parametrize(
    "fields", [{}, {"License-Expression": "AGPL-3.0-only"}, {"License-Expression": "MIT AND GPL-3.0"}]
)
def test_refused(fields: dict[str, str], declares: Callable[[Mapping[str, str]], None]) -> None:
    declares(fields)
    with pytest.raises(licences.UnknownLicence, match=r"one declares .*: none of .*Apache-2.0"):
        licences.licence_of("one")


def test_a_package_that_is_not_installed_is_named() -> None:
    with pytest.raises(licences.UnknownLicence, match="no-such-package is not installed: run make setup"):
        licences.licence_of("no-such-package")
