#!/usr/bin/env python3
"""Runs programs of random kernels (generate.py) under Weir and says which differ from the host.

    run.py BUILD --seeds FIRST:END {--jobs N} {--batch N} {--forms own,G,O0} {--tiers optimizing,baseline,both}
           {--widths 512,256+loads} {--sample N} {--keep DIRECTORY} {--seconds N} {--calls|--arrays}
    run.py BUILD {options} FILE.cu...         programs that are there already
    run.py BUILD {options} --compile-only DIRECTORY --seeds FIRST:END      makes programs and does not run them
    run.py BUILD {options} --run DIRECTORY    runs those, on this machine or another: it needs Python and BUILD/lib

A program has `batch` kernels; each kernel has a seed of its own. Each program is run in every combination of
form, tier and width of vectors, or in N of them, others from program to program:

    own   as weircc compiles it, whatever -O says: that is for host code
    G     with -G
    O0    without any optimisation of the device code, which weircc's options do not offer
    nvcc, nvccG    NVIDIA's PTX, without -G and with it, where there is an nvcc

Widths are words of WEIR_VECTORS with "+" between them ("256+loads"); where the CPU has no vectors of 512 bits,
256 stands for what it has.

Of eight programs one has kernels that launch kernels, in the first two forms only, and one has functions with
barriers that are recursive or called through pointers; with --calls all have those. Two of eight have kernels over
arrays (arrays.py), with --arrays all.

What differs, fails or hangs is left in the directory as a program of one kernel, with the message above it;
reduce.py makes it small. The status is 1 then. A kernel that takes longer than --limit seconds counts as
hanging, and the program goes on with the next one. With --seconds everything ends after so many seconds; only
kernels that had been compared by then are counted.
"""
import argparse
import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

from generate import program

HERE = os.path.dirname(os.path.abspath(__file__))
FLAGS = ["-w", "-std=c++17", "-arch=sm_90", "-fmad=false", "-I", HERE]
TIERS = ["optimizing", "baseline", "both"]
SHARED = ["-cudart", "shared", "-lcuda"]


def environment(weir, tier, width=None):
    """What a program runs with."""
    paths = [os.path.join(weir, "lib")] + os.environ.get("LD_LIBRARY_PATH", "").split(":")
    chosen = {"WEIR_JIT": tier, "WEIR_CACHE_DIR": "off", "WEIR_WORKERS": os.environ.get("WEIR_WORKERS", "2"),
              "WEIR_FAULTS": os.environ.get("WEIR_FAULTS", "off"), "LD_LIBRARY_PATH": ":".join(p for p in paths if p)}
    if width:
        chosen["WEIR_VECTORS"] = width.replace("+", ",")
    return dict(os.environ, **chosen)


