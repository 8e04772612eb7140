#!/bin/sh
# Installs what the benchmark needs beside the project's own set-up: the peers, FUSE, the
# simulated EFS (built with Go) and the plotting library. Says what is missing and what that
# means; `make test` needs none of it.
set -eu
cd "$(dirname "$0")/.."

say() { printf '%s\n' "$*" >&2; }
have() { command -v "$1" >/dev/null 2>&1; }

packages=""
want() { have "$1" || packages="$packages $2"; }
want fusermount3 fuse3
want fpart fpart
want fpsync fpart
want parallel parallel
want rclone rclone
want rsync rsync
want cpio cpio
want diff diffutils
have go || packages="$packages golang-go"
if [ -n "$packages" ]; then
    if [ "$(id -u)" = 0 ] && have apt-get; then
        say "setup-bench: installing$packages"
        apt-get update -qq >/dev/null 2>&1 || true
        # shellcheck disable=SC2086
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $packages >/dev/null 2>&1 || true
    else
        say "setup-bench: not root or not Debian; install by hand:$packages"
    fi
fi

missing=0
for tool in fpart fpsync parallel rclone rsync cpio; do
    have "$tool" || say "setup-bench: $tool is not there; its rows will be missing"
done
have mcp || say "setup-bench: mcp (mutil) is not there; no registry has it, build it from its source to have its rows"
[ -e /dev/fuse ] || { say "setup-bench: /dev/fuse is not there; nothing can be measured"; missing=1; }
[ "$(id -u)" = 0 ] || { say "setup-bench: not root; the benchmark mounts file systems and drops caches"; missing=1; }
if have go; then
    mkdir -p .fanout/bench
    (cd benchmarks/efslab && go build -trimpath -o ../../.fanout/bench/efslab .) ||
        { say "setup-bench: the simulated EFS does not build; it needs Go 1.23 or newer and its two modules"; missing=1; }
else
    say "setup-bench: Go is not there; install Go 1.23 or newer"; missing=1
fi
UV_LINK_MODE=copy UV_SYSTEM_CERTS=1 UV_PYTHON_DOWNLOADS=never UV_PROJECT_ENVIRONMENT=.venv \
    .fanout/tools/uv/bin/uv sync -q --frozen --group bench || say "setup-bench: no plotting library; tables only"
scripts/setup-bench-engine.sh
[ "$missing" = 0 ] && say "setup-bench: done"
exit "$missing"
