# SPDX-License-Identifier: BSD-3-Clause
"""What the demo, the benchmark and the tests share: the build, the virtual
adapter's launcher, and testpmd as a conversation."""
