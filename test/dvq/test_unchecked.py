# SPDX-License-Identifier: BSD-3-Clause
"""What DVQ_UNCHECKED leaves out costs nothing: the machine code of an operation is that
of the same steps written down without a check."""

import re
import subprocess

import pytest

from mlx4dvlib.build import TOP

POST = """
int call(struct dvq_sendq *sq, const struct dvq_sge *sge);
int call(struct dvq_sendq *sq, const struct dvq_sge *sge) { return %s; }
"""
BY_HAND = """
int call(struct dvq_sendq *sq, const struct dvq_sge *sge);
int call(struct dvq_sendq *sq, const struct dvq_sge *sge)
{
    struct dvq_send send = { sq, dvq_sendq_wqe(sq, sq->pi), 16, { 0 } };

    %s
    (void)sge;
    return 0;
}
"""
SEGMENT = """
    struct dvq_data_seg *seg = (struct dvq_data_seg *)(send.wqe + 16);

    if (__builtin_expect(sge->len == 0, 0)) {
        seg->lkey = htobe32(sge->lkey);
        seg->addr = htobe64(sge->addr);
        seg->byte_count = htobe32(DVQ_SEG_EMPTY);
    } else {
        dvq_seg_from_sge(seg, sge);
    }
    send.size = 32;
    dvq_send_end(&send, DVQ_OP_SEND, DVQ_CTRL_CQE, 0);
"""
CASES = {
    "nop": ("dvq_post_nop(sq, DVQ_CTRL_CQE)", "dvq_send_end(&send, DVQ_OP_NOP, DVQ_CTRL_CQE, 0);"),
    "send": ("dvq_post_send(sq, sge, 1, DVQ_CTRL_CQE)", SEGMENT),
}


def instructions(folder, compiler, source, *options):
    """Of call(), without directives and labels."""
    path = folder / "call.c"
    path.write_text("#include <dvq.h>\n" + source)
    done = subprocess.run(
        [compiler, "-O2", "-g0", "-fno-asynchronous-unwind-tables", "-fcf-protection=none",
         "-fno-strict-aliasing", "-I", TOP / "lib" / "dvq", *options, "-S", "-o", "-", path],
        capture_output=True, text=True, check=True)
    lines = done.stdout[done.stdout.index("\ncall:"):].splitlines()
    lines = [line.split("#")[0].strip() for line in lines]
    return [line for line in lines if line and not re.match(r"\.|call:", line)]


def branches(lines):
    return [line for line in lines if line.startswith("j")]


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("case", CASES)
def test_the_same_code(tmp_path, case, compiler):
    try:
        subprocess.run([compiler, "--version"], capture_output=True, check=True)
    except FileNotFoundError:
        pytest.skip("no " + compiler)
    post, by_hand = CASES[case]
    enomem = "$-12,"
    unchecked = instructions(tmp_path, compiler, POST % post, "-DDVQ_UNCHECKED")
    plain = instructions(tmp_path, compiler, BY_HAND % by_hand)
    checked = instructions(tmp_path, compiler, POST % post)
    # A few more at most: the compiler may choose its registers otherwise.
    assert len(unchecked) <= len(plain) + 3, "\n".join(unchecked)
    assert len(branches(unchecked)) == len(branches(plain)) < len(branches(checked))
    assert len(unchecked) + 3 < len(checked)
    assert not any(enomem in line for line in unchecked)
    assert any(enomem in line for line in checked), "-ENOMEM is nowhere"
