"""The one decoder of JSON that others may have written: what it refuses, and that nothing is decoded beside it."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import patch

import pytest

import fanout
import fanout_cli
from fanout.adapters.aws.signed_requests import Service
from fanout.adapters.aws.step_functions import StepFunctionsExecutions
from fanout.adapters.http.transport import Response, Transport
from fanout.certificate.document import read_canonical
from fanout.checksums.rows import report_files
from fanout.ledger.json_lines import rows_of
from fanout.ledger.ledger import Ledger
from fanout.ledger.seals import unsealed_json
from fanout.listing.manifests.inventory import read_inventory
from fanout.listing.manifests.manifest_rows import BrokenRow, read_row
from fanout.model.document import json_value
from fanout.model.errors import InvalidRequest, LedgerBroken, Transient
from fanout.model.location import S3Location
from fanout.model.segment import ManifestPart, Rows
from fanout.planning.event_batches import parse_events
from fanout.planning.start_batch import start_batch
from fanout.request.manifest import ManifestLocation
from fanout.request.parse import parse_request
from fanout.runtime.embedded.engine import Engine
from fanout.runtime.embedded.leases import requested_by
from fanout.runtime.embedded.parts import Parts
from fanout.turns.write_turn import WriteTurns, list_key, writers_from_bytes
from tests.support.memory_store import MemoryStore

DIGITS = "1" + "0" * 40
BROKEN = {
    "Infinity": "Infinity is not a finite number",
    "-Infinity": "-Infinity is not a finite number",
    "NaN": "NaN is not a finite number",
    "1e400": "1e400 is not a finite number",
    DIGITS: r"10000000\.\.\. has more than 40 digits",
    "-" + "9" * 5_000: r"-9999999\.\.\. has more than 40 digits",
    "[" * 200_000: "nested too deep",
}
REQUEST = parse_request({"source": "s3://a-bucket/", "destination": "efs:///out"}, ("data",), 10)
PART = ManifestPart("k", "etag", 100, Rows.JSONL, 0, 100, 1)
ENDS = '"source": "s3://a/", "destination": "efs:///"'


def batch_template(text: str) -> Any:
    return start_batch({}, f'{{{ENDS}, "x": {text}}}', "", "work", 1, None, None)  # type: ignore[arg-type]


def answer_of_aws(text: str) -> Any:
    service = Service("lambda", "eu-west-1")
    response = Response(200, {}, text.encode())
    with (
        patch.dict("os.environ", AWS_ACCESS_KEY_ID="a", AWS_SECRET_ACCESS_KEY="b"),
        patch.object(Transport, "ask", lambda *_: response),
    ):
        return service.get("lambda:GetAccountSettings", "the account", "/", {}, lambda found: found)


def input_of_an_execution(text: str) -> Any:
    answer = {"stateMachineArn": "m", "name": "n", "status": "RUNNING", "input": f'{{"a": {text}}}'}
    steps = SimpleNamespace(describe_execution=lambda **_: answer)
    with patch("fanout.adapters.aws.step_functions.client", lambda *_: steps):
        return StepFunctionsExecutions("eu-west-1").find("arn:e")


def items_of_a_map(text: str) -> Any:
    parts = SimpleNamespace(
        store=SimpleNamespace(get=lambda _: text.encode()), facts=SimpleNamespace(mounts={}), bucket="work"
    )
    return Engine(cast(Parts, parts))._items("", "shards.json")


# Each way in which text that others may write becomes values.
DECODERS: dict[str, Callable[[str], Any]] = {
    "model/document.py": json_value,
    "adapters/aws/signed_requests.py": answer_of_aws,
    "adapters/aws/step_functions.py": input_of_an_execution,
    "runtime/embedded/engine.py": items_of_a_map,
    "runtime/embedded/leases.py": lambda text: requested_by(text.encode()),
    "ledger/seals.py": lambda text: unsealed_json("k", f'{{"a": {text}}}'.encode()),
    "ledger/json_lines.py": lambda text: list(rows_of(f'["a", 1]\n["b", {text}]\n'.encode())),
    "checksums/rows.py": lambda text: report_files(f'{{"Results": {text}}}'.encode(), "work", "computed/"),
    "listing/manifests/manifest_rows.py": lambda text: read_row(
        f'{{"path": "a", "b": {text}}}'.encode(), PART, REQUEST
    ),
    "listing/manifests/inventory.py": lambda text: read_inventory(
        text.encode(), ManifestLocation("a-bucket", "manifest.json"), "a-bucket"
    ),
    "turns/write_turn.py": lambda text: writers_from_bytes(f'{{"writers": {text}}}'.encode()),
    "planning/start_batch.py": batch_template,
    "planning/event_batches.py": lambda text: parse_events(f'{{"Records": [], "x": {text}}}'),
    "certificate/document.py": lambda text: read_canonical(f'{{"a":{text}}}'.encode()),
}
# What is decoded without it: typed, or nothing that others write, or refused later by a better name.
BESIDE = {
    "ledger/json_lines.py": "msgspec for whole blocks; what has too many digits goes to json_value",
    "listing/deciding/published.py": "typed: text alone",
    "publishing/begin_publishing.py": "typed, with bounds",
    "flow/short_way.py": "the state machine, which is in the package",
    "flow/walker.py": "a copy of its own values",
    "adapters/directory/executions.py": "its own state",
    "runtime/embedded/engine.py": "the state machine, which is in the package",
    "runtime/settings.py": "the function's own environment",
    "schedules/schedule.py": "the schedule's request: parse_request names the field",
    "arguments.py": "a request file: parse_request names the field",
    "runs/runs.py": "an execution's request: parse_request names the field",
    "runs/advice.py": "an execution's request, and the value of --set: parse_request names the field",
    "selftest/cleanup.py": "the answer of a function",
    "doctor/inside.py": "the answer of a function",
    "doctor/stack_checks.py": "the definition of the stack's machine",
    "local/keeper.py": "its own state",
    "local/deployment.py": "its own state",
    "local/serving/policies.py": "calls of local functions",
    "local/serving/roles.py": "calls of local functions",
}
PACKAGES = (Path(fanout.__file__).parent, Path(fanout_cli.__file__).parent)


@pytest.mark.parametrize("text", BROKEN, ids=[text[:9] for text in BROKEN])
@pytest.mark.parametrize("name", DECODERS)
def test_a_broken_number_is_refused(name: str, text: str) -> None:
    with pytest.raises((ValueError, InvalidRequest, BrokenRow, Transient)) as caught:
        DECODERS[name](text)
    said = f"{caught.value} {caught.value.__cause__}"
    assert any(word in said for word in ("is not a finite number", "more than 40 digits", "nested too deep"))


@pytest.mark.parametrize(("text", "said"), BROKEN.items(), ids=[text[:9] for text in BROKEN])
def test_what_is_wrong_is_said(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        json_value(text)


@pytest.mark.parametrize("value", [2**127, -(2**100), 1.5e308, -0.0, 5e-324, "NaN", "\udcff", [None, True], {"a": {}}])
def test_other_values_come_back(value: object) -> None:
    assert json_value(json.dumps(value)) == value
    assert list(rows_of(f"{json.dumps([value])}\n".encode())) == [[value]]


def test_a_name_of_many_digits_is_a_name() -> None:
    rows = [["1" * 300, 5], ["b", 2**90]]
    assert list(rows_of(b"".join(json.dumps(row).encode() + b"\n" for row in rows))) == rows


@pytest.mark.parametrize("text", BROKEN, ids=[text[:9] for text in BROKEN])
def test_a_document_of_the_ledger_and_a_list_of_writers_name_the_object(text: str) -> None:
    store = MemoryStore()
    ledger = Ledger(store, "run-1")
    store.put(f"{ledger.prefix}plan.json", f'{{"schema_version": 2, "a": {text}}}'.encode())
    with pytest.raises(LedgerBroken, match=r"^runs/run-1/plan\.json is not whole"):
        ledger.read_json("plan.json")
    store.put(list_key(S3Location("a-bucket", "")), f'{{"schema_version": 2, "writers": {text}}}'.encode())
    turns = WriteTurns(store, None, None, ())  # type: ignore[arg-type]
    with pytest.raises(LedgerBroken, match=r"^locks/s3/a-bucket\.json is not whole .* remove that object"):
        turns._writers("locks/s3/a-bucket.json")


def test_no_number_is_written_that_nobody_reads_again() -> None:
    ledger = Ledger(MemoryStore(), "run-1")
    with pytest.raises(ValueError, match="not JSON compliant"):
        ledger.write_json("a.json", {"a": float("inf")})


def decodes(file: Path) -> Iterator[str]:
    """Calls of a decoder of JSON other than ``json_value``."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "json":
            if node.attr in ("loads", "load", "decode", "JSONDecoder"):
                yield node.attr
        elif isinstance(node, ast.Name) and node.id == "Decoder":
            yield node.id


def test_nothing_else_decodes_json() -> None:
    files = {file.relative_to(package).as_posix(): file for package in PACKAGES for file in package.rglob("*.py")}
    found = {name for name, file in files.items() if any(decodes(file))}
    assert found - {"model/document.py"} == set(BESIDE)


def test_each_decoder_is_in_the_table() -> None:
    package = PACKAGES[0]
    called = {
        file.relative_to(package).as_posix()
        for file in package.rglob("*.py")
        if "json_value(" in file.read_text(encoding="utf-8")
    }
    assert called - {"model/errors.py"} == set(DECODERS)  # a cause that cannot be read is shown as it is
