# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=sh
#
# Sourced by the scripts of this folder: steps that show progress and keep
# their long output in a log.

# A caller without standard input must not lend our first file number 0.
exec </dev/null

top=$(cd "$(dirname "$0")/.." && pwd)
cd "$top" || exit 1

# Debian's own meson and python3, whatever else the user has installed.
PATH=/usr/sbin:/usr/bin:/sbin:/bin:$PATH
export PATH

die()
{
	echo "$(basename "$0"): $*" >&2
	exit 1
}

# step LOG "what is done" COMMAND…: one line while it works, its time when it
# is done, the end of its log when it fails.
step()
{
	step_log=$1
	step_name=$2
	shift 2
	mkdir -p "$(dirname "$step_log")"
	printf '  %-58s' "$step_name …"
	step_start=$(date +%s)
	if "$@" > "$step_log" 2>&1; then
		printf ' %4d s\n' $(($(date +%s) - step_start))
		return 0
	fi
	printf ' failed\n'
	{
		echo "--- the end of $step_log:"
		tail -n 60 "$step_log"
		echo "--- failed: $step_name"
	} >&2
	exit 1
}
