# SPDX-License-Identifier: BSD-3-Clause
"""What a holder of the spinlock has stored is seen by the next one, as ThreadSanitizer sees
it: on x86 a lock that orders nothing would work as well, until a compiler moves a store."""

import os
import subprocess

import pytest

from mlx4dvlib.build import TOP

SOURCE = """
#include <pthread.h>
#include <dvq_lock.h>

static struct { struct dvq_spinlock lock; unsigned long plain; } shared;

static void *
count(void *unused)
{
    unsigned int i;

    for (i = 0; i < 2000; i++) {
        dvq_locked(&shared.lock, ++shared.plain);
        while (!dvq_trylock(&shared.lock))
            ;
        shared.plain++;
        dvq_unlock(&shared.lock);
        dvq_lock(&shared.lock);
        shared.plain++;
        dvq_unlock(&shared.lock);
    }
    return unused;
}

int main(void)
{
    pthread_t threads[2];

    for (int i = 0; i < 2; i++)
        if (pthread_create(&threads[i], 0, count, 0) != 0)
            return 1;
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    return shared.plain == 12000 ? 0 : 2;
}
"""


def run(folder, header, source):
    """The output of a program with this dvq_lock.h, and its status; 66 of a race."""
    folder.mkdir()
    (folder / "dvq_lock.h").write_text(header)
    (folder / "program.c").write_text(source)
    subprocess.run([*os.environ.get("CC", "cc").split(), "-g", "-O1", "-fsanitize=thread",
                    "-pthread", "-I", folder, "-I", TOP / "lib" / "dvq", "-o",
                    folder / "program", folder / "program.c"], check=True)
    done = subprocess.run([folder / "program"], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False)
    return done.returncode, done.stdout


def test_threads_see_what_the_last_holder_stored(tmp_path):
    header = (TOP / "lib" / "dvq" / "dvq_lock.h").read_text()
    try:
        works = run(tmp_path / "none", "", "int main(void) { return 0; }")
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("the compiler has no ThreadSanitizer")
    if works[0] != 0:
        pytest.skip("programs under ThreadSanitizer do not start here: " + works[1][-200:])
    assert run(tmp_path / "as_it_is", header, SOURCE) == (0, "")
    # The same program finds a lock out that orders less.
    for order in "__ATOMIC_ACQUIRE", "__ATOMIC_RELEASE":
        weaker = header.replace(order, "__ATOMIC_RELAXED")
        assert weaker != header
        status, output = run(tmp_path / order, weaker, SOURCE)
        assert status == 66 and "data race" in output, order
