# SPDX-License-Identifier: BSD-3-Clause
"""The receive paths of all instruction sets give the same packets, to the last field
and byte: random traffic (test/pmd/rx_paths.c) with each of them."""

import pathlib

import pytest

from mlx4dvlib import build

PROGRAM = build.build_dir() / "test" / "pmd" / "mdv-test"
CASES = ["plain", "keep_crc", "offloads", "hash_alone", "vlan", "qinq", "three_queues",
         "pool_in_pieces"]

if not PROGRAM.exists():
    pytest.skip("the driver is not part of this build", allow_module_level=True)


def paths():
    """{width in bits for EAL: name of the path}, as far as this CPU has them."""
    text = pathlib.Path("/proc/cpuinfo").read_text()
    flags = set(next(line for line in text.splitlines()
                     if line.startswith(("flags", "Features"))).split())
    found = {64: "Scalar", 128: "Vector"}
    if "avx2" in flags:
        found[256] = "Vector AVX2"
    if {"avx512f", "avx512bw", "avx512vl"} <= flags:
        found[512] = "Vector AVX512"
    return found


@pytest.mark.parametrize("case", CASES)
def test_all_paths_agree(vmlx4, monkeypatch, case):
    outputs = {}
    for bits, name in paths().items():
        monkeypatch.setenv("MDV_TEST_SIMD", str(bits))
        done = vmlx4(PROGRAM, "rx_paths_" + case, options=["--step"], timeout=120).ok()
        mode, *packets = done.stdout.splitlines()
        assert mode == "mode " + name
        outputs[bits] = packets
    assert len(outputs[64]) > 1000
    for bits, packets in outputs.items():
        assert packets == outputs[64], "%d bits" % bits
