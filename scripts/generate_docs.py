"""Writes the parts of docs/ that stand in the code and in the template already; --check only compares."""

from __future__ import annotations

import ast
import json
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from pathlib import Path
from textwrap import wrap
from typing import Any

from cfnlint.decode import cfn_yaml
from msgspec import Struct

from fanout.books.next_step import RULES
from fanout.books.summary_document import Status
from fanout.model.outcome import Reason
from fanout.probe.request import ProbeFields
from fanout.request.checked import fields_of
from fanout.request.course import Mode
from fanout.request.parse import Fields

ROOT = Path(__file__).resolve().parents[1]
PARAMETERS = ROOT / "docs/reference/parameters.md"
REQUEST = ROOT / "docs/reference/request.md"
REASONS = ROOT / "docs/reference/reasons.md"
NEXT = ROOT / "docs/how-to/resume-and-retry.md"
PACKAGES = ROOT / "docs/develop/packages.md"
TEMPLATE = ROOT / "template.yaml"
END = "<!-- end -->\n"
Schema = Mapping[str, Any]


def cell(text: str) -> str:
    """A text as it can stand in a cell of a table."""
    return text.replace("|", "\\|").replace("\n", " ")


def request_rows(fields: type[Struct] = Fields) -> list[str]:
    """A row for each field of a request, those of inner objects with their path."""
    return joined(
        (
            (f"`{field.path}`", f"{values(cell(field.allowed), field.default)} | {cell(field.meaning)}")
            for field in fields_of(fields)
        ),
        ", ",
    )


def values(allowed: str, default: str) -> str:
    """The values of a field or a parameter, with its default in bold: among them, or behind them."""
    if default == "required":
        return f"{allowed}, required"
    if not default or f"`{default}`" in allowed:
        return allowed.replace(f"`{default}`", f"**`{default}`**")
    return f"{allowed}, **`{default}`**" if allowed else f"**`{default}`**"


def joined(rows: Iterable[tuple[str, str]], between: str) -> list[str]:
    """Rows of a table; what says the same of several things is one row."""
    things: dict[str, list[str]] = {}
    for thing, says in rows:
        things.setdefault(says, []).append(thing)
    return [f"| {between.join(those)} | {says} |" for says, those in things.items()]


def stack_rows() -> Iterator[str]:
    """A table for each group of parameters of the template."""
    template = json.loads(json.dumps(cfn_yaml.load(str(TEMPLATE))))
    for group in template["Metadata"]["AWS::CloudFormation::Interface"]["ParameterGroups"]:
        yield from (f"## {group['Label']['default']}", "")
        yield from ("| parameter | values | meaning |", "|---|---|---|")
        for name in group["Parameters"]:
            parameter = template["Parameters"][name]
            taken = values(_limits(parameter), str(parameter.get("Default", "required")))
            yield f"| `{name}` | {taken} | {cell(parameter.get('Description', ''))} |"
        yield ""


def _limits(parameter: Schema) -> str:
    if "AllowedValues" in parameter:
        return ", ".join(f"`{value}`" for value in parameter["AllowedValues"])
    low, high = parameter.get("MinValue"), parameter.get("MaxValue")
    return f"{low} to {high}" if low is not None and high is not None else ""


def parameters() -> str:
    """docs/reference/parameters.md."""
    return "\n".join(
        [
            "# Parameters of the stack",
            "",
            "For `sam deploy --parameter-overrides NAME=VALUE`; `make docs` writes them from the template. The console",
            "and `sam deploy --guided` ask in this order; one of the first two is needed. Defaults are bold.",
            "",
            *stack_rows(),
        ]
    )


def reasons() -> str:
    """A table for each result of what can become of an entry that is not copied; one remedy is one row."""
    lines = [""]
    for result in dict.fromkeys(reason.result for reason in Reason):
        rows = [
            (cell(f"{one.value} \\*" if one.is_name else one.value), cell(one.remedy or "nothing to do"))
            for one in Reason
            if one.result is result
        ]
        head = (f"## {result.value.capitalize()}", "", "| reason | remedy |", "|---|---|")
        lines += [*head, *joined(rows, "; "), ""]
    return "\n".join([*lines, ""])


def rooms() -> str:
    """The packages in the order in which they import, with what each says of itself."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contract = next(one for one in project["tool"]["importlinter"]["contracts"] if one["type"] == "layers")
    return "\n".join(["", *(f"- `{name}`: {_sentence(name)}" for name in contract["layers"]), "", ""])


def _sentence(package: str) -> str:
    text = (ROOT / "layers/core/src/fanout" / package / "__init__.py").read_text(encoding="utf-8")
    return ast.get_docstring(ast.parse(text)) or ""


def packages() -> str:
    """docs/develop/packages.md, with its list of packages as the code has it."""
    return _with_part(PACKAGES, "rooms", rooms())


def fields() -> str:
    """docs/reference/request.md with both its tables written anew."""
    text = REQUEST.read_text(encoding="utf-8")
    for name, kind in (("request", Fields), ("probe", ProbeFields)):
        table = ["", "| field | values, the default bold | meaning |", "|---|---|---|", *request_rows(kind), "", ""]
        text = _replaced(text, REQUEST.name, name, "\n".join(table))
    return text


def reasons_page() -> str:
    """docs/reference/reasons.md with its table written anew."""
    return _with_part(REASONS, "reasons", reasons())


def next_steps() -> str:
    """docs/how-to/resume-and-retry.md with its list written anew: runs that did not succeed, and the command."""
    lines = [""]
    left_out = {Status.SUCCEEDED.value, Status.SKIPPED.value, "RUNNING"}
    rules = [rule for rule in RULES if not rule.statuses or rule.statuses - left_out]
    for verb, group in groupby(rules, lambda rule: rule.step.verb.value):
        modes: dict[str, str] = {}
        for rule in group:
            named = ", ".join(f"`{mode.value}`" for mode in Mode if mode in rule.modes)
            modes[rule.how] = f" ({named})" if named else ""
        runs = "; ".join(f"{how}{named}" for how, named in modes.items())
        lines += wrap(f"- {runs}: `fanout {verb}`", 120, subsequent_indent="  ", break_on_hyphens=False)
    return _with_part(NEXT, "next", "\n".join([*lines, "", ""]))


def _with_part(page: Path, name: str, part: str) -> str:
    """A page with what stands between the marks of a generated part replaced."""
    return _replaced(page.read_text(encoding="utf-8"), page.name, name, part)


def _replaced(text: str, page: str, name: str, part: str) -> str:
    begin = f"<!-- generated: {name} -->\n"
    before, mark, rest = text.partition(begin)
    if not mark:
        raise SystemExit(f"{page} has no line {begin.strip()}")
    return before + begin + part + END + rest.partition(END)[2]


def main(arguments: list[str]) -> int:
    """Write the pages; with --check name those that are out of date."""
    stale = []
    for path, text in (
        (PARAMETERS, parameters()),
        (REQUEST, fields()),
        (REASONS, reasons_page()),
        (NEXT, next_steps()),
        (PACKAGES, packages()),
    ):
        if path.exists() and path.read_text() == text:
            continue
        stale.append(path.name)
        if "--check" not in arguments:
            path.write_text(text)
    if stale and "--check" in arguments:
        sys.stderr.write(f"{', '.join(stale)} is not what the code says; run: make docs\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
