"""Writes the parts of docs/ that stand in the code and in the template already; --check only compares."""

from __future__ import annotations

import ast
import json
import re
import sys
import textwrap
import tomllib
from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

from cfnlint.decode import cfn_yaml
from msgspec import Struct

from fanout.books.next_step import RULES
from fanout.books.summary_document import Status
from fanout.facts.holdings import HOLDINGS, Direction, Fate
from fanout.facts.prices import PRICES
from fanout.model.outcome import Reason, Result
from fanout.probe.request import ProbeFields
from fanout.request.course import Mode
from fanout.request.fields.checked import fields_of
from fanout.request.parse import Fields

ROOT = Path(__file__).resolve().parents[1]
PARAMETERS = ROOT / "docs/reference/parameters.md"
REQUEST = ROOT / "docs/reference/request.md"
REASONS = ROOT / "docs/reference/reasons.md"
COPIED = ROOT / "docs/understand/what-is-copied.md"
NEXT = ROOT / "docs/how-to/resume-and-retry.md"
PACKAGES = ROOT / "docs/develop/packages.md"
TEMPLATE = ROOT / "template.yaml"
END = "<!-- end -->\n"
Schema = Mapping[str, Any]


def cell(text: str) -> str:
    """A text as it can stand in a cell of a table."""
    return text.replace("|", "\\|").replace("\n", " ")


def item(text: str) -> str:
    """An item of a list, in lines of 120 characters; none begins with what Markdown takes for an item of its own."""
    kept = re.sub(r" (?=[-+*] |\d+[.)] )", "\0", text.replace("\n", " "))
    lines = textwrap.wrap(kept, 118, break_long_words=False, break_on_hyphens=False)
    return ("- " + "\n  ".join(lines)).replace("\0", " ")


def stars(text: str) -> str:
    """A text of which Markdown takes no star for emphasis."""
    return text.replace("*", "\\*")


def request_items(fields: type[Struct] = Fields) -> list[str]:
    """An item for each field of a request, those of inner objects with their path."""
    things: dict[str, list[str]] = {}
    for field in fields_of(fields):
        left, meaning = explained(short(field.allowed), field.default, short(field.meaning))
        said = f"{'' if left in ('', 'text') else f' ({left})'}: {meaning}"
        things.setdefault(said, []).append(f"`{field.path}`")
    return [item(f"{', '.join(those)}{said}") for said, those in things.items()]


def explained(allowed: str, default: str, meaning: str) -> tuple[str, str]:
    """The values that the meaning does not explain, and the meaning with those that it does as code."""
    if not re.fullmatch(r"`[^`]+`(, `[^`]+`)*", allowed):
        return values(allowed, default), meaning
    left = []
    for shown in values(allowed, default).split(", "):
        meaning, found = re.subn(rf"(?<!\S){re.escape(shown.strip('*`'))}(?=: )", shown, meaning, count=1)
        left += [] if found else [shown]
    return ", ".join(one for one in left if one != "`true`"), meaning


def short(text: str) -> str:
    """The text of a field without the words that the page says once for all of them."""
    text = text.replace(', or text as "50 MiB" or "10M"', "").replace(', or text as "10 MiB"', "")
    text = re.sub("; default: no (such )?limit", "", text)
    text = re.sub(r"\bat least ([\d.]+), at most ([\d.,]*\d)", r"\1 to \2", text)
    text = re.sub(r"\b(integer|number), (?=at least|\d)", "", text)
    return text.replace(f": {', '.join(PRICES)}", " ([names](../understand/cost.md#other-prices))")


def values(allowed: str, default: str) -> str:
    """The values of a field or a parameter, with its default in bold: among them, or behind them."""
    if default == "required":
        return f"{allowed}, required"
    if not default or f"`{default}`" in allowed:
        return allowed.replace(f"`{default}`", f"**`{default}`**")
    return f"{allowed}, **`{default}`**" if allowed else f"**`{default}`**"


