#!/bin/sh
# Prints where a program of the layer's build is, or nothing: `find.sh uv`, `find.sh pip` (a Python that has it),
# `find.sh python VERSION` (which makes the bytecode; uv installs it where it is not there and uv can).
set -eu

find_uv() {
    command -v uv && return
    # That of `make setup`: in the checkout that is built, else beside the SAM command line on the PATH.
    folder=${ARTIFACTS_DIR:-/}
    while [ "$folder" != / ] && [ "$folder" != . ]; do
        folder=$(dirname "$folder")
        [ ! -x "$folder/.fanout/tools/uv/bin/uv" ] || { echo "$folder/.fanout/tools/uv/bin/uv"; return; }
    done
    sam=$(command -v sam) || return 0
    found="$(dirname "$(readlink -f "$sam")")/../../uv/bin/uv"
    [ ! -x "$found" ] || echo "$found"
}

on_path() { # NAME...: each program of these names, in the order of the PATH, then those of the system
    folders=$PATH:/usr/bin:/usr/local/bin
    IFS=:
    for name in "$@"; do
        for folder in $folders; do
            [ ! -x "$folder/$name" ] || echo "$folder/$name"
        done
    done
}

case "$1" in
uv) find_uv ;;
pip)
    for python in $(on_path python3 python3.13 python3.12 python3.11); do
        "$python" -m pip --version >/dev/null 2>&1 || continue
        echo "$python"
        break
    done
    ;;
python)
    is_it() { [ "$("$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null)" = "$version" ]; }
    version=$2
    # The shim of a version manager is there for versions too that it does not run.
    for python in $(on_path "python$version" python3) "$HOME"/.pyenv/versions/"$version"*/bin/python3; do
        is_it "$python" || continue
        echo "$python"
        exit
    done
    uv=$(find_uv)
    [ -n "$uv" ] || exit 0
    "$uv" python find --quiet --no-project --no-python-downloads "$version" 2>/dev/null && exit
    echo "uv installs Python $version, which makes the layer's bytecode" >&2
    ! "$uv" python install --quiet "$version" >&2 || "$uv" python find --quiet --no-project "$version"
    ;;
esac
