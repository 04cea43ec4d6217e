#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The project on another release of DPDK: build as little of a source tree as
# the driver, its tests and testpmd need, build the project on that with every
# warning an error, and run the smoke tests.
#
# The tree is only read; all that is made lies in build/check-dpdk/VERSION/.
# The network is not used.
#
# usage: devtools/check-dpdk.sh DPDK_SRC
#        SMOKE='PYTEST-ARGUMENT…' in the environment: other tests than these
#        JOBS=N: compile with so many processes
set -eu

# A relative path is the caller's.
src=${1:-}
case $src in
'' | /*) ;;
*) src=$PWD/$src ;;
esac
. "$(dirname "$0")/common.sh"

export PYTHONDONTWRITEBYTECODE=1

# The ethdev API on a stepped adapter, whole programs, and what testpmd shows.
smoke="test/drivers/test_ethdev.py test/drivers/test_testpmd.py test/drivers/test_telemetry.py"
oldest=22.11
# Beside the libraries that every DPDK is made of: what the examples need.
libs=acl,lpm
# The stock driver as well: ours has to work beside it.
drivers=bus/pci,bus/vdev,mempool/ring,net/mlx4
apps=test-pmd
# Of 22.11, which knows no list of libraries to build.
not_libs=bitratestats,cfgfile,flow_classify,gpudev,gro,gso,jobstats,kni,latencystats,metrics
not_libs=$not_libs,node,pdump,pipeline,port,power,table,vhost

check_tree()
{
	[ -n "$src" ] || die "no source tree is named; usage: make check-dpdk DPDK_SRC=DIR"
	[ -d "$src" ] || die "DPDK_SRC=$src is no folder"
	for file in VERSION meson_options.txt lib/ethdev/ethdev_driver.h; do
		[ -f "$src/$file" ] ||
			die "DPDK_SRC=$src is no DPDK source tree: it has no $file.
Name the top of a tree of DPDK $oldest or later, as https://fast.dpdk.org/rel has them"
	done
	version=$(head -n 1 "$src/VERSION")
	case $version in
	[0-9][0-9].[0-9][0-9].[0-9]*) ;;
	*) die "$src/VERSION says '$version', which is no release such as 24.11.1" ;;
	esac
	year=${version%%.*}
	month=${version#*.}
	month=${month%%.*}
	[ "$year$month" -ge 2211 ] ||
		die "DPDK_SRC=$src is DPDK $version; the oldest that the driver is for is $oldest"
}

# Options of this release's meson; a list of libraries to build came with 23.07.
dpdk_options()
{
	echo "-Dbuildtype=release" "-Ddefault_library=shared" "-Dplatform=generic" \
		"-Dtests=false" "-Denable_driver_sdk=true" "-Denable_drivers=$drivers" \
		"-Denable_apps=$apps" "--libdir=lib" "--prefix=$prefix"
	if grep -q "^option('enable_libs'" "$src/meson_options.txt"; then
		echo "-Denable_libs=$libs"
	else
		echo "-Ddisable_libs=$not_libs"
	fi
	# Only what a release has and would need the kernel's headers for.
	! grep -q "^option('enable_kmods'" "$src/meson_options.txt" || echo "-Denable_kmods=false"
}

build_dpdk()
{
	# shellcheck disable=SC2046 # a list of options without blanks
	set -- $(dpdk_options)
	stamp="$src|$*|${CC:-}"
	if [ "$(cat "$out/.configured" 2>/dev/null)" != "$stamp" ]; then
		rm -rf "$out"
		mkdir -p "$out"
		step "$out/logs/dpdk-configure.log" "configuring DPDK $version" \
			meson setup "$out/dpdk" "$src" "$@"
		printf '%s' "$stamp" > "$out/.configured"
	fi
	step "$out/logs/dpdk-build.log" "building what is needed of DPDK $version" \
		ninja ${JOBS:+-j "$JOBS"} -C "$out/dpdk"
	step "$out/logs/dpdk-install.log" "installing it in $where" \
		meson install --no-rebuild -C "$out/dpdk"
}

# The DPDK just built comes before the system's, for every program started.
use_dpdk()
{
	PKG_CONFIG_PATH=$prefix/lib/pkgconfig
	LD_LIBRARY_PATH=$prefix/lib
	LIBRARY_PATH=$prefix/lib
	PATH=$prefix/bin:$PATH
	export PKG_CONFIG_PATH LD_LIBRARY_PATH LIBRARY_PATH PATH
	found=$(pkg-config --variable=prefix libdpdk) || found=nothing
	[ "$found" = "$prefix" ] ||
		die "pkg-config finds $found and not $prefix; see $out/logs/dpdk-install.log"
}

build_project()
{
	if [ ! -f "$out/project/build.ninja" ]; then
		rm -rf "$out/project"
		step "$out/logs/configure.log" "configuring the project for it" \
			meson setup "$out/project" -Ddriver=enabled -Dunit_tests=false \
			-Dwerror=true
	fi
	step "$out/logs/build.log" "building the project, warnings are errors" \
		ninja ${JOBS:+-j "$JOBS"} -C "$out/project"
}

run_smoke()
{
	echo "  smoke tests on DPDK $version:"
	# shellcheck disable=SC2086 # a list of arguments
	BUILD_DIR=$out/project /usr/bin/python3 -m pytest -p no:cacheprovider --rootdir=test -q \
		${SMOKE:-$smoke}
}

check_tree
where=build/check-dpdk/$version
out=$top/$where
case $out in
*[[:space:]]*) die "this clone lies in '$top', and DPDK's meson takes no blanks in a path" ;;
esac
prefix=$out/install
echo "DPDK $version in $src:"
build_dpdk
use_dpdk
build_project
run_smoke
echo "DPDK $version: built without warnings, smoke tests passed"