def widths():
    """The widths of vectors to run with on this CPU, and how lanes read."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as f:
            bits = ["512", "256"] if " avx512dq" in f.read() else ["256"]
    except OSError:
        bits = ["256"]
    return [width + reads for reads in ("+gathers", "+loads") for width in bits]


def sample(combinations, count, number):
    """The combinations in which the program of that number is run: neighbours differ in all respects."""
    size = len(combinations)
    if not count or count >= size:
        return combinations
    step = next(k for k in range(max(1, size * 3 // 8), size + 1) if math.gcd(k, size) == 1)
    return [combinations[(number * count + k) * step % size] for k in range(count)]


class Ended(Exception):
    """The time of the whole run is over."""


def call(command, limit, end=None, **how):
    """Runs a command. Gives its output and status, None where it had to be killed after `limit` seconds; raises
    Ended, with what it has written, when the time of the run was over."""
    if end is not None:
        limit = min(limit, end - time.monotonic())
        if limit <= 0:
            raise Ended("")
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                             start_new_session=True, **how)
    try:
        return child.communicate(timeout=limit)[0], child.returncode
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        output = child.communicate()[0]
        if end is not None and time.monotonic() >= end:
            raise Ended(output) from None
        return output, None


def build(weir, source, directory, forms, launches=False, end=None):
    """Compiles a program, and the other forms of its device code. Gives the command that runs each form, with
    names in the directory; raises CalledProcessError."""
    weircc = os.path.join(weir, "bin", "weircc")

    def run(command, **how):
        output, status = call(command, 600, end, **how)
        if status != 0:
            raise subprocess.CalledProcessError(status or 1, command, output)
        return output

    def program_of(name, *flags):
        return [weircc, "-O0", *flags] + FLAGS + [source, "-o", os.path.join(directory, name)] + SHARED

    if launches:  # linked device code: each form is a program
        forms = [form for form in ("own", "G") if form in forms]
        for form in forms:
            run(program_of(form, "-rdc=true", "-lcudadevrt", *(["-G"] if form == "G" else [])))
        return {form: [form] for form in forms}
    run(program_of("program"))
    for form in forms:
        ptx = os.path.join(directory, form + ".ptx")
        if form == "G":
            run([weircc, "-G", "-ptx"] + FLAGS + [source, "-o", ptx])
        elif form == "O0":
            script = run([weircc, "--dryrun", "-ptx"] + FLAGS + [source, "-o", ptx])
            run(["sh", "-c", re.sub(r" -O2 ", " -O0 ", script)])
        elif form in ("nvcc", "nvccG"):
            run(["nvcc", "-ptx"] + ["-G"] * (form == "nvccG") + FLAGS + [source, "-o", ptx])
        elif form != "own":
            sys.exit("run.py: there is no form " + form)
    return {form: ["program", "--ptx", "own" if form == "own" else form + ".ptx"] for form in forms}


def execute(weir, command, directory, tier, limit, width=None, end=None):
    """The output of a program of build's and its status, None where it did not end."""
    output, status = call([os.path.join(directory, command[0])] + command[1:], limit, end, cwd=directory,
                          env=environment(weir, tier, width))
    return output + ("did not end in %d s\n" % limit if status is None else ""), status


class Batch:
    """A program: its seeds, its kind, and how each of its forms is run."""

    def __init__(self, seeds, number, kind, text=None):
        self.seeds, self.number, self.kind, self.text = list(seeds), number, kind, text
        self.directory, self.commands = None, {}

    def source(self, seeds=None):
        return self.text or program(seeds or self.seeds, self.kind)

    def store(self):
        with open(os.path.join(self.directory, "batch.json"), "w", encoding="utf-8") as f:
            json.dump([self.seeds, self.number, self.kind, self.commands], f)

    @staticmethod
    def stored(directory):
        with open(os.path.join(directory, "batch.json"), encoding="utf-8") as f:
            seeds, number, kind, commands = json.load(f)
        batch = Batch(seeds, number, kind)
        batch.directory, batch.commands = directory, commands
        return batch


