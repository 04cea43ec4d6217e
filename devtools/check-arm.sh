#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The driver and libdvq compiled for 64-bit Arm, every warning an error; then the unit
# tests of the queues and of the receive bursts (NEON against scalar) under qemu.
#
# Headers of arm64 packages are unpacked in .deps/arm64/, fetched once; nothing of
# that architecture is installed. What is made lies in build/check-arm/.
#
# usage: devtools/check-arm.sh
set -eu
. "$(dirname "$0")/common.sh"

out=build/check-arm
deps=.deps/arm64
root=$deps/root
lib=$root/usr/lib/aarch64-linux-gnu
cc=aarch64-linux-gnu-gcc
sdk=$(devtools/dpdk-sdk.sh --where)

# With package lists of their own: the system need not know of another architecture.
apt()
{
	apt-get -q -o APT::Architectures::=arm64 -o Dir::State::lists="$top/$deps/lists" \
		-o Dir::Cache="$top/$deps/cache" -o APT::Sandbox::User=root "$@"
}

fetch()
{
	mkdir -p $deps/lists/partial $deps/cache/archives/partial
	apt update
	(
		cd $deps
		apt download libdpdk-dev:arm64 libibverbs-dev:arm64 libcmocka-dev:arm64 \
			libcmocka0:arm64
		for package in *.deb; do
			dpkg-deb -x "$package" unpacked
			rm "$package"
		done
		rm -rf lists cache root
		mv unpacked root
	)
}

# The driver headers, copied as the build does.
copy_sdk()
{
	rm -rf $out
	mkdir -p $out/sdk $out/driver
	cp "$sdk"/drivers/bus/*/bus_*_driver.h "$sdk"/lib/eal/include/bus_driver.h \
		"$sdk"/lib/eal/include/dev_driver.h "$sdk"/lib/ethdev/ethdev_driver.h \
		"$sdk"/lib/ethdev/ethdev_pci.h "$sdk"/lib/ethdev/ethdev_vdev.h $out/sdk/
}

compile()
{
	$cc -std=gnu11 -O3 -Wall -Wextra -Werror -Wshadow -Wno-deprecated-declarations \
		-D_GNU_SOURCE -march=armv8-a+crc -fno-strict-aliasing -fPIC \
		-DALLOW_INTERNAL_API -DMDV_HAVE_VEC128 \
		-DRTE_LOG_DEFAULT_LOGTYPE=pmd.net.mlx4dv \
		-Idrivers/net/mlx4dv -Ilib/dvq -isystem $out/sdk -isystem $root/usr/include/dpdk \
		-isystem $root/usr/include/aarch64-linux-gnu/dpdk -isystem $root/usr/include \
		-include rte_config.h "$@"
}

compile_all()
{
	for file in drivers/net/mlx4dv/*.c lib/dvq/*.c; do
		case $file in
		*_avx*) continue ;;
		esac
		compile -c "$file" -o "$out/driver/$(basename "$file" .c).o"
	done
}

run()
{
	qemu-aarch64-static -L /usr/aarch64-linux-gnu -E LD_LIBRARY_PATH="$lib" "$1"
}

rx_bursts()
{
	compile test/rx/test_rx_bursts.c test/rx/no_dpdk.c \
		$out/driver/mlx4dv_ptype.o $out/driver/mlx4dv_rx.o \
		$out/driver/mlx4dv_rx_constants.o $out/driver/mlx4dv_rx_flags.o \
		$out/driver/mlx4dv_rx_ring.o $out/driver/mlx4dv_rx_scatter.o \
		$out/driver/mlx4dv_rx_vec128.o $lib/libcmocka.so.0 -o $out/test_rx_bursts
	run $out/test_rx_bursts
}

# Those that need no libmlx4: they look at queue memory alone.
queues()
{
	aarch64-linux-gnu-ar crs $out/dvq.a $out/driver/dvq_*.o
	for name in cq rq sq wqe; do
		compile test/dvq/test_$name.c $out/dvq.a $lib/libcmocka.so.0 -pthread \
			-o $out/test_dvq_$name || return 1
		run $out/test_dvq_$name || return 1
	done
}

[ -d $root ] || step build/logs/arm-packages.log "fetching headers of arm64 packages" fetch
copy_sdk
step build/logs/arm-compile.log "compiling the driver and libdvq for arm64" compile_all
step build/logs/arm-rx.log "receive bursts, NEON and scalar, under qemu" rx_bursts
step build/logs/arm-dvq.log "queues of libdvq under qemu" queues
