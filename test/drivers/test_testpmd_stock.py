# SPDX-License-Identifier: BSD-3-Clause
"""The stock net_mlx4 on the virtual adapter: how we know that the adapter is
faithful to what it stands for."""

import pytest

from mlx4dvlib import forward, testpmd


@pytest.mark.parametrize("profile", ["cx3", "cx3pro"])
@pytest.mark.parametrize("queues", [1, 4])
def test_io_forward_loses_nothing(profile, queues):
    result = forward.run(testpmd.STOCK, seconds=1, queues=queues,
                         options=["--strict", "--profile=" + profile])
    assert result.driver == testpmd.STOCK
    assert result.faults() == []
    assert all(direction.received > 1000 for direction in result.directions)


def test_rss_spreads():
    result = forward.run(testpmd.STOCK, seconds=1, queues=4, options=["--strict"])
    counts = [count for name, count in result.queues.items() if name.startswith("rx_")]
    assert len(counts) == 4 and min(counts) > 0, result.queues