def stack_items() -> Iterator[str]:
    """A list for each group of parameters of the template."""
    template = json.loads(json.dumps(cfn_yaml.load(str(TEMPLATE))))
    for group in template["Metadata"]["AWS::CloudFormation::Interface"]["ParameterGroups"]:
        yield from (f"## {group['Label']['default']}", "")
        same = {name: of for name in group["Parameters"] if (of := _same_as(template["Parameters"][name]))}
        for name in group["Parameters"]:
            parameter = template["Parameters"][name]
            if name in same:
                continue
            taken = values(_limits(parameter), str(parameter.get("Default", "required")))
            meaning = parameter.get("Description", "").replace(" Empty for none.", "")
            meaning = re.sub(r",? joined by commas,?(?=[ ;.])", "", meaning)
            yield item(f"`{name}`{taken and f' ({taken})'}: {stars(meaning)}")
        if same:
            yield item(f"{', '.join(f'`{name}`' for name in same)}: as {', '.join(same.values())}")
        yield ""


def _same_as(parameter: Schema) -> str:
    """The parameter that this one is like, if its description says no more."""
    found = re.fullmatch(r"As (\w+)\.", parameter.get("Description", ""))
    return f"`{found[1]}`" if found else ""


def _limits(parameter: Schema) -> str:
    if "AllowedValues" in parameter:
        if set(parameter["AllowedValues"]) == {"true", "false"}:
            return ""
        if len(parameter["AllowedValues"]) > 9:
            return f"{parameter['AllowedValues'][0]} to {parameter['AllowedValues'][-1]}, those of CloudWatch Logs"
        return ", ".join(f"`{value}`" for value in parameter["AllowedValues"])
    low, high = parameter.get("MinValue"), parameter.get("MaxValue")
    return f"{low} to {high}" if low is not None and high is not None else ""


def parameters() -> str:
    """docs/reference/parameters.md."""
    return "\n".join(
        [
            "# Parameters of the stack",
            "",
            "For `sam deploy --parameter-overrides NAME=VALUE`; `make docs` writes them from the template. One of the",
            "first two is needed. Defaults are bold; commas join lists. Empty is none, unless a line says otherwise.",
            "",
            *stack_items(),
        ]
    )


def reasons() -> str:
    """A list for each result of what can become of an entry that is not copied; one remedy is one item."""
    lines = [""]
    for result in dict.fromkeys(reason.result for reason in Reason):
        things: dict[str, list[str]] = {}
        for one in Reason:
            if one.result is result:
                remedy = re.sub(", if it should be (copied|deleted)", "", one.remedy or "nothing to do")
                remedy = remedy.replace(": start a transfer with mode copy and compare always", "")
                if one.result is Result.REJECTED:
                    remedy = re.sub("[,;] then start the transfer again", "", remedy)
                things.setdefault(remedy, []).append(f"**{one.value}**" + (" \\*" if one.is_name else ""))
        items = [item(f"{', '.join(those)}: {stars(remedy)}") for remedy, those in things.items()]
        lines += [f"## {result.value.capitalize()}", "", *items, ""]
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
    """docs/reference/request.md with both its lists written anew."""
    text = REQUEST.read_text(encoding="utf-8")
    for name, kind in (("request", Fields), ("probe", ProbeFields)):
        text = _replaced(text, REQUEST.name, name, "\n".join(["", *request_items(kind), "", ""]))
    return text


def reasons_page() -> str:
    """docs/reference/reasons.md with its lists written anew."""
    return _with_part(REASONS, "reasons", reasons())


def holdings() -> str:
    """docs/understand/what-is-copied.md with its table of fates written anew."""
    lines = ["", f"| a source's | {' | '.join(Direction)} |", f"|---|{'---|' * len(Direction)}"]
    for row in HOLDINGS:
        fates = [row.fate(one) for one in Direction]
        cells = ["n/a" if one is Fate.NONE else one.value.partition(":")[0] for one in fates]
        lines.append(f"| {row.what} | {' | '.join(cells)} |")
    return _with_part(COPIED, "holdings", "\n".join([*lines, "", ""]))


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
        lines += textwrap.wrap(f"- {runs}: `fanout {verb}`", 120, subsequent_indent="  ", break_on_hyphens=False)
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
        (COPIED, holdings()),
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
