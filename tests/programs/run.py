#!/usr/bin/env python3
"""Runs programs of random kernels (generate.py) under Weir and says which differ from the host.

    run.py BUILD --seeds FIRST:END {--jobs N} {--batch N} {--forms own,G,O0} {--tiers optimizing,baseline,both}
           {--sample N} {--keep DIRECTORY} {--seconds N} {--calls}
    run.py BUILD {options} FILE.cu...         programs that are there already

A program has `batch` kernels; each kernel has a seed of its own. Each is run in every form and every tier, or
in N of the pairs, others from program to program:

    own   as weircc compiles it, whatever -O says: that is for host code
    G     with -G
    O0    without any optimisation of the device code, which weircc's options do not offer
    nvcc, nvccG    NVIDIA's PTX, without -G and with it, where there is an nvcc

Every eighth program has kernels that launch kernels; it has the first two forms only. With --calls none has,
and functions with barriers are recursive or called through pointers.

What differs, fails or hangs is left in the directory as a program of one kernel, with the message above it;
reduce.py makes it small. The status is 1 then.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

from generate import program

HERE = os.path.dirname(os.path.abspath(__file__))
FLAGS = ["-w", "-std=c++17", "-arch=sm_90", "-fmad=false", "-I", HERE]
TIERS = ["optimizing", "baseline", "both"]


def environment(tier):
    """What a program runs with."""
    return dict(os.environ, WEIR_JIT=tier, WEIR_CACHE_DIR="off", WEIR_WORKERS=os.environ.get("WEIR_WORKERS", "2"),
                WEIR_FAULTS=os.environ.get("WEIR_FAULTS", "off"))


def sample(pairs, count, number):
    """The pairs of form and tier in which a program is run."""
    if count:
        step = 4 if len(pairs) % 2 else 1  # neighbours are of one tier
        pairs = [pairs[(number * count + k) * step % len(pairs)] for k in range(min(count, len(pairs)))]
    return pairs


def build(weir, source, directory, forms, launches=False):
    """Compiles a program, and the other forms of its device code. Gives the command that runs each form;
    raises CalledProcessError."""
    weircc = os.path.join(weir, "bin", "weircc")
    run = lambda command, **how: subprocess.run(command, check=True, capture_output=True, text=True, errors="replace", **how)
    program_of = lambda name, *flags: [weircc, "-O0", *flags] + FLAGS + [source, "-o", name, "-lcuda"]
    if launches:  # linked device code: each form is a program
        commands = {}
        for form in set(forms) & {"own", "G"}:
            commands[form] = [os.path.join(directory, form)]
            run(program_of(commands[form][0], "-rdc=true", "-lcudadevrt", *(["-G"] if form == "G" else [])))
        return commands
    out = os.path.join(directory, "program")
    run(program_of(out))
    commands = {}
    for form in forms:
        ptx = os.path.join(directory, form + ".ptx")
        if form == "own":
            ptx = "own"
        elif form == "G":
            run([weircc, "-G", "-ptx"] + FLAGS + [source, "-o", ptx])
        elif form == "O0":
            script = run([weircc, "--dryrun", "-ptx"] + FLAGS + [source, "-o", ptx]).stdout
            run(["sh"], input=re.sub(r" -O2 ", " -O0 ", script))
        elif form in ("nvcc", "nvccG"):
            run(["nvcc", "-ptx"] + ["-G"] * (form == "nvccG") + FLAGS + [source, "-o", ptx])
        else:
            sys.exit("run.py: there is no form " + form)
        commands[form] = [out, "--ptx", ptx]
    return commands


def execute(command, tier, limit):
    """The output of a program and its status, None where it did not end."""
    try:
        done = subprocess.run(command, env=environment(tier), capture_output=True, text=True,
                              errors="replace", timeout=limit)
        return done.stdout + done.stderr, done.returncode
    except subprocess.TimeoutExpired as expired:
        return (expired.stdout or b"").decode(errors="replace") + "did not end in %d s\n" % limit, None


class Run:
    """The counts of a run, and what it found."""

    def __init__(self, options):
        self.options = options
        self.counts = {}
        self.programs = 0
        self.found = []

    def batch(self, seeds, text=None):
        """One program: that of the seeds, or a text. Gives [(form and tier, runs, {seed: message} of what is
        wrong)]."""
        options = self.options
        number = seeds[0] // options.batch
        launches = " LAUNCH(" in text if text else number % 8 == 7 and not options.calls
        pairs = sample([(form, tier) for tier in options.tiers for form in options.forms], options.sample, number)
        directory = tempfile.mkdtemp(prefix="programs-")
        results = []
        try:
            source = os.path.join(directory, "program.cu")
            with open(source, "w", encoding="utf-8") as f:
                f.write(text or program(seeds, launches, options.calls))
            try:
                commands = build(options.build, source, directory, sorted({form for form, _ in pairs}), launches)
            except subprocess.CalledProcessError as error:
                return [("compiler", len(seeds), {seeds[0]: "seed %d: %s" % (seeds[0], error.stdout + error.stderr)})]
            for form, tier in pairs:
                if form in commands:
                    results.append(("%s %s%s" % (form, tier, " launches" if launches else ""), len(seeds),
                                    self.one_run(commands[form], form, tier, seeds, directory)))
        finally:
            shutil.rmtree(directory, ignore_errors=True)
        return results

    def one_run(self, command, form, tier, seeds, directory):
        """What is wrong when a program is run in one form and tier: {seed: message}."""
        output, status = execute(command, tier, self.options.limit)
        wrong = {}
        for line in output.splitlines():
            match = re.search(r"seed (\d+)", line)
            if match and status is not None:
                wrong.setdefault(int(match.group(1)), line)
        if status not in (0, 1) or (status == 1 and not wrong):
            wrong = self.single(command, tier, seeds)
        return {seed: "%s, form %s, tier %s" % (message.replace(directory + "/", ""), form, tier)
                for seed, message in wrong.items()}

    def single(self, command, tier, seeds):
        """Kernel by kernel, where a program crashed or hung."""
        wrong = {}
        for seed in seeds:
            text, status = execute(command + ["--kernel", "k%d" % seed], tier, max(60, self.options.limit // 4))
            if status != 0:
                wrong[seed] = "seed %d: status %s: %s" % (seed, status, text.strip())
        return wrong

    def take(self, seeds, results, keep=True):
        """Counts a program's results, and keeps what is wrong."""
        self.programs += len(seeds)
        for tier, runs, wrong in results:
            count = self.counts.setdefault(tier, [0, 0])
            count[0] += runs
            count[1] += len(wrong)
            for seed, message in wrong.items():
                print(message, flush=True)
                if seed not in self.found:
                    self.found.append(seed)
                    if keep:
                        self.keep(seed, message)

    def keep(self, seed, message):
        if self.options.keep:
            os.makedirs(self.options.keep, exist_ok=True)
            with open(os.path.join(self.options.keep, "%d.cu" % seed), "w", encoding="utf-8") as f:
                launches = seed // self.options.batch % 8 == 7 and not self.options.calls
                f.write("/* %s */\n%s" % (message.replace("*/", "* /"), program([seed], launches, self.options.calls)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("files", nargs="*")
    parser.add_argument("--seeds", default="1:101", help="FIRST:END, or `now:COUNT` for seeds of the time")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--batch", type=int, default=25)
    parser.add_argument("--forms", default="own,G,O0")
    parser.add_argument("--tiers", default=",".join(TIERS))
    parser.add_argument("--sample", type=int, default=0, help="pairs of form and tier a program; 0: all")
    parser.add_argument("--calls", action="store_true")
    parser.add_argument("--keep", help="directory for what differs")
    parser.add_argument("--seconds", type=int, help="begin no program after so many seconds")
    parser.add_argument("--limit", type=int, default=600, help="seconds that a program may run")
    options = parser.parse_intermixed_args()
    options.forms, options.tiers = options.forms.split(","), options.tiers.split(",")
    run, start = Run(options), time.monotonic()
    if options.files:
        for path in options.files:
            with open(path, encoding="utf-8") as f:
                text = f.read()
            seeds = [int(seed) for seed in re.findall(r'^ *\{"k(\d+)", ', text, flags=re.M)]
            run.take(seeds, run.batch(seeds, text), keep=False)
    else:
        run_seeds(run, options, start)
    print("%d programs in %d s" % (run.programs, time.monotonic() - start))
    for pair, (runs, wrong) in sorted(run.counts.items()):
        print("%s: %d runs, %d wrong" % (pair, runs, wrong))
    return 1 if run.found or run.programs == 0 else 0


def run_seeds(run, options, start):
    """Runs the programs of a range of seeds, several at once."""
    first, end = options.seeds.split(":")
    if first == "now":
        first = int(time.time()) * 1000000
        end = first + int(end)
    first, end = int(first), int(end)
    print("seeds from %d" % first, flush=True)
    batches = [range(k, min(k + options.batch, end)) for k in range(first, end, options.batch)]

    def work(seeds):
        if options.seconds and time.monotonic() - start > options.seconds:
            return None
        return self_or_error(run.batch, seeds)

    with ThreadPoolExecutor(options.jobs) as pool:
        for seeds, results in zip(batches, pool.map(work, batches)):
            if results is not None:
                run.take(seeds, results)


def self_or_error(function, *arguments):
    """The function's result; what it raises ends the run with a message."""
    try:
        return function(*arguments)
    except Exception as error:  # a thread's exception would otherwise be lost until its result is asked for
        print("run.py: %r" % error, file=sys.stderr)
        os._exit(2)


if __name__ == "__main__":
    sys.exit(main())