class Run:
    """The counts of a run, and what it found."""

    def __init__(self, options):
        self.options = options
        self.start = time.monotonic()
        self.end = self.start + options.seconds if options.seconds else None
        self.lock = threading.Lock()
        self.counts = {}
        self.kernels, self.cut = 0, 0
        self.found = set()

    # What to run ----------------------------------------------------------------------------------------

    def combinations(self, batch):
        options = self.options
        forms = [form for form in options.forms if batch.kind != "launches" or form in ("own", "G")]
        every = [(form, tier, width) for tier in options.tiers for form in forms for width in options.widths]
        return sample(every, options.sample, batch.number)

    def prepare(self, batch, directory):
        """Compiles a batch into a directory. False: that failed, which has been told."""
        batch.directory = directory
        source = os.path.join(directory, "program.cu")
        with open(source, "w", encoding="utf-8") as f:
            f.write(batch.source())
        forms = {form for form, _, _ in self.combinations(batch)}
        try:
            batch.commands = build(self.options.build, source, directory, sorted(forms), batch.kind == "launches", self.end)
            return True
        except subprocess.CalledProcessError as error:
            self.tell(batch, "compiler", len(batch.seeds), {batch.seeds[0]: "seed %d: %s" % (batch.seeds[0], error.output)})
            return False
        finally:
            os.remove(source)

    def run(self, batch):
        """Runs a compiled batch in its combinations."""
        compared = set()
        for form, tier, width in self.combinations(batch):
            if form in batch.commands:
                compared |= self.one_run(batch, form, tier, width)
        with self.lock:
            self.kernels += len(compared)

    def one_run(self, batch, form, tier, width):
        """Runs a program in one combination. Gives the seeds that have been compared."""
        ended, wrong, after, over = set(), {}, None, False
        while True:
            command = batch.commands[form] + ["--guards", "--progress", str(self.options.limit)]
            command += ["--after", "k%d" % after] if after is not None else []
            try:
                limit = self.options.limit * (len(batch.seeds) + 1)
                output, status = execute(self.options.build, command, batch.directory, tier, limit, width, self.end)
            except Ended as interrupted:
                output, status, over = str(interrupted), 0, True
            begun = None
            for line in output.splitlines():
                match = re.match(r"(begins|ended) k(\d+)$", line)
                if match and match.group(1) == "begins":
                    begun = int(match.group(2))
                elif match:
                    ended.add(int(match.group(2)))
                elif re.search(r"seed (\d+)", line):
                    wrong.setdefault(int(re.search(r"seed (\d+)", line).group(1)), line)
            if over or status in (0, 1) and (begun is None or begun in ended):
                if status == 1 and not wrong:
                    wrong[batch.seeds[0]] = "seed %d: %s" % (batch.seeds[0], output.strip())
                break
            culprit = batch.seeds[0] if begun is None else begun
            what = "took more than %d s" % self.options.limit if status in (None, -signal.SIGALRM) else "status %s" % status
            rest = [line for line in output.splitlines() if not line.startswith(("begins", "ended"))]
            wrong.setdefault(culprit, "seed %d: %s: %s" % (culprit, what, " ".join(rest)))
            ended.add(culprit)
            if begun is None:
                break
            after = begun
        where = "form %s, tier %s, width %s" % (form, tier, width)
        name = " ".join([form, tier, width] + ([batch.kind] if batch.kind else []))
        self.tell(batch, name, len(ended), {seed: "%s, %s" % (text, where) for seed, text in wrong.items()})
        self.cut += over
        if over:
            raise Ended("")
        return ended

    # What came of it ------------------------------------------------------------------------------------

    def tell(self, batch, name, runs, wrong):
        """Counts a run, and keeps what is wrong."""
        with self.lock:
            count = self.counts.setdefault(name, [0, 0])
            count[0] += runs
            count[1] += len(wrong)
            for seed, message in wrong.items():
                print(message, flush=True)
                if seed not in self.found and self.options.keep and batch.text is None:
                    os.makedirs(self.options.keep, exist_ok=True)
                    with open(os.path.join(self.options.keep, "%d.cu" % seed), "w", encoding="utf-8") as f:
                        f.write("/* %s */\n%s" % (message.replace("*/", "* /"), batch.source([seed])))
                self.found.add(seed)

    def work(self, batches):
        """What each thread does: takes batches until there are no more, or the time is over."""
        try:
            while self.end is None or time.monotonic() < self.end:
                with self.lock:
                    batch = next(batches, None)
                if batch is None:
                    return
                self.one_batch(batch)
        except Ended:
            pass
        except Exception as error:  # otherwise lost with the thread
            print("run.py: %r" % error, file=sys.stderr)
            os._exit(2)

    def one_batch(self, batch):
        options = self.options
        if options.run:
            self.run(batch)
        elif options.compile_only:
            directory = os.path.join(options.compile_only, "%d" % batch.seeds[0])
            os.makedirs(directory, exist_ok=True)
            if self.prepare(batch, directory):
                batch.store()
                with self.lock:
                    self.kernels += len(batch.seeds)
        else:
            directory = tempfile.mkdtemp(prefix="programs-")
            try:
                if self.prepare(batch, directory):
                    self.run(batch)
            finally:
                shutil.rmtree(directory, ignore_errors=True)

    def all(self, batches):
        threads = [threading.Thread(target=self.work, args=(batches,)) for _ in range(self.options.jobs)]
        for thread in threads:
            thread.start()
        told = time.monotonic()
        for thread in threads:
            while thread.is_alive():
                thread.join(1)
                if time.monotonic() - told > 60:
                    told = time.monotonic()
                    print("%d kernels, %d wrong, after %d s" % (self.kernels, len(self.found), told - self.start), flush=True)

    def report(self):
        spent = sum(os.times()[:4])
        done = "compiled" if self.options.compile_only else "compared"
        print("%d kernels %s in %d s, %d core-seconds, %.2f each" % (
            self.kernels, done, time.monotonic() - self.start, spent, spent / max(1, self.kernels)))
        for name, (runs, wrong) in sorted(self.counts.items()):
            print("%s: %d runs, %d wrong" % (name, runs, wrong))
        for n, what in enumerate(("form", "tier", "width")):
            sums = {}
            for name, (runs, _) in self.counts.items():
                if name != "compiler":
                    sums[name.split()[n]] = sums.get(name.split()[n], 0) + runs
            if sums:
                print("%s: %s" % (what, ", ".join("%s %d" % pair for pair in sorted(sums.items()))))
        if self.cut:
            print("%d programs were not run to their end" % self.cut)
        sys.stdout.flush()


