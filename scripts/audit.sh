#!/bin/sh
# Asks the advisories of PyPI about every locked dependency of the layer. Ends with 1 if there is one, or if a package
# could not be asked about: a mirror of the index without advisories would otherwise look like a clean result.
set -eu
cd "$(dirname "$0")/.."

printf '%s\n' "audit: asks the package index for advisories; needs the network, and an index that has them" >&2
if "$1" tool run --from pip-audit==2.10.1 pip-audit --strict --disable-pip --require-hashes -r layers/core/requirements.txt; then
    exit 0
fi
printf '%s\n' "audit: not clean, or not asked about everything (above); behind a mirror of the index without advisories" \
    "audit: take the result of the job audit of the workflow check instead" >&2
exit 1
