#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Build the fuzz targets with clang, ASan and UBSan, and run each over its corpus:
# FUZZ_SECONDS long (600), or FUZZ_RUNS inputs from a fixed seed. What a target
# finds is kept in build-fuzz/found/; it belongs into test/fuzz/corpus/ with its
# cure.
#
# usage: devtools/fuzz.sh build | run [TARGET…]
set -eu
. "$(dirname "$0")/common.sh"

dir=build-fuzz
mode=${1:-run}
[ $# -eq 0 ] || shift

targets()
{
	for source in test/fuzz/fuzz_*.c; do
		target=${source##*/fuzz_}
		echo "${target%.c}"
	done
}

build()
{
	if [ ! -f "$dir/build.ninja" ]; then
		step "$dir/logs/configure.log" "configuring $dir" env CC=clang meson setup "$dir" \
			-Ddriver=disabled -Dfuzz=true -Db_sanitize=address,undefined \
			-Db_lundef=false -Dbuildtype=debugoptimized
	fi
	# shellcheck disable=SC2046 # a list of files
	step "$dir/logs/build.log" "building the fuzz targets in $dir" \
		ninja -C "$dir" $(targets | sed 's|^|test/fuzz/fuzz_|')
}

# What is new in coverage goes to a folder of its own; the corpus stays as it is.
fuzz()
{
	target=$1
	mkdir -p "$dir/found" "$dir/corpus/$target" "$dir/logs"
	if [ -n "${FUZZ_RUNS:-}" ]; then
		# The same each time: nothing that an earlier run found.
		rm -rf "$dir/fresh/$target"
		mkdir -p "$dir/fresh/$target"
		set -- -runs="$FUZZ_RUNS" -seed=1 "$dir/fresh/$target"
	else
		set -- -max_total_time="${FUZZ_SECONDS:-600}" "$dir/corpus/$target"
	fi
	echo "fuzzing: $target"
	UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 "$dir/test/fuzz/fuzz_$target" \
		-max_len=4096 -timeout=30 -rss_limit_mb=4096 -print_final_stats=1 \
		-artifact_prefix="$dir/found/$target-" "$@" "test/fuzz/corpus/$target" \
		> "$dir/logs/fuzz-$target.log" 2>&1 || {
		tail -n 60 "$dir/logs/fuzz-$target.log"
		die "$target found something; the input is in $dir/found/"
	}
	sed -n 's/^stat::number_of_executed_units: */  inputs: /p' "$dir/logs/fuzz-$target.log"
}

case $mode in
build)
	build
	;;
run)
	build
	# shellcheck disable=SC2046 # a list of names
	[ $# -gt 0 ] || set -- $(targets)
	for target; do
		fuzz "$target"
	done
	;;
*)
	die "unknown mode '$mode'; one of: build run"
	;;
esac
