#!/usr/bin/env python3
"""Plants a fault into a random kernel and checks that run.py finds it and reduce.py makes it small.

    planted.py BUILD

The fault is in the program, where it does something else on the device than on the host.
"""
import os
import subprocess
import sys
import tempfile

from generate import program

HERE = os.path.dirname(os.path.abspath(__file__))
SEED, TRIES = 3002, 25


def tool(name, *arguments):
    """Runs a program of this directory. Gives its status and what it has written."""
    done = subprocess.run([sys.executable, os.path.join(HERE, name), sys.argv[1], *arguments], stdout=subprocess.PIPE, text=True)
    return done.returncode, done.stdout


def main():
    text = program([SEED])
    planted = text.replace("own[2] ^= ", "own[2] ^= ON(1u, 0u) ^ ", 1)
    assert planted != text
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "planted.cu")
        with open(path, "w", encoding="utf-8") as f:
            f.write(planted)
        status, output = tool("run.py", path, "--forms", "own", "--tiers", "baseline", "--sample", "1")
        print(output, end="")
        assert status == 1 and "differs: k%d" % SEED in output, "the fault was not found"
        status, small = tool("reduce.py", path, "--tries", str(TRIES))
        print(small, end="")
        assert status == 0 and "ON(1u, 0u)" in small, "what differs is not there any more"
        before, after = planted.count("\n"), small.count("\n")
        print("%d lines of %d are left" % (after, before))
        assert after * 4 < before * 3, "it was not made smaller"


if __name__ == "__main__":
    main()
