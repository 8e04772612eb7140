"""The real ``sam build`` and ``sam deploy`` of the real template, into the emulator."""

from __future__ import annotations

import hashlib
import json
import platform
import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from fanout_cli.local.clients import Clients
from fanout_cli.local.emulator import Emulator
from fanout_cli.local.errors import LocalRunError, tail
from fanout_cli.local.paths import LocalPaths
from fanout_cli.local.toolchain import Toolchain
from fanout_cli.local.workers.worker import SeenMount, function_zip

STACK_NAME = "fanout-local"
ARCHITECTURES = {"x86_64": ("x86_64", "x86_64"), "aarch64": ("arm64", "aarch64"), "arm64": ("arm64", "aarch64")}
# Nothing is mounted here through an access point: each function sees the directory of its side (``worker.py``).
SECOND_MOUNT = {
    "SecondAccessPointArn": "arn:aws:elasticfilesystem:us-east-1:000000000000:access-point/fsap-00000002",
    "SecondFileSystemId": "fs-00000002",
    "SecondSubnetIds": "subnet-00000002",
    "SecondSecurityGroupIds": "sg-00000002",
}
FORMAT = 2
"""Raise it when what a deployment leaves behind changes its meaning."""


@dataclass(frozen=True)
class DeployedStack:
    """The deployed stack, and a digest of its sources."""

    fingerprint: str
    outputs: dict[str, str]


