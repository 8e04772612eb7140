"""Writes statemachine/*.asl.json from the YAML beside it, and what ``flow`` walks; --check only compares.

The YAML is the states language with these words more:

| word | stands for |
|---|---|
| no `Type` | a Task |
| `Invoke: NAME`, `Payload` | lambda:invoke of `${NAMEFunctionArn}`; with `"$.path"` of the function named there |
| | `step`, the state's name, comes into each payload |
| `Payload: [NAME, {NAME: VALUE}]` | `NAME.$: "$.NAME"`; a value as it is |
| `Answers: [NAME]` | what is kept of the answer: a ResultSelector of `NAME.$: "$.Payload.NAME"` |
| an `Invoke` without `TimeoutSeconds`, `Retry` | `TimeoutSeconds: 1830`, `Retry: standard` |
| `Repeats: {Until: STATE, Asks: NAME, Wait: NAME}` | the Task again until its answer is `done`: then STATE follows |
| `Repeats` with `Resumes: STATE`, `Again: STATE` | STATE after the wait, or where it is not done; without, the Task |
| `Retry: NAME` or a list of names | the schemes of retries.yaml, one after the other |
| `Catch: {ERROR ERROR: STATE, any: STATE}` | a catch for each; the error goes to `$.error` |
| `Catch: {any: {Next: STATE, ResultPath: PATH}}` | the same with another path |
| `ItemsFrom: "$.path"` | the items of a Map: a JSON list in the work bucket |
| `Drawn: TEXT` | nothing: the state is a box of docs/flow.svg, with this text |
| `ResultsTo: NAME` | the results of a Map: `map-results/NAME` of the run |

`Repeats` makes two states, which follow the Task: `Asks` is a Choice, and `Wait` waits until the time that the answer
holds as `until`, such as the opening of the run's window. Tasks that resume at the same state share a Wait.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import yaml

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from scripts.draw_flow import drawing

FOLDER = Path(__file__).resolve().parents[1] / "statemachine"
DRAWING = FOLDER.parent / "docs" / "flow.svg"
WALKED = FOLDER.parent / "layers/core/src/fanout/flow/transfer.json"
EMBEDDED = FOLDER.parent / "layers/core/src/fanout/flow/embedded.json"
# Words of the deployed machine alone.
DEPLOYED = ("Comment", "TimeoutSeconds", "ResultWriter", "Label", "Resource", "JitterStrategy")
# What a walk in one function does not heed: the ordinary way has the retries, and catches.
NOT_WALKED = (*DEPLOYED, "Retry", "Catch")
NAMES = ("transfer", "probe")
# Of a function of which Lambda tells nothing; one that takes its time is ended by its own time-out, FunctionSeconds.
OF_TASKS = {"TimeoutSeconds": 1_830, "Retry": "standard"}
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
    return _flow(flow(name), schemes(), f"{name}.yaml")


def flow(name: str) -> Json:
    """The YAML of a state machine, with the states that its Tasks repeat by."""
    found: Json = yaml.safe_load((FOLDER / f"{name}.yaml").read_text(encoding="utf-8"))
    return repeated(found, f"{name}.yaml")


def repeated(flow: Json, where: str) -> Json:
    """A flow in which ``Repeats`` of its Tasks is written out."""
    states: Json = {}
    for name, body in flow["States"].items():
        made = _repetition(name, body)
        inner: Json = {"Branches": [repeated(one, where) for one in body["Branches"]]} if "Branches" in body else {}
        if "ItemProcessor" in body:
            inner = {"ItemProcessor": repeated(body["ItemProcessor"], where)}
        goes_on = {"Next": body["Repeats"]["Asks"]} if made else {}
        own = {word: value for word, value in body.items() if word != "Repeats"}
        for called, state in {name: own | inner | goes_on, **made}.items():
            if states.setdefault(called, state) != state:
                raise SystemExit(f"{where}: {name}: {called} is another state already; give it a name of its own")
    return {**flow, "States": states}


def _flow(flow: Json, retries: dict[str, list[Json]], where: str) -> Json:
    states = {name: _state(name, body, retries, f"{where}: {name}") for name, body in flow["States"].items()}
    return {**flow, "States": states}


def _repetition(name: str, body: Json) -> Json:
    """The states that repeat a Task: the question whether it is done, and the wait for the window of the run."""
    repeats = body.get("Repeats")
    if repeats is None:
        return {}
    at, asks, wait = body.get("ResultPath", "$"), repeats["Asks"], repeats["Wait"]
    resumes = repeats.get("Resumes", name)
    question = {
        "Type": "Choice",
        "Comment": f"Goes on with what is left until {name} says that all is done.",
        "Choices": [
            {"Variable": f"{at}.done", "BooleanEquals": True, "Next": repeats["Until"]},
            {"Variable": f"{at}.until", "StringGreaterThan": "", "Next": wait},
        ],
        "Default": repeats.get("Again", name),
    }
    comment = f"Waits until the time that the answer names, as where the window is closed, then goes on with {resumes}."
    return {asks: question, wait: {"Type": "Wait", "Comment": comment, "TimestampPath": f"{at}.until", "Next": resumes}}


def _state(name: str, body: Json, retries: dict[str, list[Json]], where: str) -> Json:
    state: Json = {"Type": body.get("Type", "Task")}
    written = {**body, **{word: value for word, value in OF_TASKS.items() if word not in body}}
    for word, value in (written if "Invoke" in body else body).items():
        match word:
            case "Invoke":
                by_path = value.startswith("$.")
                called = {"FunctionName.$": value} if by_path else {"FunctionName": f"${{{value}FunctionArn}}"}
                state["Resource"] = "arn:${Partition}:states:::lambda:invoke"
                state["Parameters"] = called | {"Payload": {"step": name, **_payload(body["Payload"])}}
            case "Payload" | "Drawn":
                pass  # with Invoke; in the drawing
            case "Answers":
                state["ResultSelector"] = {f"{name}.$": f"$.Payload.{name}" for name in value}
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


def _payload(written: Json | list[str | Json]) -> Json:
    if isinstance(written, dict):
        return written
    payload: Json = {}
    for one in written:
        payload |= {f"{one}.$": f"$.{one}"} if isinstance(one, str) else one
    return payload


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


def walked(machine: Json) -> str:
    """The machine as one function walks it, a line for each state."""
    states = {name: _bare(state, NOT_WALKED) for name, state in machine["States"].items() if name != machine["StartAt"]}
    return f'{{"States": {{\n{_lines(states)}\n}}}}\n'


def embedded(machine: Json) -> str:
    """The whole machine as the engine on one machine walks it, a line for each state: functions by their names."""
    states = {name: _bare(state, DEPLOYED) for name, state in machine["States"].items()}
    text = f'{{"StartAt": {json.dumps(machine["StartAt"])}, "States": {{\n{_lines(states)}\n}}}}\n'
    return re.sub(r"\$\{(\w+)FunctionArn\}", r"\1", text)


def _lines(states: Json) -> str:
    return ",\n".join(f"{json.dumps(name)}: {json.dumps(state, ensure_ascii=False)}" for name, state in states.items())


def _bare(value: Any, without: tuple[str, ...]) -> Any:
    if isinstance(value, list):
        return [_bare(one, without) for one in value if not _is_of_lambda(one)]
    if not isinstance(value, dict):
        return value
    return {name: _bare(one, without) for name, one in value.items() if name not in without}


def _is_of_lambda(retrier: Any) -> bool:
    """Whether it is a retrier of errors that only the service Lambda has."""
    errors = retrier.get("ErrorEquals", ()) if isinstance(retrier, dict) else ()
    return bool(errors) and all(one.startswith("Lambda.") for one in errors)


def main(arguments: list[str]) -> int:
    """Write what is generated; with --check say what is not what the YAML gives."""
    written = {FOLDER / f"{name}.asl.json": _text(definition(name)) for name in NAMES}
    written[DRAWING] = drawing(flow("transfer"))
    written[WALKED] = walked(definition("transfer"))
    written[EMBEDDED] = embedded(definition("transfer"))
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
