#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Run the pytest harness over the build in BUILD_DIR.
#
# usage: devtools/test.sh [PYTEST-ARGUMENT…]
set -eu
. "$(dirname "$0")/common.sh"

exec /usr/bin/python3 -m pytest -p no:cacheprovider --rootdir=test -q "$@" test
