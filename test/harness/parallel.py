# SPDX-License-Identifier: BSD-3-Clause
"""Two workers share the tests (pytest-xdist): what needs the whole machine runs one
after the other on one of them, what runs one stepped program at a time on the other."""

from xdist.scheduler import LoadScopeScheduling

# Modules of which no program has a thread that polls, nor waits for a clock, nor
# changes anything of the machine, but for tests with THREADED in their name. C programs
# are taken to be so.
BESIDE_OTHERS = (
    "apps/test_refusals.py",
    "clients/test_flow_perf.py",
    "clients/test_ibverbs.py",
    "clients/test_pyverbs.py",
    "devtools/",
    "drivers/test_compare.py",
    "drivers/test_devargs.py",
    "drivers/test_ethdev.py",
    "drivers/test_features.py",
    "drivers/test_integrity.py",
    "drivers/test_leaks.py",
    "drivers/test_reports.py",
    "drivers/test_rx_paths.py",
    "drivers/test_sequences.py",
    "dvq/",
    "examples/test_stand_alone.py",
    "fuzz/",
    "perf/test_instructions.py",
    "perf/test_perf_verbs.py",
    "usertools/",
    "vmlx4/fault/test_faults.py",
    "vmlx4/test_devinfo.py",
    "vmlx4/test_devinfo_profiles.py",
    "vmlx4/test_installed.py",
    "vmlx4/test_lists.py",
    "vmlx4/test_man.py",
    "vmlx4/test_profiles.py",
    "vmlx4/test_raw_packet.py",
    "vmlx4/test_uverbs_programs.py",
    "vmlx4/trace/",
)

THREADED = "threaded"
WHOLE_MACHINE = "whole machine"


def share(nodeid):
    """Tests of one share run on one worker, in order."""
    path, _, test = nodeid.partition("::")
    if path.endswith(".c") or (path.startswith(BESIDE_OTHERS) and THREADED not in test):
        return path
    return WHOLE_MACHINE


class Scheduling(LoadScopeScheduling):
    """Hands out shares."""

    def _split_scope(self, nodeid):
        return share(nodeid)
