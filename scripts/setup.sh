#!/bin/sh
# Installs the tools of the project into the checkout: uv, the project's own environment, the
# emulator's and the SAM CLI's. Needs Python 3.11 or newer, and bubblewrap for a mount at its
# real path (without it the functions see the directory itself).
# With the argument `tests` also what only checks and tests need: a second S3 server beside moto's, reviewers of the
# templates and the workflows, and the generator of the site.
set -eu
umask 022 # what is installed here runs: no group may write into it, whatever the caller's umask
cd "$(dirname "$0")/.."

say() { printf '%s\n' "$*" >&2; }
fail() { say "setup: $*"; exit 1; }

find_python() { # FANOUT_PYTHON first, if that is set
    for name in ${FANOUT_PYTHON:-} python3.13 python3.12 python3.11 python3; do
        command -v "$name" >/dev/null 2>&1 || continue
        # sys.executable is the real binary, also where the name is a version manager's shim.
        "$name" -c 'import sys; sys.version_info >= (3, 11) or sys.exit(1); print(sys.executable)' 2>/dev/null && return
    done
    return 1
}

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; elif command -v sudo >/dev/null 2>&1; then sudo -n "$@"; else return 1; fi
}

apt_install() {
    command -v apt-get >/dev/null 2>&1 || return 1
    as_root apt-get update -qq >/dev/null 2>&1 || true
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "$@" >/dev/null 2>&1
}

if [ ! -d .venv ]; then
    needed="1 GB"
    [ "${1:-}" != tests ] || needed="1.5 GB"
    say "setup: installs about $needed into .venv and .fanout; make clean removes it"
fi
python=$(find_python) || fail "no Python 3.11 or newer; install python3 (Debian 12 has 3.11)"
tools=.fanout/tools
mkdir -p "$tools"

if [ ! -x "$tools/uv/bin/uv" ]; then
    say "setup: uv"
    # Debian ships venv apart from python3.
    "$python" -c 'import ensurepip, venv' 2>/dev/null || apt_install python3-venv ||
        fail "Python's venv module is missing; run: apt-get install python3-venv"
    "$python" -m venv "$tools/uv"
    "$tools/uv/bin/python" -m pip install -q --disable-pip-version-check --require-hashes -r tools/uv.txt
fi
uv="$PWD/$tools/uv/bin/uv"
# The machine's own certificates, as pip and apt use them.
export UV_PYTHON_DOWNLOADS=never UV_LINK_MODE=copy UV_SYSTEM_CERTS=1

environment() { # NAME REQUIREMENTS
    say "setup: $1"
    [ -x "$tools/$1/bin/python" ] || "$uv" venv -q --python "$python" "$tools/$1"
    "$uv" pip sync -q --require-hashes --python "$tools/$1/bin/python" "$2"
}

say "setup: project ($("$python" --version))"
UV_PROJECT_ENVIRONMENT=.venv "$uv" sync -q --frozen --python "$python"
environment emulator tools/emulator.txt
environment sam tools/sam.txt
# What the local stack speaks TLS with; an authority that is there stays, because a stack that is up may use it.
[ -s "$tools/tls/authority.pem" ] || "$tools/emulator/bin/python" -I cli/fanout_cli/local/tls/make_certificates.py "$tools/tls"

if ! command -v bwrap >/dev/null 2>&1; then
    apt_install bubblewrap || say "setup: bubblewrap is not there and could not be installed;" \
        "the functions will see the directory itself instead of /mnt/NAME, and may write everywhere"
fi
if [ "${1:-}" = tests ]; then
    environment s3server tools/s3server.txt
    environment checks tools/checks.txt
    environment site tools/site.txt
    # A hook that is there stays; where nobody commits there is no repository.
    hook=$(git rev-parse --git-path hooks/pre-commit 2>/dev/null) || hook=
    if [ -n "$hook" ] && [ ! -e "$hook" ]; then
        "$tools/checks/bin/pre-commit" install >/dev/null || say "setup: git runs no checks before a commit; see above"
    fi
fi
say "setup: done"
