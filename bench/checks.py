#!/usr/bin/env python3
"""What checks cost: programs without and with each of them, in turn, as ratios of time and memory.

    bench/checks.py BUILD [--rounds N] [--checks LIST] [--limit SECONDS] [--samples DIR] [--only NAME]...

Programs are kernels of `make bench`, each by itself, and with --samples every executable file of a directory,
such as NVIDIA's samples. Each is run once to fill the cache of compiled kernels, with the check and without,
and that costs what the column "compiling" says; then in turn, N times. The least time of each counts: of
kernels that of a launch after the first, of other programs that of the CPU (user and system; other
programs may be running) for the whole process. Memory is the most that was resident. What takes longer than
the limit is shown as such and left out of the means.
"""
import argparse
import math
import os
import subprocess
import sys
import tempfile
import time

CHECKS = ["races=streams", "races", "memory", "init", "sync", "all"]
KERNELS = [
    "vector_add", "matmul_naive", "matmul_32", "reduce_tree", "reduce_shuffle", "black_scholes", "nbody",
    "histogram", "stencil", "transpose", "scan", "spmv", "bitonic", "softmax", "bfs",
]


class Failed(Exception):
    pass


def run(command, environment, limit):
    """Seconds of the CPU, bytes of memory, and what was printed."""
    printed = tempfile.TemporaryFile()
    child = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=printed,
                             stderr=subprocess.DEVNULL)
    end = time.monotonic() + limit
    while True:
        pid, status, used = os.wait4(child.pid, os.WNOHANG)
        if pid != 0:
            break
        if time.monotonic() > end:
            child.kill()
            os.wait4(child.pid, 0)
            raise Failed("> %.0f s" % limit)
        time.sleep(0.01)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        raise Failed("status %d" % child.returncode)
    printed.seek(0)
    return used.ru_utime + used.ru_stime, used.ru_maxrss * 1024, printed.read()


class Row:
    """A program with one check, and without."""

    def __init__(self, weir, program, check, environment, limit):
        self.tells = "--alone" in program  # its own time
        self.plain = [weir, "run"] + program
        self.checked = [weir, "run", "--check=" + check] + program
        self.environment, self.limit = environment, limit
        self.time, self.memory, self.compiling = [math.inf] * 2, [math.inf] * 2, 0.0

    def measure(self, rounds):
        first = run(self.plain, self.environment, self.limit)[0], run(self.checked, self.environment, self.limit)[0]
        least = math.inf
        for _ in range(rounds):
            for n, command in enumerate((self.plain, self.checked)):
                seconds, memory, printed = run(command, self.environment, self.limit)
                least = min(least, seconds) if n == 1 else least
                self.time[n] = min(self.time[n], float(printed) if self.tells else seconds)
                self.memory[n] = min(self.memory[n], memory)
        self.compiling = max(first[1] - least, 0.0)


def mean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


def programs(options):
    bench = os.path.join(options.build, "bench", "weir-bench")
    found = [(k, [bench, "--alone", k]) for k in KERNELS] if os.access(bench, os.X_OK) else []
    if options.samples:
        for name in sorted(os.listdir(options.samples)):
            path = os.path.join(options.samples, name)
            if os.path.isfile(path) and os.access(path, os.X_OK):
                found.append((name, [path]))
    return [p for p in found if not options.only or p[0] in options.only]


def table(options, checks, scratch):
    environment = dict(os.environ, WEIR_CACHE_DIR=os.path.join(scratch, "cache"), WEIR_JIT="optimizing")
    weir = os.path.join(options.build, "bin", "weir")
    times, memories = {c: [] for c in checks}, {c: [] for c in checks}
    print("| program | " + " | ".join(checks) + " | compiling, s |")
    print("| --- |" + " ---: |" * (len(checks) + 1))
    for name, command in programs(options):
        cells, compiling = [], 0.0
        for check in checks:
            row = Row(weir, command, check, environment, options.limit)
            try:
                row.measure(options.rounds)
            except Failed as why:
                cells.append(str(why))
                continue
            ratio, memory = row.time[1] / row.time[0], row.memory[1] / row.memory[0]
            times[check].append(ratio)
            memories[check].append(memory)
            compiling = max(compiling, row.compiling)
            cells.append("%.2f / %.2f" % (ratio, memory))
        print("| %s | %s | %.2f |" % (name, " | ".join(cells), compiling), flush=True)
    means = ["%.2f / %.2f" % (mean(times[c]), mean(memories[c])) for c in checks]
    print("| geometric mean | %s | |" % " | ".join(means))


def main():
    parser = argparse.ArgumentParser(description="What checks cost.")
    parser.add_argument("build")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--checks", default=",".join(CHECKS))
    parser.add_argument("--limit", type=float, default=120)
    parser.add_argument("--samples", default=os.environ.get("WEIR_BENCH_SAMPLES"))
    parser.add_argument("--only", action="append")
    options = parser.parse_args()
    options.build = os.path.abspath(options.build)
    with tempfile.TemporaryDirectory() as scratch:
        table(options, options.checks.split(","), scratch)


if __name__ == "__main__":
    sys.exit(main())
