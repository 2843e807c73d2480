#!/usr/bin/env python3
"""Writes a CUDA C++ program of random kernels, each from a seed of its own (functions.py).

    generate.py FIRST COUNT {launches|calls|arrays} >program.cu      kernels of the seeds FIRST to FIRST + COUNT - 1

With `launches` the kernels launch kernels (compiled with -rdc=true). With `calls` functions with barriers are
recursive or called through pointers. With `arrays` they are kernels over arrays (arrays.py). A seed gives the same bytes on every machine. The program includes program.h, which says how it is run.
"""
import sys

import arrays
from functions import Kernel

KINDS = ("launches", "calls", "arrays")


def indented(lines):
    """The lines, indented by their braces."""
    depth, result = 0, []
    for line in lines:
        if not line:
            continue
        depth -= line.startswith("}")
        result.append("  " * depth + line)
        depth += line.endswith("{")
    return result


def program(seeds, kind=""):
    """The text of the program of these seeds, of a kind of KINDS or "": see above."""
    if kind == "arrays":
        kernels = [arrays.ArrayKernel(seed, "k%d" % seed) for seed in seeds]
    else:
        kernels = [Kernel(seed, "k%d" % seed, kind == "launches", calls=kind == "calls") for seed in seeds]
    lines = ["/* Seeds %d to %d of tests/programs/generate.py%s. */" % (seeds[0], seeds[-1], ", " + kind if kind else "")]
    lines += [arrays.PREFIX] if kind == "arrays" else []
    lines += ['#include "program.h"']
    for kernel in kernels:
        lines += kernel.text()
    lines += ["#ifndef __CUDA_ARCH__", "static const struct kernel kernels[] = {"]
    lines += [kernel.entry() for kernel in kernels] + ["};"]
    lines += ["int main(int argc, char **argv)", "{",
              "return program_main(argc, argv, kernels, sizeof kernels / sizeof kernels[0]);", "}", "#endif"]
    return "\n".join(indented(lines)) + "\n"


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4) or sys.argv[3:] and sys.argv[3] not in KINDS:
        sys.exit(__doc__)
    sys.stdout.write(program(range(int(sys.argv[1]), int(sys.argv[1]) + int(sys.argv[2])), "".join(sys.argv[3:])))