def from_files(paths):
    """The batches of programs that are there already."""
    for number, path in enumerate(paths):
        with open(path, encoding="utf-8") as f:
            text = f.read()
        seeds = [int(seed) for seed in re.findall(r'^ *\{"k(\d+)", ', text, flags=re.M)]
        yield Batch(seeds, number, "launches" if " LAUNCH(" in text else "", text)


def from_directory(path):
    """The batches of --compile-only, in the order of their seeds."""
    for name in sorted((n for n in os.listdir(path) if n.isdigit()), key=int):
        if os.path.exists(os.path.join(path, name, "batch.json")):
            yield Batch.stored(os.path.join(path, name))


def from_seeds(options):
    """The batches of a range of seeds."""
    first, end = options.seeds.split(":")
    if first == "now":
        first = int(time.time()) * 1000000
        end = first + int(end)
    first, end = int(first), int(end)
    print("seeds from %d" % first, flush=True)
    for k in range(first, end, options.batch):
        number = k // options.batch
        kind = ["", "arrays", "", "calls", "", "arrays", "", "launches"][number % 8]
        if options.calls or options.arrays:
            kind = "calls" if options.calls else "arrays"
        yield Batch(range(k, min(k + options.batch, end)), number, kind)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("files", nargs="*")
    parser.add_argument("--seeds", default="1:101", help="FIRST:END, or `now:COUNT` for seeds of the time")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--batch", type=int, default=40)
    parser.add_argument("--forms", default="own,G,O0")
    parser.add_argument("--tiers", default=",".join(TIERS))
    parser.add_argument("--widths", default=",".join(widths()))
    parser.add_argument("--sample", type=int, default=0, help="combinations a program; 0: all")
    parser.add_argument("--calls", action="store_true")
    parser.add_argument("--arrays", action="store_true")
    parser.add_argument("--compile-only", metavar="DIRECTORY")
    parser.add_argument("--run", metavar="DIRECTORY")
    parser.add_argument("--keep", help="directory for what differs")
    parser.add_argument("--seconds", type=int, help="end after so many seconds")
    parser.add_argument("--limit", type=int, default=120, help="seconds that a kernel may take")
    options = parser.parse_intermixed_args()
    for name in ("build", "run", "compile_only"):
        if getattr(options, name):
            setattr(options, name, os.path.abspath(getattr(options, name)))
    for name in ("forms", "tiers", "widths"):
        setattr(options, name, getattr(options, name).split(","))
    run = Run(options)
    run.all(from_files(options.files) if options.files else from_directory(options.run) if options.run
            else from_seeds(options))
    run.report()
    return 1 if run.found or run.kernels == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
