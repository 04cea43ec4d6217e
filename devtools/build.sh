#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Configure (when needed) and build in a folder of the project.
#
# usage: devtools/build.sh DIR [MESON-OPTION…]
set -eu
. "$(dirname "$0")/common.sh"

dir=$1
shift

# A moved clone, another DPDK or other options need a fresh start; everything
# else meson and ninja notice themselves.
stamp="$top|$(pkg-config --modversion libdpdk)|${CC:-}|$*"
configured=$(cat "$dir/.configured" 2>/dev/null) || configured=
if [ ! -f "$dir/build.ninja" ] || [ "$configured" != "$stamp" ]; then
	logs=$dir/logs
	# Keep the logs of the set-up that runs before this, and what make check-dpdk built.
	mkdir -p "$dir"
	find "$dir" -mindepth 1 -maxdepth 1 ! -name logs ! -name check-dpdk -exec rm -rf {} +
	step "$logs/configure.log" "configuring $dir" meson setup "$dir" \
		-Ddriver=enabled -Ddpdk_sdk="$(devtools/dpdk-sdk.sh --where)" "$@"
	printf '%s' "$stamp" > "$dir/.configured"
fi
step "$dir/logs/build.log" "building in $dir" ninja -C "$dir"
