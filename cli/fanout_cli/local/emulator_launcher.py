"""Starts MiniStack with what the local run needs of it beyond its options.

Run by path with the interpreter of the emulator's environment; imports nothing of the project.
It ends when its standard input ends, that is with the process that started it, however that one ends.
"""

from __future__ import annotations

import base64
import contextvars
import importlib.util
import os
import signal
import socketserver
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

SPAWNERS = 64
END_SECONDS = 5.0


def honour_max_concurrency_path() -> None:
    """A Distributed Map takes MaxConcurrencyPath and the Tolerated...Path fields as AWS does."""
    from ministack.services import stepfunctions  # type: ignore[import-not-found]

    run = stepfunctions._run_distributed_map
    fields = ("MaxConcurrency", "ToleratedFailurePercentage", "ToleratedFailureCount")

    def resolved(state: dict[str, Any], raw: Any, effective: Any, iterator: Any, execution: Any, context: Any) -> Any:
        paths = {name: state[f"{name}Path"] for name in fields if f"{name}Path" in state}
        values = {name: stepfunctions._resolve_path_or_ctx(path, effective, context) for name, path in paths.items()}
        return run({**state, **values}, raw, effective, iterator, execution, context)

    stepfunctions._run_distributed_map = resolved


def spawn_from_lasting_threads() -> None:
    """bwrap's --die-with-parent follows the thread that spawned it, and a task's thread ends with the task."""
    from ministack.core import lambda_runtime  # type: ignore[import-not-found]

    spawn = lambda_runtime.ProvidedWorker._spawn
    threads = ThreadPoolExecutor(SPAWNERS, "spawner")

    def spawn_elsewhere(self: Any, init_timeout: float | None = None) -> None:
        threads.submit(contextvars.copy_context().run, spawn, self, init_timeout).result()

    lambda_runtime.ProvidedWorker._spawn = spawn_elsewhere


def name_a_death_at_start() -> None:
    """A worker that dies while it starts is Runtime.ExitError, as on AWS, and not Runtime.Unknown."""
    from ministack.core import lambda_runtime

    await_init = lambda_runtime.ProvidedWorker._await_init

    def named(self: Any, init_timeout: float | None = None) -> None:
        try:
            await_init(self, init_timeout)
        except lambda_runtime.ProvidedInitTimeout:
            raise
        except RuntimeError as error:
            raise lambda_runtime.ProvidedRuntimeError(str(error), "Runtime.ExitError") from error

    lambda_runtime.ProvidedWorker._await_init = named


def checksum_in_native_code() -> None:
    """CRC64NVME by the AWS common runtime: MiniStack's own takes a second for 10 MB."""
    from awscrt.checksums import crc64nvme
    from ministack.services import s3

    s3._crc64nvme = crc64nvme


def checksum_of_whole_uploads() -> None:
    """A multipart upload's CRC64NVME is that of the whole object, as on S3, and not one of its parts' checksums."""
    from awscrt.checksums import crc64nvme
    from ministack.services import s3

    complete, composite = s3._complete_multipart_upload, s3._composite_checksum
    bodies: contextvars.ContextVar[list[bytes]] = contextvars.ContextVar("bodies")

    def whole_checksum(algorithm: str, digests: list[str]) -> Any:
        if algorithm != "CRC64NVME":
            return composite(algorithm, digests)
        checksum = 0
        for body in bodies.get():
            checksum = crc64nvme(body, checksum)
        return base64.b64encode(checksum.to_bytes(8, "big")).decode()

    def complete_whole(bucket: str, key: str, body: bytes, query: dict[str, Any], headers: Any = None) -> Any:
        upload = s3._multipart_uploads.get(s3._qp(query, "uploadId"), {})
        parts = upload.get("parts", {})
        bodies.set([parts[number]["body"] for number in sorted(parts, key=int)])
        answer = complete(bucket, key, body, query, headers)
        if answer[0] == 200 and upload.get("checksum_algorithm") == "CRC64NVME":
            stored = s3._buckets[bucket]["objects"][key]
            stored["checksum_type"] = "FULL_OBJECT"
            s3._persist_object(bucket, key, stored)
        return answer

    s3._composite_checksum, s3._complete_multipart_upload = whole_checksum, complete_whole


def keep_attributes_of_nested_resources() -> None:
    """A resource of a nested stack that an update leaves as it is keeps its attributes, as in the main stack."""
    from ministack.services.cloudformation import _stacks, provisioners  # type: ignore[import-not-found]

    update = provisioners._update_resource

    def keeping(kind: str, physical: str, old: Any, new: Any, stack: str, *rest: Any) -> tuple[str, dict[str, Any]]:
        if len(rest) != 1 or "_parent_stack_name" not in _stacks.get(stack, {}):  # the main stack gives them along
            return update(kind, physical, old, new, stack, *rest)  # type: ignore[no-any-return]
        known = _stacks[stack]["_resources"].get(rest[0], {}).get("Attributes", {})
        updated, attributes = update(kind, physical, old, new, stack, rest[0], known)
        return updated, {**known, **attributes} if updated == physical else attributes

    provisioners._update_resource = keeping


def listen_on_one_port() -> None:
    """With TLS MiniStack would also take port 443, where it may."""
    from ministack import app  # type: ignore[import-not-found]

    app._port_is_bindable = lambda host, port: False


def save_on_request(marker: Path) -> None:
    """Resources are saved when asked to, not at the end: what is saved is the deployment, without its runs.

    Objects in S3 are on disk as soon as they are written.
    """
    from ministack import app

    save_all = app.save_all
    app.save_all = lambda services: None

    def save(*_: object) -> None:
        save_all(app._build_persistence_save_dict())
        marker.write_text("saved", encoding="utf-8")

    signal.signal(signal.SIGUSR1, save)


def end_with_input() -> None:
    """Wait for the end of standard input, then end, gently first."""
    sys.stdin.buffer.read()
    threading.Timer(END_SECONDS, os.killpg, (0, signal.SIGKILL)).start()
    os.kill(os.getpid(), signal.SIGTERM)


def sibling(path: str) -> Any:
    """A module of the project by its path from this one's directory: the emulator's environment has no such package."""
    place = Path(__file__).parent / path
    spec = importlib.util.spec_from_file_location(place.stem, place)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def main() -> None:
    """Start MiniStack; at the end take the workers along."""
    # Otherwise every invocation waits for a delayed acknowledgement.
    socketserver.StreamRequestHandler.disable_nagle_algorithm = True
    honour_max_concurrency_path()
    spawn_from_lasting_threads()
    sibling("workers/function_limits.py").keep_functions_in_their_limits()
    name_a_death_at_start()
    checksum_in_native_code()
    checksum_of_whole_uploads()
    keep_attributes_of_nested_resources()
    roles = sibling("serving/roles.py")
    roles.state_machines_act_under_their_roles()
    roles.schedules_start_runs()
    roles.name_what_a_call_is_about()
    listen_on_one_port()
    policies = sibling("serving/policies.py")
    policies.parse_policies_once()
    policies.match_every_character()
    policies.name_callers_without_their_policies()
    policies.name_sessions_by_the_ids_of_roles()
    policies.know_how_a_key_is_asked_to_sign()
    admit = sibling("serving/admission.py").admission(sibling("serving/peers.py"))
    sibling("serving/server.py").serve_in_native_code(float(sys.argv.pop()), admit)
    save_on_request(Path(sys.argv.pop()))
    threading.Thread(target=end_with_input, daemon=True).start()
    from ministack import app

    try:
        app.main()
    finally:
        os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    main()
