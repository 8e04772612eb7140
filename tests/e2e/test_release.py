"""A release in a bucket: what the console's launch address deploys without SAM and without a checkout."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from cfnlint.decode import cfn_yaml

from fanout_cli.local.clients import Clients
from fanout_cli.local.emulator import Emulator
from tests.template.templates import REPO, STACK, stacks

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]
BUCKET = "releases"


def test_a_release_is_a_template_whose_code_and_templates_are_in_the_bucket(emulator: Emulator, tmp_path: Path) -> None:
    s3 = Clients(emulator.access).s3
    s3.create_bucket(Bucket=BUCKET)
    command = [sys.executable, str(REPO / "scripts/package_release.py"), BUCKET, "--prefix", "fanout/1"]
    environment = {**emulator.environment(), "SAM_CLI_TELEMETRY": "0", "FANOUT_LAYER_INTERPRETER": "none"}
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    asked = parse_qs(urlsplit(ended.stdout.strip()).fragment.partition("?")[2])
    [address] = asked["templateURL"]
    assert address.endswith(f"/{BUCKET}/fanout/1/template.yaml")

    packaged = tmp_path / "template.yaml"
    packaged.write_bytes(s3.get_object(Bucket=BUCKET, Key="fanout/1/template.yaml")["Body"].read())
    resources: dict[str, Any] = json.loads(json.dumps(cfn_yaml.load(str(packaged))))["Resources"]
    keys = {
        one["Key"] for page in s3.get_paginator("list_objects_v2").paginate(Bucket=BUCKET) for one in page["Contents"]
    }
    nested = {name: one["Properties"]["TemplateURL"] for name, one in resources.items() if one["Type"] == STACK}
    assert nested.keys() == stacks().keys()
    code = [one["Properties"]["CodeUri"] for one in resources.values() if "CodeUri" in one.get("Properties", {})]
    for place in [*nested.values(), *code]:
        assert place.partition(f"{BUCKET}/")[2] in keys
