#!/bin/sh
# Builds what explores the protocol, model/, into .fanout/model. Needs cargo; on Debian it is installed as cargo-web,
# because Debian 12's own is too old for today's index of crates.
set -eu
cd "$(dirname "$0")/../model"

if ! command -v cargo >/dev/null 2>&1; then
    [ "$(id -u)" = 0 ] || sudo=sudo
    { ${sudo:-} apt-get update -qq && ${sudo:-} apt-get install -y -qq --no-install-recommends cargo-web; } >/dev/null 2>&1 ||
        { printf '%s\n' "setup-model: cargo is not there and could not be installed; install Rust 1.80 or newer" >&2; exit 1; }
fi
exec cargo build --quiet --release --locked --target-dir ../.fanout/model
