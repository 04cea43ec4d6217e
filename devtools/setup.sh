#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Install what is missing of the Debian packages that the project needs, then
# the driver headers of the installed DPDK. Asks nothing, and needs neither
# network nor privileges when nothing is missing.
#
# usage: devtools/setup.sh GROUP…       (build run test bench check-dpdk check-arm fuzz lint docs)
set -eu
. "$(dirname "$0")/common.sh"

packages()
{
	case $1 in
	build)
		echo gcc g++ libc6-dev pkg-config meson ninja-build \
			libdpdk-dev libibverbs-dev libpcap-dev libcmocka-dev
		;;
	run)
		echo dpdk dpdk-dev python3 ibverbs-providers librte-net-mlx4-23
		;;
	test)
		echo python3-pytest python3-pytest-xdist python3-scapy ibverbs-utils perftest \
			python3-pyverbs iproute2 ethtool iputils-ping iperf3 tcpdump \
			mandoc valgrind make python3-pyelftools openvswitch-switch-dpdk \
			python3-matplotlib
		packages fuzz
		;;
	bench)
		echo python3-matplotlib
		;;
	fuzz)
		echo clang libclang-rt-14-dev
		;;
	lint)
		echo clang clang-format codespell pycodestyle shellcheck git
		;;
	docs)
		echo python3-sphinx
		;;
	check-dpdk)
		# The driver headers come with the tree that is checked.
		packages build
		packages run
		packages test
		;;
	check-arm)
		packages build
		echo gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user-static
		;;
	source)
		echo dpkg-dev
		;;
	*)
		die "unknown group '$1'; one of: build run test bench check-dpdk check-arm fuzz" \
			"lint docs"
		;;
	esac
}

# The given packages that are not installed.
missing()
{
	for package; do
		status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) || status=
		[ "$status" = installed ] || echo "$package"
	done
}

as_root()
{
	if [ "$(id -u)" -eq 0 ]; then
		"$@"
	else
		sudo -n "$@"
	fi
}

policy=/usr/sbin/policy-rc.d

# The tests start what they need themselves: the services of new packages are wanted
# neither now nor after a boot.
install_packages()
{
	ours=false
	status=0
	[ -e $policy ] || ours=true
	if $ours; then
		printf '#!/bin/sh\nexit 101\n' | as_root tee $policy > /dev/null
		as_root chmod 755 $policy
	fi
	new=$(missing openvswitch-switch)
	apt_install "$@" || status=$?
	if $ours; then
		as_root rm -f $policy
	fi
	if [ -n "$new" ] && [ -z "$(missing openvswitch-switch)" ] && command -v systemctl; then
		as_root systemctl -q disable openvswitch-switch.service || status=$?
	fi
	return $status
}

apt_install()
{
	as_root apt-get -q update ||
		echo "apt-get update failed; going on with the package lists at hand"
	as_root env DEBIAN_FRONTEND=noninteractive NEEDRESTART_MODE=a \
		apt-get -q -y --no-install-recommends \
		-o Dpkg::Options::=--force-confold -o DPkg::Lock::Timeout=120 \
		install "$@"
}

need()
{
	absent=$(missing "$@" | tr '\n' ' ')
	[ -n "$absent" ] || return 0
	if [ "$(id -u)" -ne 0 ] && ! sudo -n true 2>/dev/null; then
		die "these packages are missing, and sudo would ask for a password:
  ${absent}
run 'sudo apt-get install ${absent% }', then the same command again"
	fi
	# shellcheck disable=SC2086 # a list of package names
	set -- $absent
	case $# in
	1) what=$1 ;;
	*) what="$# packages" ;;
	esac
	step build/logs/packages.log "installing $what" install_packages "$@"
}

command -v apt-get > /dev/null ||
	die "this set-up knows Debian's apt-get only; see CONTRIBUTING.md for what to install"
[ $# -gt 0 ] || set -- build run test

wanted=
headers=false
for group; do
	wanted="$wanted $(packages "$group")"
	case $group in
	build | check-arm) headers=true ;;
	esac
done
# shellcheck disable=SC2086
need $wanted

if $headers && ! devtools/dpdk-sdk.sh --present; then
	# shellcheck disable=SC2046
	need $(packages source)
	step build/logs/dpdk-sdk.log "fetching the driver headers of the installed DPDK" \
		devtools/dpdk-sdk.sh
fi
