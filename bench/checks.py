#!/usr/bin/env python3
"""What checks cost: programs without and with each of them, in turn, as ratios of time and memory.

    bench/checks.py BUILD [--rounds N] [--checks LIST] [--limit SECONDS] [--samples DIR] [--only NAME]...

Programs are kernels of `make bench`, each by itself, and with --samples every executable file of a directory,
such as NVIDIA's samples. Each is run once to fill the cache of compiled kernels, with each check and without;
then all in turn, N times. The least time of each counts: of kernels that of a launch after the first, of other
programs that of the CPU (user and system; other programs may be running) for the whole process. Memory is the
most that was resident. What takes longer than the limit is shown as such and left out of the means.
"""
import argparse
import math
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time

WAITS = 10  # times the limit: of other programs that are running
CHECKS = ["races=streams", "races", "memory", "init", "sync", "all"]
KERNELS = [
    "vector_add", "matmul_naive", "matmul_32", "reduce_tree", "reduce_shuffle", "black_scholes", "nbody",
    "histogram", "stencil", "transpose", "scan", "spmv", "bitonic", "softmax", "bfs",
]


class Failed(Exception):
    pass


def limit_cpu(seconds):
    resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(seconds), resource.RLIM_INFINITY))


def run(command, environment, limit):
    """Seconds of the CPU, bytes of memory, and what was printed."""
    printed = tempfile.TemporaryFile()
    child = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=printed,
                             stderr=subprocess.DEVNULL, preexec_fn=lambda: limit_cpu(limit))
    end = time.monotonic() + WAITS * limit
    while True:
        pid, status, used = os.wait4(child.pid, os.WNOHANG)
        if pid != 0:
            break
        if time.monotonic() > end:
            child.kill()
            os.wait4(child.pid, 0)
            raise Failed("waits")
        time.sleep(0.01)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode == -signal.SIGXCPU:
        raise Failed("> %.0f s" % limit)
    if child.returncode != 0:
        raise Failed("status %d" % child.returncode)
    printed.seek(0)
    return used.ru_utime + used.ru_stime, used.ru_maxrss * 1024, printed.read()


class Program:
    """A program by itself and with each check."""

    def __init__(self, weir, command, checks, environment, limit):
        self.tells = "--alone" in command  # its own time
        self.commands = {None: [weir, "run"] + command}
        self.commands.update({c: [weir, "run", "--check=" + c] + command for c in checks})
        self.environment, self.limit = environment, limit
        self.time, self.memory = {c: math.inf for c in self.commands}, {c: math.inf for c in self.commands}
        self.failed = {}

    def once(self, check, first=False):
        if check in self.failed:
            return
        try:
            seconds, memory, printed = run(self.commands[check], self.environment, self.limit)
        except Failed as why:
            self.failed[check] = str(why)
            return
        if first:
            return
        self.time[check] = min(self.time[check], float(printed) if self.tells else seconds)
        self.memory[check] = min(self.memory[check], memory)

    def measure(self, rounds):
        for n in range(rounds + 1):
            for check in self.commands:
                self.once(check, first=n == 0)
                if None in self.failed:
                    raise Failed(self.failed[None])


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


def least_ratio(program, check):
    """What a check costs at least that did not end in time; None: nothing is known of it."""
    if not program.failed[check].startswith(">") or program.tells:
        return None
    return program.limit / program.time[None]


def cell(program, check, ratios):
    if check in program.failed:
        least = least_ratio(program, check)
        if least is not None:
            ratios.append((least, 1.0))
            return "> %.0f" % least
        return program.failed[check]
    times = program.time[check] / program.time[None]
    memory = program.memory[check] / program.memory[None]
    ratios.append((times, memory))
    return "%.2f / %.2f" % (times, memory)


def table(options, checks, scratch):
    environment = dict(os.environ, WEIR_CACHE_DIR=os.path.join(scratch, "cache"), WEIR_JIT="optimizing")
    weir = os.path.join(options.build, "bin", "weir")
    ratios = {c: [] for c in checks}
    print("| program | alone, s | " + " | ".join(checks) + " |")
    print("| --- |" + " ---: |" * (len(checks) + 1))
    for name, command in programs(options):
        program = Program(weir, command, checks, environment, options.limit)
        try:
            program.measure(options.rounds)
        except Failed as why:  # by itself, too: it wants another GPU, or files
            print("| %s | %s |%s" % (name, why, " |" * len(checks)), flush=True)
            continue
        unit = 1e-3 if program.tells else 1
        cells = ["%.3g" % (program.time[None] * unit)] + [cell(program, c, ratios[c]) for c in checks]
        print("| %s | %s |" % (name, " | ".join(cells)), flush=True)
    means = ["%.2f / %.2f (%d)" % (mean([t for t, _ in ratios[c]]), mean([m for _, m in ratios[c]]), len(ratios[c]))
             for c in checks]
    print("| geometric mean (programs) | | %s |" % " | ".join(means))


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
