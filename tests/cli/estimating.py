"""``fanout estimate`` of a request, as people and as programs read it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from typer.testing import CliRunner, Result

from fanout_cli.main import app

TO_EFS = {"source": "s3://my-data/in/", "destination": "efs:///copy"}


def run(directory: Path, request: Any, *arguments: str) -> Result:
    path = directory / "request.json"
    path.write_text(json.dumps(request))
    return CliRunner().invoke(app, ["estimate", str(path), *arguments])


def estimated(directory: Path, request: Any, *arguments: str) -> dict[str, Any]:
    found = run(directory, request, *arguments, "--json")
    assert found.exit_code == 0, found.output
    row: dict[str, Any] = json.loads(found.stdout)
    return row
