# SPDX-License-Identifier: BSD-3-Clause
"""No port: what is wrong with the host is told in a line, with its cure, and what is
not concerned goes on."""

import re

import pytest

from harness.adapter import run_bounded
from mlx4dvlib import testpmd as tp

# What the launcher makes wrong, what is told, and how many ports testpmd gets to: it
# leaves when the queues of one cannot be set up.
FAULTS = {
    "node": (["--deny-open"], r"Permission denied.*/dev/infiniband", 0),
    "infiniband": (["--ib=1", "--ib=2"], r"InfiniBand mode; set the port to Ethernet", 0),
    "one-infiniband": (["--ib=1"], r"InfiniBand mode; set the port to Ethernet", 1),
    "capability": (["--no-cap=CAP_NET_RAW"], r"CAP_NET_RAW", 2),
    "memlock": (["--memlock=65536"], r"RLIMIT_MEMLOCK", 1),
    "steering": (["--faults=command create_flow errno=EOPNOTSUPP"],
                 r"log_num_mgm_entry_size=-1", 2),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_the_cause_is_told(fault, tmp_path):
    options, words, ports = FAULTS[fault]
    command = tp.command(pci=True, options=["--strict", *options], arguments=[])
    status, output, errors = run_bounded(command, 60, stdin="quit\n", cwd=tmp_path)
    said = [line for line in (output + errors).splitlines() if "mlx4dv" in line]
    assert any(re.search(words, line) for line in said), output + errors
    assert len(re.findall(r"^Configuring Port", output, re.M)) == ports, output + errors
    assert status is not None and status >= 0 and status != 86, output + errors
