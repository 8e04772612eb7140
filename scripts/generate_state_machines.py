"""Writes statemachine/*.asl.json from the YAML beside it; --check only compares.

The YAML is the states language with these words more:

| word | stands for |
|---|---|
| no `Type` | a Task |
| `Invoke: NAME`, `Payload` | lambda:invoke of `${NAMEFunctionArn}`; with `"$.path"` of the function named there |
| `Retry: NAME` or a list of names | the schemes of retries.yaml, one after the other |
| `Catch: {ERROR ERROR: STATE, any: STATE}` | a catch for each; the error goes to `$.error` |
| `Catch: {any: {Next: STATE, ResultPath: PATH}}` | the same with another path |
| `ItemsFrom: "$.path"` | the items of a Map: a JSON list in the work bucket |
| `Drawn: TEXT` | nothing: the state is a box of docs/flow.svg, with this text |
| `ResultsTo: NAME` | the results of a Map: `map-results/NAME` of the run |
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import yaml

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from scripts.draw_flow import drawing

FOLDER = Path(__file__).resolve().parents[1] / "statemachine"
DRAWING = FOLDER.parent / "docs" / "flow.svg"
NAMES = ("transfer", "probe")
Json = dict[str, Any]


def schemes() -> dict[str, list[Json]]:
    """The retries by the names of their schemes."""
    found = yaml.safe_load((FOLDER / "retries.yaml").read_text(encoding="utf-8"))["Schemes"]
    return {name: [_retrier(one) for one in retries] for name, retries in found.items()}


def _retrier(one: Json) -> Json:
    ends = {name: one[name] for name in ("MaxAttempts", "MaxDelaySeconds")}
    begins = {name: one[name] for name in ("ErrorEquals", "IntervalSeconds")}
    return {**begins, "BackoffRate": 2.0, **ends, "JitterStrategy": "FULL"}


def definition(name: str) -> Json:
    """A state machine in the states language. Raises ``SystemExit`` that names the state and what is allowed."""
    found: Json = yaml.safe_load((FOLDER / f"{name}.yaml").read_text(encoding="utf-8"))
    return _flow(found, schemes(), f"{name}.yaml")


def _flow(flow: Json, retries: dict[str, list[Json]], where: str) -> Json:
    states = {name: _state(body, retries, f"{where}: {name}") for name, body in flow["States"].items()}
    return {**flow, "States": states}


def _state(body: Json, retries: dict[str, list[Json]], where: str) -> Json:
    state: Json = {"Type": body.get("Type", "Task")}
    for word, value in body.items():
        match word:
            case "Invoke":
                by_path = value.startswith("$.")
                name, function = ("FunctionName.$", value) if by_path else ("FunctionName", f"${{{value}FunctionArn}}")
                state["Resource"] = "arn:${Partition}:states:::lambda:invoke"
                state["Parameters"] = {name: function, "Payload": body["Payload"]}
            case "Payload" | "Drawn":
                pass  # with Invoke; in the drawing
            case "Retry":
                state[word] = _retries(value, retries, where)
            case "Catch":
                state[word] = [_catcher(errors, to) for errors, to in value.items()]
            case "ItemsFrom":
                parameters = {"Bucket.$": "$.run.bucket", "Key.$": value}
                reader = {"Resource": "arn:${Partition}:states:::s3:getObject", "ReaderConfig": {"InputType": "JSON"}}
                state["ItemReader"] = {**reader, "Parameters": parameters}
            case "ResultsTo":
                prefix = f"States.Format('{{}}map-results/{value}', $.run.prefix)"
                parameters = {"Bucket.$": "$.run.bucket", "Prefix.$": prefix}
                state["ResultWriter"] = {"Resource": "arn:${Partition}:states:::s3:putObject", "Parameters": parameters}
            case "ItemProcessor":
                state[word] = _flow(value, retries, where)
            case "Branches":
                state[word] = [_flow(branch, retries, where) for branch in value]
            case _:
                state[word] = value
    return state


def _retries(names: str | list[str], known: dict[str, list[Json]], where: str) -> list[Json]:
    wanted = [names] if isinstance(names, str) else names
    for name in wanted:
        if name not in known:
            raise SystemExit(f"{where}: Retry {name!r} is no scheme of retries.yaml; known are {', '.join(known)}")
    return [one for name in wanted for one in known[name]]


def _catcher(errors: str, to: str | Json) -> Json:
    caught = ["States.ALL"] if errors == "any" else errors.split()
    target = {"ResultPath": "$.error", "Next": to} if isinstance(to, str) else to
    return {"ErrorEquals": caught, "ResultPath": target["ResultPath"], "Next": target["Next"]}


def main(arguments: list[str]) -> int:
    """Write what is generated; with --check say what is not what the YAML gives."""
    written = {FOLDER / f"{name}.asl.json": _text(definition(name)) for name in NAMES}
    written[DRAWING] = drawing(yaml.safe_load((FOLDER / "transfer.yaml").read_text(encoding="utf-8")))
    stale = [path for path, text in written.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    if "--check" in arguments:
        if stale:
            sys.stderr.write(
                f"{', '.join(path.name for path in stale)}: not what statemachine/*.yaml gives; make docs\n"
            )
        return int(bool(stale))
    for path in stale:
        path.write_text(written[path], encoding="utf-8")
    return 0


def _text(found: Json) -> str:
    return json.dumps(found, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
