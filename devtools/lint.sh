#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Everything that can be said of the source without running it.
#
# usage: devtools/lint.sh
set -eu
. "$(dirname "$0")/common.sh"

logs=build/logs

sources()
{
	git ls-files -- "$@"
}

# SPDX lines, columns, trailing blanks, lengths of files and functions.
house_rules()
{
	/usr/bin/python3 devtools/house_rules.py
}

spelling()
{
	sources | grep -v -e '^LICENSE$' | xargs codespell --ignore-words-list=wqs,inflight,nd,fo
}

shell_scripts()
{
	shellcheck -S warning -x -P SCRIPTDIR devtools/*.sh .ci/run
}

python_style()
{
	# E402: the path to our own modules has to come first.
	sources '*.py' usertools/mlx4dv-demo usertools/mlx4dv-check \
		app/mlx4dv-perf/mlx4dv-perf |
		xargs pycodestyle --max-line-length=100 --ignore=E402,W503
}

# The layout of what a change touches; the rest stays as its author laid it out.
changed_layout()
{
	base=$(git rev-parse -q --verify '@{upstream}' 2>/dev/null || git rev-parse HEAD)
	git clang-format --style=file --diff "$base" -- lib drivers app examples test > \
		"$logs/layout.diff" || true
	grep -q '^diff' "$logs/layout.diff" || return 0
	echo "clang-format would lay out some changed lines otherwise: see $logs/layout.diff"
}

compiled_by()
{
	CC=$1 devtools/build.sh "build-lint-$1"
}

# All of them, also after one has failed.
failed=0
check()
{
	(step "$@") || failed=1
}

check $logs/house_rules.log "house rules" house_rules
check $logs/spelling.log "spelling" spelling
check $logs/shellcheck.log "shell scripts" shell_scripts
check $logs/pycodestyle.log "Python style" python_style
check $logs/layout.log "layout of changed lines (report only)" changed_layout
cat $logs/layout.log
compiled_by gcc || failed=1
compiled_by clang || failed=1
exit $failed
