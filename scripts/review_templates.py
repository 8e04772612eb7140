"""Has checkov review the templates, and compares what it finds with the exceptions that have a reason."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CHECKOV = ROOT / ".fanout/tools/checks/bin/checkov"
EXCEPTIONS = ROOT / "tools/checkov-exceptions.toml"
# Without asking anybody on the network for policies or guides.
OPTIONS = ("--framework", "cloudformation", "--compact", "--quiet", "--skip-download", "--output", "json")


@dataclass(frozen=True)
class Finding:
    """A check that failed for a resource."""

    check: str
    resource: str
    says: str


@dataclass(frozen=True)
class Allowance:
    """A check whose failing is left as it is for some resources, and why."""

    check: str
    resources: Sequence[str]
    reason: str

    def covers(self, finding: Finding) -> bool:
        """Whether the finding is one that this is about."""
        return finding.check == self.check and any(fnmatchcase(finding.resource, one) for one in self.resources)


def review(findings: Iterable[Finding], allowances: Sequence[Allowance]) -> list[str]:
    """A sentence for each finding that no exception covers, and for each exception that covers none."""
    found = list(findings)
    problems = [
        f"{one.resource}: {one.check}: {one.says}"
        for one in found
        if not any(allowance.covers(one) for allowance in allowances)
    ]
    for allowance in allowances:
        if not allowance.reason.strip():
            problems.append(f"{EXCEPTIONS.name}: {allowance.check} has no reason")
        if not any(map(allowance.covers, found)):
            problems.append(f"{EXCEPTIONS.name}: nothing needs the exception of {allowance.check} any more; remove it")
    return problems


def allowances() -> list[Allowance]:
    """The exceptions of the file."""
    listed = tomllib.loads(EXCEPTIONS.read_text(encoding="utf-8"))["exception"]
    return [Allowance(one["check"], one["resources"], one["reason"]) for one in listed]


def parse(report: str) -> tuple[int, list[Finding]]:
    """How many checks passed, and those that failed, of checkov's report.

    Raises ``ValueError`` if checkov could not read a template.
    """
    parts = json.loads(report)
    passed, findings = 0, []
    for part in parts if isinstance(parts, list) else [parts]:
        if part["summary"]["parsing_errors"]:
            raise ValueError(f"checkov could not read {part['results'].get('parsing_errors')}")
        passed += part["summary"]["passed"]
        findings += [
            Finding(one["check_id"], one["resource"], one["check_name"]) for one in part["results"]["failed_checks"]
        ]
    return passed, findings


def main() -> int:
    """Print what is to be done; 0 if nothing is."""
    files = [str(path.relative_to(ROOT)) for path in (ROOT / "template.yaml", *sorted(ROOT.glob("templates/*.yaml")))]
    ended = subprocess.run([CHECKOV, "--file", *files, *OPTIONS], cwd=ROOT, capture_output=True, text=True, check=False)
    try:
        passed, findings = parse(ended.stdout)
    except (ValueError, KeyError, TypeError) as error:
        sys.stderr.write(f"checkov wrote no report ({error}):\n{ended.stdout[-2000:]}{ended.stderr[-2000:]}\n")
        return 2
    problems = review(findings, allowances())
    sys.stdout.write(f"checkov: {passed} passed, {len(findings)} failed, of which {len(problems)} without a reason\n")
    for problem in problems:
        sys.stderr.write(f"{problem}\n")
    return 1 if problems or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
