#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Run the pytest harness over the build in BUILD_DIR.
#
# usage: devtools/test.sh [PYTEST-ARGUMENT…]
set -eu
. "$(dirname "$0")/common.sh"

# Everything, unless an argument names files, folders or single tests.
all="test"
for argument; do
	[ ! -e "${argument%%::*}" ] || all=
done

# Everything is shared by two workers (test/harness/parallel.py); -n0 for one.
workers=
[ -z "$all" ] || [ "$(nproc)" -lt 2 ] || workers=-n2

# shellcheck disable=SC2086 # nothing, or one word
exec /usr/bin/python3 -m pytest -p no:cacheprovider --rootdir=test -q $workers "$@" $all
