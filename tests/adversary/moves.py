"""Moves: drawn, and judged. What has gone at the source has its copy, and nothing else there has changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

from msgspec.structs import replace

from tests.adversary.deeds import soon
from tests.adversary.elsewhere import lost_of, parted
from tests.adversary.metadata import judge_metadata_of_move, may_lose
from tests.adversary.scope import Finding
from tests.adversary.script import INSIDE_S3, S3_TO_MOUNT, TWO_MOUNTS, WITHIN_MOUNT, Act, Change, Fault, Script, Spec
from tests.adversary.trees import Snapshot, Version
from tests.adversary.views import view

# Fields that a move refuses.
_REFUSED = ("overwrite", "delete_guard", "verify", "certificate", "publish")


def move(draw: Random, options: dict[str, Any]) -> None:
    """Draw a move, where the request is one of a copy."""
    chance, by_content = draw.random(), draw.random() < 0.3
    if chance > 0.25 or options.get("mode", "copy") != "copy" or options.get("symlinks") == "follow":
        return
    for field in _REFUSED:
        options.pop(field, None)
    options["mode"] = "move"
    if by_content:
        options["verify"] = "content"
    may_lose(chance, options)


def opened(
    draw: Random, direction: str, source: tuple[Spec, ...], options: dict[str, Any], acts: tuple[Act, ...]
) -> tuple[tuple[Spec, ...], tuple[Act, ...]]:
    """A move's source with a file of several names, and somebody who changes it through one name before it goes."""
    files = [spec.path for spec in source if spec.kind == "file"]
    chance, which, at = draw.random(), draw.randrange(10**6), soon(draw, 20)
    if chance > 0.25 or options.get("mode") != "move" or direction in (S3_TO_MOUNT, INSIDE_S3) or not files:
        return source, acts
    path = files[which % len(files)]
    names = tuple(Spec(name, "link", target=path) for name in (f"{path[:40]}-name", "name"))
    kind = draw.choice(("begin deletion/any", "begin deletion/any", "delete/any", "delete/os:unlink"))
    change = Change(draw.choice(("chmod", "rewrite")), draw.choice((path, "name")), draw.randrange(1, 10**6))
    fault = Fault(kind, at if kind == "delete/any" else 1, "change", change=change)
    first = acts[0] if acts[0].what == "run" else Act("run", "r0")
    rest = acts[1:] if acts[0].what == "run" else acts
    return (*source, *names), (replace(first, faults=(*first.faults, fault)), *rest)


def judge_move(
    script: Script,
    run: str,
    options: dict[str, Any],
    trees: tuple[Snapshot, Snapshot],
    there: Snapshot,
    touched: set[str],
    story: Sequence[Snapshot],
) -> Iterator[Finding]:
    """What is wrong about the source after a move; ``trees`` are what its writers left there, and what it is now.

    ``story`` is the source from the script's beginning.
    """
    then, now = (view(tree, script.direction, options, bounds=False) for tree in trees)
    trees_then = [view(tree, script.direction, options, bounds=False) for tree in story]
    gone = {path for path in then if path not in now}
    for path in sorted(gone):
        version, copy = then[path], there.get(path)
        if version.kind == "directory" and any(one.startswith(f"{path.rstrip('/')}/") for one in now):
            yield Finding("moved", f"run {run} deleted the directory {path!r}, which holds something")
        lost = "" if path in touched else lost_of(version, copy, options)
        excused = any(_held_elsewhere(script, path, version, tree, there) for tree in trees_then)
        if lost and not excused:
            yield Finding("moved", f"run {run} deleted {path!r} at the source, {lost}")
    # A manifest's names of one file become files of their own (docs/how-to/manifests.md), as all do on S3 Files.
    yield from judge_metadata_of_move(
        script, run, options, {path: then[path] for path in then if path not in touched}, now, there, trees_then
    )
    keeps_names = script.direction in (WITHIN_MOUNT, TWO_MOUNTS) and "manifest" not in options and not script.s3_files
    if keeps_names and options.get("verify") != "content":
        for names in parted(gone - touched, then, there):
            yield Finding("moved", f"run {run} deleted {names} at the source, one file, and there they are several")


def _held_elsewhere(script: Script, path: str, version: Version, tree: Snapshot, there: Snapshot) -> bool:
    """Whether the file had another path when it was listed, under which its copy is (docs/how-to/move.md)."""
    if script.direction in (S3_TO_MOUNT, INSIDE_S3):  # where the same bytes may be another object
        return False
    return any(
        name != path and (one.mark, one.content) == (version.mark, version.content) == (one.mark, there[name].content)
        for name, one in tree.items()
        if name in there
    )
