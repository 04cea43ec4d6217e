# SPDX-License-Identifier: BSD-3-Clause
"""A send queue that is made and never used: wide_queue.py SEGMENTS-OF-A-WQE. The
adapter has to be stepped."""

import ctypes
import sys

import pyverbs.enums as e
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr

context = Context(name="mlx4_0")
pd = PD(context)
cq = CQ(context, 64)
cap = QPCap(max_send_wr=8, max_recv_wr=1, max_send_sge=int(sys.argv[1]), max_recv_sge=1)
qp = QP(pd, QPInitAttr(qp_type=e.IBV_QPT_RAW_PACKET, scq=cq, rcq=cq, cap=cap), QPAttr(port_num=1))
assert qp.qp_state == e.IBV_QPS_RTS
for _ in range(8):
    ctypes.CDLL(None).vmlx4_step(0)
