#!/bin/sh
# Installs what benchmarks/s3_objects.py needs beside the project's own set-up: the peers at the versions of
# tools/s3peers.txt, a Python for the engine, and the S3 server, built with Go's standard library alone.
set -eu
cd "$(dirname "$0")/.."

say() { printf '%s\n' "$*" >&2; }
uv="$PWD/.fanout/tools/uv/bin/uv"
export UV_PYTHON_DOWNLOADS=never UV_LINK_MODE=copy UV_SYSTEM_CERTS=1

peers=.fanout/bench/s3peers
[ -x "$peers/bin/python" ] || "$uv" venv -q --python .venv/bin/python "$peers"
"$uv" pip sync -q --require-hashes --python "$peers/bin/python" tools/s3peers.txt ||
    say "setup-bench-s3: the peers could not be installed; their rows will be missing"
scripts/setup-bench-engine.sh
command -v go >/dev/null 2>&1 || { say "setup-bench-s3: Go is not there; install Go 1.21 or newer"; exit 1; }
(cd benchmarks/s3lab && go build -trimpath -o ../../.fanout/bench/s3lab .)
say "setup-bench-s3: done"
