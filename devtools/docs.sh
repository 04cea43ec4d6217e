#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Build the guides as HTML; a warning is an error.
#
# usage: devtools/docs.sh
set -eu
. "$(dirname "$0")/common.sh"

step build/logs/docs.log "building the guides" \
	/usr/bin/python3 -m sphinx -W --keep-going -n -E -b html \
	-d build/doc/doctrees doc/guides build/doc/html
echo "  build/doc/html/index.html"
