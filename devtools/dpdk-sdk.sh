#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Fetch the source of exactly the installed DPDK into .deps/dpdk-sdk/.
#
# Debian's libdpdk-dev lacks the headers that a driver needs (ethdev_driver.h
# and six more). The source package of the same version has them, and nothing
# of it is built or committed. The system's own apt lists stay as they are: the
# source entries are derived from them into a private folder. DPDK_SDK=DIR in
# the environment names a source tree to use instead.
#
# usage: devtools/dpdk-sdk.sh [--present|--where]
#        --present: only say by the exit status whether anything is to be done
#        --where:   print the folder for meson's dpdk_sdk; empty when the
#                   installed package has the headers itself
set -eu
. "$(dirname "$0")/common.sh"

out=${DPDK_SDK:-$top/.deps/dpdk-sdk}

installed_headers()
{
	include=$(pkg-config --variable=includedir libdpdk 2>/dev/null) || return 1
	[ -f "$include/ethdev_driver.h" ] || [ -f "$include/dpdk/ethdev_driver.h" ]
}

# A tree of the right version. What was unpacked by hand has no .package.
present()
{
	[ -f "$out/lib/ethdev/ethdev_driver.h" ] || return 1
	[ "$(cat "$out/VERSION" 2>/dev/null)" = "$(pkg-config --modversion libdpdk)" ] || return 1
	[ ! -f "$out/.package" ] || [ -z "$package" ] || [ "$(cat "$out/.package")" = "$package" ]
}

# Every entry of this machine as a source entry, in both forms that apt knows.
# Which mirror is Debian's cannot be told from its name, so all are taken.
source_entries()
{
	for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
		[ -f "$file" ] || continue
		sed -n '/cdrom:/d; s/^[[:space:]]*deb[[:space:]]/deb-src /p' "$file"
	done > "$work/parts/private.list"
	n=0
	for file in /etc/apt/sources.list.d/*.sources; do
		[ -f "$file" ] || continue
		n=$((n + 1))
		sed 's/^Types:.*/Types: deb-src/' "$file" > "$work/parts/private$n.sources"
	done
}

private_apt()
{
	apt-get -q -o Dir::Etc::sourcelist=/dev/null \
		-o Dir::Etc::sourceparts="$work/parts" \
		-o Dir::State::lists="$work/lists" \
		-o Dir::Cache="$work/cache" \
		-o APT::Sandbox::User="$(id -un)" "$@"
}

fetch()
{
	mkdir -p "$work/parts" "$work/lists/partial" "$work/cache/archives/partial" "$work/src"
	source_entries
	# Entries of other vendors may have no sources: only the result counts.
	private_apt update || echo "dpdk-sdk: not every source list could be read; going on"
	(cd "$work/src" && private_apt source --only-source "${package% *}=${package#* }") ||
		die "cannot fetch the source of $package.
Either the network is not there, or the mirror has moved on to a later version:
then upgrade with 'apt-get install dpdk-dev libdpdk-dev'. A source tree of DPDK
$(pkg-config --modversion libdpdk) from elsewhere does too: DPDK_SDK=DIR make …"
	tree=$(find "$work/src" -mindepth 1 -maxdepth 1 -type d | head -n 1)
	[ -f "$tree/lib/ethdev/ethdev_driver.h" ] ||
		die "the source of $package lacks lib/ethdev/ethdev_driver.h"
	echo "$package" > "$tree/.package"
	rm -rf "$out"
	mv "$tree" "$out"
}

pkg-config --exists libdpdk || die "libdpdk is not installed; run 'make setup'"
package=$(dpkg-query -W -f '${source:Package} ${source:Version}' libdpdk-dev 2>/dev/null) ||
	package=

case ${1:-} in
--present)
	installed_headers || present
	exit
	;;
--where)
	installed_headers || printf '%s\n' "$out"
	exit
	;;
"")
	;;
*)
	die "unknown option '$1'; usage: devtools/dpdk-sdk.sh [--present|--where]"
	;;
esac

if installed_headers || present; then
	exit 0
fi
[ -z "${DPDK_SDK:-}" ] ||
	die "DPDK_SDK=$DPDK_SDK holds no source of DPDK $(pkg-config --modversion libdpdk)"
[ -n "$package" ] ||
	die "DPDK $(pkg-config --modversion libdpdk) is not Debian's and has no driver headers:
build it with -Denable_driver_sdk=true, or name its source tree with DPDK_SDK=DIR"

# Beside the final place, so that the move is one rename and nothing half-made
# is ever found there.
mkdir -p "$(dirname "$out")"
work=$(mktemp -d "$(dirname "$out")/fetch.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
fetch
