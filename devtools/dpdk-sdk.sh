#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Fetch the source of exactly the installed DPDK into .deps/dpdk-sdk/.
#
# Debian's libdpdk-dev lacks the headers that a driver needs (ethdev_driver.h
# and six more). The source package of the same version has them, and nothing
# of it is built or committed. The system's own apt lists stay as they are: the
# source entries are derived from them into a private folder.
#
# usage: devtools/dpdk-sdk.sh [DIR]        (default: .deps/dpdk-sdk)
set -eu

top=$(cd "$(dirname "$0")/.." && pwd)
out=${1:-$top/.deps/dpdk-sdk}
die() { echo "dpdk-sdk: $*" >&2; exit 1; }

package=$(dpkg-query -W -f '${source:Package} ${source:Version}' libdpdk-dev 2>/dev/null) ||
	die "libdpdk-dev is not installed; run 'make setup'"
source=${package% *}
version=${package#* }

[ -f "$out/.package" ] && [ "$(cat "$out/.package")" = "$package" ] && exit 0

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
mkdir -p "$work/parts" "$work/lists/partial" "$work/cache/archives/partial" "$work/src"

# Every Debian entry of this machine, as a source entry. One-line (.list) and
# deb822 (.sources) forms; entries of other vendors are harmless but slow.
for f in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
	[ -f "$f" ] || continue
	sed -n 's/^[[:space:]]*deb[[:space:]]/deb-src /p' "$f" | grep -i debian \
		>> "$work/parts/private.list" || true
done
n=0
for f in /etc/apt/sources.list.d/*.sources; do
	[ -f "$f" ] || continue
	grep -qi '^URIs:.*debian' "$f" || continue
	n=$((n + 1))
	sed 's/^Types:.*/Types: deb-src/' "$f" > "$work/parts/private$n.sources"
done

apt() {
	apt-get -q -o Dir::Etc::sourcelist=/dev/null \
		-o Dir::Etc::sourceparts="$work/parts" \
		-o Dir::State::lists="$work/lists" \
		-o Dir::Cache="$work/cache" \
		-o APT::Sandbox::User=root "$@"
}

echo "dpdk-sdk: fetching the source of $source $version"
apt update > "$work/log" 2>&1 || { cat "$work/log" >&2; die "apt-get update failed"; }
(cd "$work/src" && apt source --only-source "$source=$version") >> "$work/log" 2>&1 ||
	{ cat "$work/log" >&2; die "cannot fetch the source of $source $version"; }

tree=$(find "$work/src" -mindepth 1 -maxdepth 1 -type d | head -n 1)
[ -f "$tree/VERSION" ] || die "the source of $source $version holds no VERSION file"
rm -rf "$out"
mkdir -p "$(dirname "$out")"
mv "$tree" "$out"
echo "$package" > "$out/.package"
