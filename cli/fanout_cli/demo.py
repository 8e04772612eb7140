"""The demonstration: publishes a real tree from S3 on EFS, copies it back, publishes a second version and undoes that.

After each step all files are compared byte by byte.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sysconfig
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from fanout.ledger.documents import document_row
from fanout.model.location import S3Location
from fanout.publishing.kept_versions import PublishedTree
from fanout_cli.command_error import EXIT_FAILED
from fanout_cli.local.paths import LocalPaths
from fanout_cli.published import published_on, request_to_go_back, versions_lines
from fanout_cli.runs.local_run import LocalOptions, local_runs, make_bucket
from fanout_cli.runs.results import EXIT_SUCCEEDED, RunResult
from fanout_cli.stacks import stack_at

BUCKET = "fanout-demo"
# What comes and goes in other places would change the number of files from one time to the next.
LEFT_OUT = (
    *("site-packages", "dist-packages", ".git", ".venv", ".fanout", ".aws-sam", ".hypothesis", "fanout-*"),
    *("__pycache__", "*.egg-info", ".*_cache", ".import_linter_cache", "dist"),
)
SHOWN = 10
THREADS = 16
SITE = "efs:///site"
ADDED = "new.txt"
LIMITS = {"shard_seconds": 0.5}
STEPS = ("S3 to EFS", "EFS to S3", "version 2", "rollback")
_PUBLISH = {"source": f"s3://{BUCKET}/source/", "destination": SITE, "publish": {"link": "current"}, "limits": LIMITS}


def run_demo(console: Console, state: Path | None = None) -> Demonstration:
    """Run the demonstration, and say on ``console`` what happens. Raises ``CommandError`` if nothing is published."""
    paths = LocalPaths.find(state=state)
    work = paths.state / "demo"
    shutil.rmtree(work, ignore_errors=True)
    tree, mount = work / "tree", work / "mount"
    files = make_tree(tree, paths.repo)
    mount.mkdir()
    say = partial(console.print, markup=False, highlight=False, soft_wrap=True)
    say(f"the tree: {files:,} files, the project's own and Python's standard library")
    options = LocalOptions({"data": mount}, loads=[(tree, S3Location(BUCKET, "source/"))])
    with local_runs(options, console, state) as runs:
        s3 = runs.stack.clients.s3
        make_bucket(runs.stack.clients, BUCKET)
        _empty(s3, BUCKET)
        say("1. S3 to EFS: publishes a first version of the tree")
        first = runs.run(_PUBLISH, "demo-version-1")
        options.loads.clear()
        say("2. EFS to S3: copies that version back into the bucket")
        version = f"{SITE}/versions/{first.run_id}"
        back = runs.run({"source": version, "destination": f"s3://{BUCKET}/back/", "limits": LIMITS}, "demo-efs-to-s3")
        source = digests_of_directory(tree)
        changed = change_source(s3, tree, say)
        say("3. S3 to EFS: publishes a second version; unchanged files are hard links to those of the first")
        second = runs.run(_PUBLISH, "demo-version-2")
        current = mount / "site/current"
        differences = compare(changed, digests_of_directory(current.resolve()))
        say("4. undoes that: fanout rollback efs:///site")
        stack = stack_at(runs.stack.clients, runs.stack.outputs)
        undone = runs.run(request_to_go_back(published_on(stack, SITE), None), "demo-rollback")
        shown = published_on(stack, SITE)
        say("comparing byte by byte ...")
        runs.stack.forget(BUCKET)
        differences += compare(source, digests_of_directory(current.resolve()))
        differences += compare(source, digests_of_bucket(s3, BUCKET, "back/"))
    results = [first, back, second, undone]
    console.print(table_of(list(zip(STEPS, results, strict=True))))
    say("fanout versions efs:///site")
    for line in versions_lines(shown):
        say("  " + line.replace("\t", "  "))
    for difference in differences[:SHOWN]:
        say(difference)
    verdict = "all equal" if not differences else f"{len(differences)} differ"
    say(f"{len(source):,} files compared in the bucket, in both versions and after the rollback: {verdict}")
    return Demonstration(len(source), differences, results, shown)


def change_source(s3: Any, tree: Path, say: Callable[[str], None]) -> dict[str, str]:
    """Change a file of the source, add one and remove one; returns the digests of the source then."""
    expected = digests_of_directory(tree)
    changed, removed = sorted(expected)[:2]
    for path in (changed, ADDED):
        body = f"a second version of {path}\n".encode()
        s3.put_object(Bucket=BUCKET, Key=f"source/{path}", Body=body)
        expected[path] = _digest(body)
    s3.delete_object(Bucket=BUCKET, Key=f"source/{removed}")
    del expected[removed]
    say(f"the source changes: {changed} is changed, {ADDED} is new, {removed} is removed")
    return expected


@dataclass(frozen=True, slots=True)
class Demonstration:
    """The result: files compared, a line for each that differs, the runs, and the versions after the rollback."""

    files: int
    differences: list[str]
    runs: list[RunResult]
    published: PublishedTree

    @property
    def exit_status(self) -> int:
        """0 if all runs succeeded and all files are equal."""
        good = not self.differences and all(run.exit_status == EXIT_SUCCEEDED for run in self.runs)
        return EXIT_SUCCEEDED if good else EXIT_FAILED

    def document(self) -> dict[str, Any]:
        """The one JSON document of ``--json``."""
        return {
            "equal": not self.differences,
            "files": self.files,
            "differences": self.differences,
            "runs": [run.document() for run in self.runs],
            "published": document_row(self.published),
        }


def make_tree(tree: Path, repo: Path) -> int:
    """Copy the demonstration's files together; returns their number."""
    leave_out = shutil.ignore_patterns(*LEFT_OUT)
    shutil.copytree(repo, tree / "project", symlinks=True, ignore=leave_out)
    shutil.copytree(sysconfig.get_path("stdlib"), tree / "stdlib", symlinks=True, ignore=leave_out)
    return sum(1 for _ in _files(tree))


