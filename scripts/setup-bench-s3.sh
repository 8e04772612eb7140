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
# The engine's workers run on the distribution's Python, which is compiled with optimisations that others leave out.
if /usr/bin/python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    UV_PROJECT_ENVIRONMENT=.fanout/bench/engine "$uv" sync -q --frozen --no-dev --python /usr/bin/python3
else
    say "setup-bench-s3: /usr/bin/python3 is not 3.11 or newer; the engine runs on the checkout's Python"
fi
command -v go >/dev/null 2>&1 || { say "setup-bench-s3: Go is not there; install Go 1.21 or newer"; exit 1; }
(cd benchmarks/s3lab && go build -trimpath -o ../../.fanout/bench/s3lab .)
say "setup-bench-s3: done"