class Deployment:
    """Deploys a checkout when its sources are not those that are deployed already."""

    def __init__(self, paths: LocalPaths, tools: Toolchain, parameters: Mapping[str, str]) -> None:
        architecture, self._platform = _architecture()
        self._paths = paths
        self._tools = tools
        self._parameters = {
            "Architecture": architecture,
            "ReadBucketArns": "arn:aws:s3:::*",
            "WriteBucketArns": "arn:aws:s3:::*",
            **SECOND_MOUNT,
            # The emulator does not know AWS::Logs::QueryDefinition; everything else is deployed as it is.
            "SavedQueries": "false",
            # The emulator signs, and asks no dollar a month for the key.
            "Certificates": "true",
            **parameters,
        }

    def current(self) -> DeployedStack | None:
        """The deployed stack if its sources are unchanged."""
        try:
            found = DeployedStack(**json.loads(self._paths.deployed.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            return None
        return found if found.fingerprint == self.fingerprint() and self._paths.layer.is_dir() else None

    def fingerprint(self) -> str:
        """Changes with every source that goes into the deployment."""
        digest = hashlib.sha256(repr((FORMAT, sorted(self._parameters.items()))).encode())
        digest.update(f"{self._paths.state} {self._tools.worker_python}".encode())
        for path in _sources(self._paths.repo):
            content = path.read_bytes()
            digest.update(f"{path.relative_to(self._paths.repo)} {len(content)}\n".encode() + content)
        return digest.hexdigest()

    def build(self, emulator: Emulator) -> None:
        """Build the layer for the interpreter and the processor of the workers."""
        self._paths.deployed.unlink(missing_ok=True)
        environment = emulator.environment() | {
            "FANOUT_LAYER_PYTHON": _version(self._tools.worker_python),
            "FANOUT_LAYER_INTERPRETER": str(self._tools.worker_python),
            "FANOUT_LAYER_PLATFORM": self._platform,
        }
        if self._tools.uv is not None:
            environment["PATH"] = f"{self._tools.uv.parent}:{environment.get('PATH', '')}"
        self._sam(
            "build",
            environment,
            ["--template-file", str(self._paths.template), "--build-dir", str(self._paths.build), *self._overrides()],
        )

    def deploy(self, emulator: Emulator, clients: Clients) -> DeployedStack:
        """Deploy what was built, make the functions run here, and save that."""
        fingerprint = self.fingerprint()
        self._sam(
            "deploy",
            emulator.environment() | {"SAM_CLI_POLL_DELAY": "0.2"},
            [
                *("--template-file", str(self._paths.build / "template.yaml"), "--stack-name", STACK_NAME),
                *("--resolve-s3", "--capabilities", "CAPABILITY_IAM"),
                *("--no-confirm-changeset", "--no-fail-on-empty-changeset", "--no-progressbar"),
                *self._overrides(),
            ],
        )
        self._take_over_functions(clients)
        stack = clients.cloudformation.describe_stacks(StackName=STACK_NAME)["Stacks"][0]
        deployed = DeployedStack(fingerprint, {o["OutputKey"]: o["OutputValue"] for o in stack["Outputs"]})
        emulator.save()
        self._paths.deployed.write_text(json.dumps(deployed.__dict__, indent=1), encoding="utf-8")
        return deployed

    def _take_over_functions(self, clients: Clients) -> None:
        """Make every function run its folder under AWS's runtime client, by the public API.

        The emulator's own Python workers would call every error Runtime.HandlerError.
        """
        for side, stack in _stacks(clients):
            for resource, name in _resources(clients, stack, "AWS::Lambda::Function").items():
                code = function_zip(self._paths.functions / folder_name(resource), self._paths.worker, side)
                clients.functions.update_function_configuration(FunctionName=name, Runtime="provided.al2023")
                clients.functions.update_function_code(FunctionName=name, ZipFile=code)

    def _overrides(self) -> list[str]:
        return ["--parameter-overrides", *(f"{name}={value}" for name, value in self._parameters.items())]

    def _sam(self, command: str, environment: Mapping[str, str], arguments: list[str]) -> None:
        if not environment.get("AWS_ENDPOINT_URL"):
            raise LocalRunError("AWS_ENDPOINT_URL is not set: sam would call the real AWS")
        log = self._paths.log(f"sam-{command}")
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("wb") as output:
            result = subprocess.run(
                [self._tools.sam, command, *arguments],
                cwd=self._paths.repo,
                env={**environment, "SAM_CLI_TELEMETRY": "0"},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                check=False,
            )
        if result.returncode != 0:
            raise LocalRunError(f"sam {command} failed; its log {log} ends:\n{tail(log)}")


def folder_name(resource: str) -> str:
    """The folder that holds a function: one word names both."""
    return re.sub(r"(?<!^)([A-Z])", r"_\1", resource.removesuffix("Function")).lower()


def _stacks(clients: Clients) -> list[tuple[SeenMount, str]]:
    """The stacks that hold functions, each with its side: those that mount a file system are nested, two a mount.

    A stack of an earlier version has fewer of them, and so has one without batches of S3's events.
    """
    nested = _resources(clients, STACK_NAME, "AWS::CloudFormation::Stack")
    first, second = SeenMount.FIRST, SeenMount.SECOND
    sides = {"FirstMount": first, "Probe": first, "SecondMount": second, "SecondProbe": second}
    sides |= {"Events": SeenMount.NONE, "Examining": SeenMount.NONE}
    return [(SeenMount.NONE, STACK_NAME), *((side, nested[name]) for name, side in sides.items() if name in nested)]


def _resources(clients: Clients, stack: str, kind: str) -> dict[str, str]:
    """The physical ids of a stack's resources of a type, by their names in the template."""
    found = clients.cloudformation.describe_stack_resources(StackName=stack)["StackResources"]
    return {r["LogicalResourceId"]: r["PhysicalResourceId"] for r in found if r["ResourceType"] == kind}


def _sources(repo: Path) -> Iterator[Path]:
    yield repo / "template.yaml"
    for folder in ("templates", "functions", "layers", "statemachine"):
        for path in sorted((repo / folder).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                yield path


def _architecture() -> tuple[str, str]:
    machine = platform.machine()
    if machine not in ARCHITECTURES:
        raise LocalRunError(f"this machine is {machine}; the functions run on x86_64 and arm64")
    return ARCHITECTURES[machine]


def _version(python: Path) -> str:
    show = "import sys; print('%d.%d' % sys.version_info[:2])"
    return subprocess.run([python, "-c", show], capture_output=True, text=True, check=True).stdout.strip()
