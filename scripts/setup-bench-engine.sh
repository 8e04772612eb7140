#!/bin/sh
# The interpreter of the engine's workers in benchmarks: the distribution's Python, which is compiled with optimisations
# that others leave out. Where it is too old they run on the checkout's.
set -eu
cd "$(dirname "$0")/.."

if /usr/bin/python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    UV_SYSTEM_CERTS=1 UV_PYTHON_DOWNLOADS=never UV_PROJECT_ENVIRONMENT=.fanout/bench/engine \
        .fanout/tools/uv/bin/uv sync -q --frozen --no-dev --python /usr/bin/python3
else
    printf '%s\n' "setup-bench-engine: /usr/bin/python3 is not 3.11 or newer; the engine runs on the checkout's Python" >&2
fi
