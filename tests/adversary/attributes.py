"""Attributes of objects as the product, other tools and accidents leave them; and what the oracle reads of them."""

from __future__ import annotations

import re
import stat
from collections.abc import Callable
from random import Random
from typing import Any

from msgspec.structs import replace

from tests.adversary.script import S3_TO_MOUNT, Spec

USER = "x-amz-meta-"
POSIX = f"{USER}file-"
_KINDS = {"symlink": stat.S_IFLNK, "directory": stat.S_IFDIR}
_SECOND_NS = 1_000_000_000
# Year 2400, which any file system of the tests keeps; 1601 and 9999, which objects alone do.
_FAR_NS = 13_569_465_600 * _SECOND_NS
_FARTHEST_NS = (-11_644_473_600 * _SECOND_NS, 253_402_300_799 * _SECOND_NS + 7, -1)
_BROKEN = ("yesterday", "", "-5", "1e9", "9" * 40, "0x1f", "1 2")


def own(spec: Spec) -> dict[str, str]:
    """What the product writes, and the services of AWS."""
    if spec.mode is None:
        return {}
    headers = {f"{POSIX}permissions": f"0{_whole_mode(spec):06o}", f"{POSIX}mtime": f"{spec.mtime_ns}ns"}
    if spec.uid is not None:
        headers[f"{POSIX}owner"] = str(spec.uid)
    if spec.gid is not None:
        headers[f"{POSIX}group"] = str(spec.gid)
    return headers


def _rclone(spec: Spec) -> dict[str, str]:
    return {f"{USER}mtime": f"{spec.mtime_ns // _SECOND_NS}.{spec.mtime_ns % _SECOND_NS:09d}"}


def _s3fs(spec: Spec) -> dict[str, str]:
    ids = {"uid": spec.uid or 0, "gid": spec.gid or 0}
    values = {"mode": _whole_mode(spec), "mtime": spec.mtime_ns // _SECOND_NS, **ids}
    return {f"{USER}{name}": str(value) for name, value in values.items()}


def _s3cmd(spec: Spec) -> dict[str, str]:
    values = {"gid": spec.gid or 0, "mode": _whole_mode(spec), "mtime": spec.mtime_ns // _SECOND_NS}
    return {f"{USER}s3cmd-attrs": "/".join(f"{name}:{value}" for name, value in values.items())}


def _decimal(spec: Spec) -> dict[str, str]:
    return {**own(spec), f"{POSIX}permissions": str(_whole_mode(spec))}


def _broken(spec: Spec) -> dict[str, str]:
    draw = Random(spec.seed)
    names = draw.sample(("permissions", "mtime", "owner", "group"), draw.randint(1, 4))
    return {**own(spec), **{f"{POSIX}{name}": draw.choice(_BROKEN) for name in names}}


FORMS: dict[str, Callable[[Spec], dict[str, str]]] = {
    "": own,
    "none": lambda spec: {},
    "rclone": _rclone,
    "s3fs": _s3fs,
    "s3cmd": _s3cmd,
    "decimal": _decimal,
    "broken": _broken,
}


def foreign(draw: Random, specs: tuple[Spec, ...], direction: str) -> tuple[Spec, ...]:
    """The files of a tree in S3, some without attributes, with those of other tools, broken ones, or far mtimes."""
    forms = [form for form in FORMS if form]
    found = []
    for spec in specs:
        chance, form = draw.random(), draw.choice(forms)
        far = draw.choice(_FARTHEST_NS) if direction != S3_TO_MOUNT else _FAR_NS
        if spec.kind == "file" and chance < 0.15:
            spec = replace(spec, attributes=form)
        elif spec.kind == "file" and chance < 0.2:
            spec = replace(spec, mtime_ns=far)
        found.append(spec)
    return tuple(found)


def _whole_mode(spec: Spec) -> int:
    return _KINDS.get(spec.kind, stat.S_IFREG) | (spec.mode or 0o644)


def mode_of(headers: dict[str, str]) -> int | None:
    """The mode that an object tells: octal, after a 0 if it is a whole ``st_mode``."""
    text = headers.get(f"{POSIX}permissions", "")
    told = re.fullmatch(r"0[0-7]{1,19}|[0-7]{1,4}", text, re.ASCII)
    return int(text, 8) if told and int(text, 8) < 2**16 else None


def id_of(headers: dict[str, str], name: str) -> int | None:
    """The owner or group that an object tells."""
    text = headers.get(f"{POSIX}{name}", "")
    return int(text) if re.fullmatch(r"[0-9]{1,20}", text) and int(text) < 2**32 else None


def mtime_of(headers: dict[str, str]) -> int | None:
    """The mtime that an object tells: nanoseconds, or milliseconds without a unit."""
    told = re.fullmatch(r"(-?[0-9]{1,28})(ns)?", headers.get(f"{POSIX}mtime", ""))
    if not told:
        return None
    mtime_ns = int(told[1]) * (1 if told[2] else 1_000_000)
    return mtime_ns if abs(mtime_ns) < 2**63 * _SECOND_NS else None


def told_by(tool: str, headers: dict[str, str]) -> dict[str, Any]:
    """The attributes of an object that a tool wrote in its own way, by the fields of a version."""
    said = {name.removeprefix(USER): text for name, text in headers.items() if name.startswith(USER)}
    if tool == "s3cmd":
        said = dict(pair.split(":", 1) for pair in said.get("s3cmd-attrs", "").split("/") if pair)
    elif tool == "rclone":
        said = {name: text for name, text in said.items() if name == "mtime"}
    found: dict[str, Any] = {name: int(said[name]) for name in ("uid", "gid") if name in said}
    if "mode" in said:
        found["mode"] = stat.S_IMODE(int(said["mode"]))
    if "mtime" in said:
        seconds, _, fraction = said["mtime"].partition(".")
        found["mtime_ns"] = int(seconds) * _SECOND_NS + int(fraction.ljust(9, "0") or 0)
    return found