def _files(directory: Path) -> Iterator[Path]:
    for folder, _, names in os.walk(directory):
        for name in names:
            path = Path(folder, name)
            if not path.is_symlink():
                yield path


def digests_of_directory(directory: Path) -> dict[str, str]:
    """SHA-256 of every regular file by its relative path."""
    return {path.relative_to(directory).as_posix(): _digest(path.read_bytes()) for path in _files(directory)}


def digests_of_bucket(s3: Any, bucket: str, prefix: str) -> dict[str, str]:
    """SHA-256 of every object that is a regular file's, by its key below the prefix."""
    pages = s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix)
    keys = [item["Key"] for page in pages for item in page.get("Contents", []) if not item["Key"].endswith("/")]

    def digest(key: str) -> tuple[str, str] | None:
        answer = s3.get_object(Bucket=bucket, Key=key)
        if answer["Metadata"].get("file-permissions", "").startswith("0120"):
            return None
        return key.removeprefix(prefix), _digest(answer["Body"].read())

    with ThreadPoolExecutor(THREADS) as pool:
        return dict(found for found in pool.map(digest, keys) if found is not None)


def compare(expected: dict[str, str], found: dict[str, str]) -> list[str]:
    """A line for every path that one side lacks or that differs."""
    lines = []
    for path in sorted(expected.keys() | found.keys()):
        if path not in found:
            lines.append(f"missing: {path}")
        elif path not in expected:
            lines.append(f"extra: {path}")
        elif expected[path] != found[path]:
            lines.append(f"differs: {path}")
    return lines


def table_of(runs: list[tuple[str, RunResult]]) -> Table:
    """The runs side by side."""
    table = Table("", *(name for name, _ in runs), title="Demonstration")
    results = [result for _, result in runs]
    table.add_row("status", *(result.status for result in results))
    for name in results[0].totals:
        if any(result.totals[name]["entries"] for result in results):
            table.add_row(f"{name}, entries", *(f"{result.totals[name]['entries']:,}" for result in results))
            table.add_row(f"{name}, bytes", *(f"{result.totals[name]['bytes']:,}" for result in results))
    for phase in ("plan", "list", "partition", "copy", "finish", "publish", "summarise"):
        table.add_row(f"{phase}, s", *(f"{result.seconds.get(phase, 0.0):.1f}" for result in results))
    table.add_row("whole run, s", *(f"{result.run_seconds:.1f}" for result in results))
    return table


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _empty(s3: Any, bucket: str) -> None:
    for page in s3.get_paginator("list_objects_v2").paginate(Bucket=bucket):
        keys = [{"Key": item["Key"]} for item in page.get("Contents", [])]
        if keys:
            s3.delete_objects(Bucket=bucket, Delete={"Objects": keys, "Quiet": True})
