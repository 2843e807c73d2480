#!/usr/bin/env python3
"""How long kernels take to compile: the slowest of some files, stage by stage, as a table.

    bench/compiles.py BUILD [--top N] [--tries N] [--block SHAPE] FILE...

FILE is what `weir dump` takes: PTX, a fat binary, or a program or object with kernels. "First code" is what a first
launch waits for; "optimized code" is made in the background. Milliseconds of CPU time, the least of the tries.
"""
import argparse
import os
import re
import subprocess
import sys

NAME = re.compile(r"^// kernel (\S+), block")
TIMES = re.compile(r"ms: emit ([\d.]+), optimize ([\d.]+), generate ([\d.]+), all ([\d.]+)")


def times(weir, file, tier, block):
    """(emit, optimize, generate, all) of each kernel of the file, by name."""
    command = [weir, "dump", "--times", "--tier", tier, "--block", block, file]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(f"{file}: {(done.stderr or done.stdout).strip().splitlines()[-1:]}", file=sys.stderr)
    found, name = {}, None
    for line in done.stdout.splitlines():
        if match := NAME.match(line):
            name = match.group(1)
        elif (match := TIMES.search(line)) and name:
            found[name] = tuple(float(group) for group in match.groups())
    return found


def least(weir, file, tier, options):
    best = {}
    for _ in range(options.tries):
        for name, new in times(weir, file, tier, options.block).items():
            best[name] = min(best.get(name, new), new, key=lambda t: t[3])
    return best


def readable(name):
    """The kernel's name in C++ without its parameters, if there is c++filt."""
    try:
        text = subprocess.run(["c++filt", name], capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return name
    text = re.sub(r"^void ", "", re.split(r"[<(]", text)[0]).split("::")[-1] or name
    return text if len(text) < 48 else text[:46] + "…"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument("--top", type=int, default=20, help="how many kernels are shown (20)")
    parser.add_argument("--tries", type=int, default=2, help="how often each is compiled (2)")
    parser.add_argument("--block", default="256", help="the block's shape (256)")
    options = parser.parse_args()
    weir = os.path.join(options.build, "bin", "weir")
    os.environ["WEIR_CACHE_DIR"] = "off"

    kernels = []
    for n, file in enumerate(options.files):
        print(f"\r{n + 1} of {len(options.files)}: {os.path.basename(file):50.50}", end="", file=sys.stderr)
        for name, first in least(weir, file, "first", options).items():
            kernels.append((first, file, name))
    print(f"\r{len(kernels)} kernels of {len(options.files)} files{'':50}", file=sys.stderr)
    kernels.sort(key=lambda k: -k[0][3])
    print("| kernel | emit | passes | generate | first code | optimized code |\n| --- | ---: | ---: | ---: | ---: | ---: |")
    optimized = {}
    for first, file, name in kernels[: options.top]:
        if file not in optimized:
            optimized[file] = least(weir, file, "optimizing", options)
        program = os.path.splitext(os.path.basename(file))[0]
        row = [*first, optimized[file].get(name, (0, 0, 0, 0))[3]]
        print(f"| {program}, {readable(name)} | " + " | ".join(f"{ms:.0f}" for ms in row) + " |")


if __name__ == "__main__":
    main()
