#!/bin/sh
# Installs toxiproxy, which benchmarks/toxics.py puts between the client and S3.
set -eu
cd "$(dirname "$0")/.."

command -v go >/dev/null 2>&1 || { printf 'setup-toxiproxy: Go is not there; install Go 1.21 or newer\n' >&2; exit 1; }
[ -x .fanout/bench/toxiproxy ] || {
    GOBIN="$PWD/.fanout/bench" go install github.com/Shopify/toxiproxy/v2/cmd/server@v2.12.0
    mv .fanout/bench/server .fanout/bench/toxiproxy
}
